//! Parses critiques and answers in the English forms that the prompts request, and tolerates the decoration that models
//! add. Parsing never fails and depends only on the text and the numbers of the points that it may refer to; the result
//! is saved, so that changes to the parser do not affect existing debates.

mod blocks;
mod entries;
mod findings;
mod list;
#[cfg(test)]
mod tests;

use std::ops::Range;

use blocks::{BlockKind, BlockLine, Page};
use entries::{Entries, spoken, strip_word, tidy, without_bullet};

use super::{Found, RaisedPoint, RecheckStanding, Response, Statement};

pub use findings::{read_findings, read_opinions};

/// The heading under which prompts ask for answers to critics.
pub const ANSWERS_HEADING: &str = "Response to critiques";
/// The heading under which prompts ask for answers to a check.
pub const CHECK_ANSWERS_HEADING: &str = "Response to the check";

const STANDINGS: &[(&str, RecheckStanding)] = &[
    ("verified", RecheckStanding::Verified),
    ("maintained", RecheckStanding::Maintained),
    ("I maintain", RecheckStanding::Maintained),
    ("not withdrawn", RecheckStanding::Maintained),
    ("withdrawn", RecheckStanding::Withdrawn),
];
const FOUND: &[(&str, Found)] = &[
    ("verified", Found::Verified),
    ("not found", Found::NotFound),
    ("not-found", Found::NotFound),
    ("moot", Found::Moot),
];
const RESPONSES: &[(&str, Response)] = &[
    ("accepted in part", Response::Partly),
    ("accepted partly", Response::Partly),
    ("partly accepted", Response::Partly),
    ("partially accepted", Response::Partly),
    ("accepted", Response::Accepted),
    ("agreed", Response::Accepted),
    ("partly", Response::Partly),
    ("partially", Response::Partly),
    ("rejected", Response::Rejected),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadCritique<V> {
    /// The points in order. Empty if the text states that it has no points; `None` if none could be parsed.
    pub points: Option<Vec<RaisedPoint>>,
    /// The number of points left out because there were too many.
    pub unread: usize,
    /// The verdicts on points that the prompt showed, at most one for each. A point is given as its index in `numbers`.
    pub said: Vec<Statement<V, usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadAnswers {
    /// The last answer to each point.
    pub answers: Vec<Statement<Response, usize>>,
    /// The byte range of the answers under the requested heading. Answers outside this range remain part of the text.
    pub section: Option<Range<usize>>,
}

/// `numbers` are those of the points that the critique's prompt showed.
pub fn read_critique(text: &str, numbers: &[&str]) -> ReadCritique<RecheckStanding> {
    let page = Page::new(text);
    said_and_points(&page, &page.lines, numbers, STANDINGS)
}

/// `numbers` are those of the accepted points that the check's prompt showed.
pub fn read_check(text: &str, numbers: &[&str]) -> ReadCritique<Found> {
    let page = Page::new(text);
    said_and_points(&page, &page.lines, numbers, FOUND)
}

/// Returns one result for each of `texts`. The points of a missing or unreadable section are `None`.
pub fn read_review(text: &str, texts: &[u32]) -> Vec<ReadCritique<RecheckStanding>> {
    let page = Page::new(text);
    let lines = |number: &u32| section_of(&page, *number, texts).unwrap_or_default();
    texts.iter().map(|number| said_and_points(&page, lines(number), &[], STANDINGS)).collect()
}

/// The range of a review's section on text `number`, without its heading. `None` if the section is missing or empty.
pub(in crate::points) fn review_section(text: &str, number: u32, texts: &[u32]) -> Option<Range<usize>> {
    let page = Page::new(text);
    let lines = section_of(&page, number, texts)?;
    Some(lines.first()?.start..lines.last()?.end)
}

fn section_of<'p>(page: &'p Page, number: u32, texts: &[u32]) -> Option<&'p [BlockLine]> {
    let lines = section(page, page.lines.iter().position(|line| is_title_of(page, line, number))?);
    // The next text's heading ends the section, whatever its level.
    let is_other =
        |line: &BlockLine| texts.iter().any(|other| is_title_of(page, line, *other)) || is_give_up(page, line);
    lines.get(..lines.iter().position(is_other).unwrap_or(lines.len()))
}

/// The approaches that a review says to give up. Each has the number of its text, if the review names one, and the
/// review's words.
pub fn read_given_up(text: &str) -> Vec<(Option<u32>, String)> {
    let page = Page::new(text);
    let Some(from) = page.lines.iter().rposition(|line| is_give_up(&page, line)) else { return Vec::new() };
    let lines = section(&page, from);
    let number = |line: &BlockLine| {
        let words = spoken(without_bullet(&page.text[line.start..line.end]));
        let digits = strip_word(words, "text")?.trim_start();
        digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
    };
    let mut given_up: Vec<(Option<u32>, Range<usize>)> = Vec::new();
    for line in lines {
        let named = number(line).filter(|_| line.first && line.depth <= 1);
        match given_up.last_mut() {
            Some((_, said)) if named.is_none() => said.end = line.end,
            Some(_) | None => given_up.push((named, line.start..line.end)),
        }
    }
    let said = given_up.into_iter().map(|(number, said)| (number, tidy(without_bullet(&page.text[said]))));
    said.filter(|(_, said)| said.split_whitespace().count() > 2).collect()
}

fn is_give_up(page: &Page, line: &BlockLine) -> bool {
    ["Approach to give up", "Approaches to give up"].iter().any(|name| is_named(page, line, name))
}

pub fn read_answers(text: &str, heading: &str, numbers: &[&str]) -> ReadAnswers {
    let page = Page::new(text);
    let entries = Entries { page: &page, numbers, verdicts: RESPONSES };
    let (mut read, mut at) = (ReadAnswers::default(), 0);
    while let Some(from) = page.lines[at..].iter().position(|line| is_named(&page, line, heading)) {
        let from = at + from;
        let lines = section(&page, from);
        at = from + 1 + lines.len();
        let said = entries.read(lines);
        if !said.is_empty() || lines.iter().any(|line| is_on_any_point(&page, line, RESPONSES)) {
            let end = page.lines.get(at).map_or(page.text.trim_end().len(), |next| next.start);
            read.section = Some(page.lines[from].start..end);
        }
        read.answers.retain(|known| !said.iter().any(|one| one.point == known.point));
        read.answers.extend(said);
    }
    read
}

fn said_and_points<V: Copy + PartialEq>(
    page: &Page,
    lines: &[BlockLine],
    numbers: &[&str],
    verdicts: &[(&str, V)],
) -> ReadCritique<V> {
    let entries = Entries { page, numbers, verdicts };
    let said = entries.read(lines);
    // A line about a number that the prompt did not show concerns another agent's point, so it is not a new point
    // either.
    let is_said = |line: &BlockLine| entries.is_entry(line) || is_on_any_point(page, line, verdicts);
    let (points, unread) = list::read(page, lines, is_said, !said.is_empty());
    ReadCritique { points, unread, said }
}

fn section(page: &Page, from: usize) -> &[BlockLine] {
    let level = title_level(page, &page.lines[from]);
    let ends = |line: &BlockLine| title_level(page, line).is_some_and(|other| level.is_none_or(|level| other <= level));
    let below = &page.lines[from + 1..];
    &below[..below.iter().position(ends).unwrap_or(below.len())]
}

/// The level of a heading, or 7 for a bold line, which ranks below all headings.
fn title_level(page: &Page, line: &BlockLine) -> Option<u8> {
    if let BlockKind::Heading(level) = line.kind {
        return Some(level);
    }
    let text = page.text[line.start..line.end].trim_end_matches(':');
    let inner = |mark| text.strip_prefix(mark)?.strip_suffix(mark);
    let is_bold = ["**", "__"].into_iter().filter_map(inner).any(|inner: &str| !inner.contains("**"));
    (line.kind == BlockKind::Text && line.first && line.depth == 0 && is_bold).then_some(7)
}

/// Matches `## 2. Response to critiques:`.
fn is_named(page: &Page, line: &BlockLine, name: &str) -> bool {
    let text = page.text[line.start..line.end].trim_matches(|c: char| c.is_whitespace() || "#*_:".contains(c));
    let unnumbered = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".)".contains(c)).trim_start();
    unnumbered.trim_start_matches(['*', '_']).eq_ignore_ascii_case(name) && title_level(page, line).is_some()
}

/// Matches `## Text 3`.
fn is_title_of(page: &Page, line: &BlockLine, number: u32) -> bool {
    let text = page.text[line.start..line.end].trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = strip_word(text, "text").and_then(|rest| strip_word(rest.trim_start(), &number.to_string()));
    title_level(page, line).is_some() && rest.is_some()
}

/// Matches `2.3 accepted: ...`, with any number.
fn is_on_any_point<V: Copy + PartialEq>(page: &Page, line: &BlockLine, verdicts: &[(&str, V)]) -> bool {
    let text = without_bullet(&page.text[line.start..line.end]);
    let text = text.trim_start_matches(|c: char| "*_`[(".contains(c));
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let is_number = number.len() <= 8 && number.contains(|c: char| c.is_ascii_digit());
    is_number && Entries { page, numbers: &[number], verdicts }.read(std::slice::from_ref(line)).len() == 1
}

/// The maximum number of decisions per text; prompts ask for far fewer.
const MOST_DECISIONS: usize = 20;
const DECISION_HEADINGS: [&str; 6] =
    ["decisions", "key decisions", "decisions made", "my decisions", "decision", "final decisions"];

pub fn read_decisions(text: &str) -> Vec<String> {
    let page = Page::new(text);
    let is_heading = |line: &BlockLine| DECISION_HEADINGS.iter().any(|name| is_named(&page, line, name));
    let Some(heading) = page.lines.iter().rposition(is_heading) else { return Vec::new() };
    let section = page.lines[heading + 1..].iter().take_while(|line| !matches!(line.kind, BlockKind::Heading(_)));
    let mut decisions: Vec<String> = Vec::new();
    let mut is_within = false;
    for line in section {
        let words = &page.text[line.start..line.end];
        match line.kind {
            BlockKind::Item if line.depth <= 1 => {
                decisions.push(without_bullet(words).to_owned());
                is_within = true;
            }
            // A decision may continue on the next lines; nested items only explain it.
            BlockKind::Text if is_within && line.depth == 1 && !line.first => {
                if let Some(last) = decisions.last_mut() {
                    last.push(' ');
                    last.push_str(words.trim());
                }
            }
            BlockKind::Text if line.depth == 0 => is_within = false,
            BlockKind::Item
            | BlockKind::Text
            | BlockKind::Heading(_)
            | BlockKind::Row
            | BlockKind::Rule
            | BlockKind::Quoted => {}
        }
    }
    decisions.retain(|decision| decision.chars().any(char::is_alphanumeric));
    decisions.truncate(MOST_DECISIONS);
    decisions
}
