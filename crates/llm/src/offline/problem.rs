//! Analyses a problem by fixed rules: its requirements, its figures, and what it leaves open.

use std::sync::LazyLock;

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_base::problem::{major_requirements, minor_requirements};

use super::mixed;

/// The maximum length of a quotation from a problem, in characters.
const QUOTED: usize = 120;
/// The maximum number of requirements of each kind, and of figures.
const LISTED: usize = 12;
/// The maximum number of questions that a role asks.
const OWN: usize = 4;

/// Words that may follow a number but are not units.
const FUNCTION_WORDS: &str = " a an and are as at be but by can each every for from had has have if in into is it its \
     may must nor not of on or our per shall should so than that the their then they to until was we were when which \
     while will with would ";
/// “One” is omitted, because it is rarely a number.
const NUMBER_WORDS: &str = " two three four five six seven eight nine ten eleven twelve hundred thousand million ";

const BEFORE_YEARS: &str = " after before by during from in of since until ";

/// A row of `gaps.md`: something that a debate needs to know and that a problem may leave out.
pub(super) struct Gap {
    pub(super) title: &'static str,
    pub(super) severity: &'static str,
    roles: Vec<&'static str>,
    words: Vec<&'static str>,
    pub(super) ask: &'static str,
    pub(super) why: &'static str,
}

static GAPS: LazyLock<Vec<Gap>> = LazyLock::new(|| {
    let rows = include_str!("gaps.md").lines().filter(|line| line.starts_with("| ")).skip(2);
    let list = |cell: &'static str| cell.split(", ").filter(|one| !one.is_empty()).collect();
    let row = |line: &'static str| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        let (title, severity, roles, words) = (next(), next(), list(next()), list(next()));
        Gap { title, severity, roles, words, ask: next(), why: next() }
    };
    rows.map(row).collect()
});

/// All gaps, starting with the most serious.
pub(super) fn gaps() -> impl Iterator<Item = &'static Gap> {
    GAPS.iter()
}

pub(super) fn asked_in(text: &str) -> impl Iterator<Item = &'static Gap> {
    gaps().filter(move |gap| text.contains(gap.ask))
}

/// The gap that a listed point is about, and whether the point denies that the gap matters.
pub(super) fn gap_of(point: &str) -> Option<(&'static Gap, bool)> {
    let gap = gaps().find(|gap| point.contains(&format!("] {}: ", gap.title)))?;
    Some((gap, point.contains(&gap.dispute())))
}

impl Gap {
    /// Critics dispute only minor gaps.
    pub(super) fn is_minor(&self) -> bool {
        self.severity == "minor"
    }

    pub(super) fn item(&self) -> String {
        format!("**{}**: {} {}", self.title, self.ask, self.why)
    }

    pub(super) fn missing(&self) -> String {
        let Self { title, severity, ask, why, .. } = self;
        format!("[{severity}] {title}: the list leaves it out. {why} Resolved by: asking “{ask}”")
    }

    pub(super) fn disputed(&self) -> String {
        format!("[minor] {}: {} Resolved by: leaving the question out.", self.title, self.dispute())
    }

    fn dispute(&self) -> String {
        format!("The answer to “{}” would not change what is built.", self.ask)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Figure {
    /// The number with its unit, as written.
    pub(super) text: String,
    pub(super) has_unit: bool,
}

pub(super) struct ProblemReading {
    /// The problem's first sentence.
    pub(super) name: String,
    pub(super) major: Vec<String>,
    pub(super) minor: Vec<String>,
    pub(super) figures: Vec<Figure>,
    /// The problem's words in lower case, each preceded by a space.
    words: String,
}

impl ProblemReading {
    /// `more` contains attachments and answers, which can fill gaps. Requirements and figures are taken only from
    /// `problem`.
    pub(super) fn new(problem: &str, more: &str) -> Self {
        let broken = |text: String, end: &str| text.replace(end, &format!("{}\n", end.trim_end()));
        let sentences = [". ", "! ", "? ", "; ", "。", "！", "？"].into_iter().fold(problem.to_owned(), broken);
        let mut lines = sentences.lines().map(quotable).filter(|line| line.chars().any(char::is_alphabetic));
        let quoted = |lines: Vec<String>| lines.iter().take(LISTED).map(|line| quotable(line)).collect();
        Self {
            name: lines.next().unwrap_or_else(|| "the problem".to_owned()),
            major: quoted(major_requirements(problem)),
            minor: quoted(minor_requirements(problem)),
            figures: figures(problem),
            words: words_of(&format!("{problem}\n{more}")),
        }
    }

    pub(super) fn lacks(&self, gap: &Gap) -> bool {
        if gap.words.is_empty() {
            return self.figures.iter().any(|figure| !figure.has_unit);
        }
        !gap.words.iter().any(|word| self.words.contains(&format!(" {word}")))
    }

    /// The open gaps that a role lists, starting with those most relevant to the role.
    pub(super) fn gaps_of(&self, role: &str) -> Vec<&'static Gap> {
        let open = || gaps().filter(|gap| self.lacks(gap) && gap.roles.contains(&role));
        let is_own = |gap: &&Gap| gap.roles.first() == Some(&role);
        open().filter(is_own).chain(open().filter(|gap| !is_own(gap))).take(OWN).collect()
    }
}

/// The role with this title, or else one chosen by a hash of the title.
pub(super) fn role(title: &str) -> &'static str {
    let mut roles: Vec<&str> = gaps().flat_map(|gap| gap.roles.iter().copied()).collect();
    roles.sort_unstable();
    roles.dedup();
    let other = usize::try_from(mixed(0, title)).unwrap_or_default() % roles.len();
    roles.iter().find(|role| **role == title).copied().unwrap_or(roles[other])
}

/// The words of a text in lower case, each preceded by a space. Digits and letters form separate words.
fn words_of(text: &str) -> String {
    let mut words = String::from(" ");
    for c in text.to_lowercase().chars() {
        match c {
            '$' => words += " usd ",
            '€' => words += " eur ",
            '£' => words += " gbp ",
            _ if !c.is_alphanumeric() => words.push(' '),
            _ => {
                if words.chars().next_back().is_some_and(|last| last.is_ascii_digit() != c.is_ascii_digit()) {
                    words.push(' ');
                }
                words.push(c);
            }
        }
    }
    format!(" {} ", single_spaced(&words))
}

fn figures(text: &str) -> Vec<Figure> {
    let mut found: Vec<Figure> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let figures = (0..words.len()).filter_map(|at| figure_at(&words, at));
        for figure in figures {
            if found.len() < LISTED && !found.contains(&figure) {
                found.push(figure);
            }
        }
    }
    found
}

fn figure_at(line: &[&str], at: usize) -> Option<Figure> {
    let word = bare(line[at]);
    let is_in_words = NUMBER_WORDS.contains(&format!(" {} ", word.to_lowercase()));
    let is_plain = is_in_words || word.chars().all(|c| c.is_ascii_digit() || ".,:-–/+~".contains(c));
    let begins = word.trim_start_matches(['$', '€', '£', '~', '<', '>', '+', '-']);
    let is_item =
        at == 0 && line[0].strip_suffix(['.', ')']).is_some_and(|mark| mark.bytes().all(|c| c.is_ascii_digit()));
    // A number after a capitalized word is a version, as in `PostgreSQL 9.5`, unless that word starts a sentence.
    let is_named = at > 1 && line[at - 1].starts_with(char::is_uppercase) && !line[at - 2].ends_with(['.', '!', '?']);
    let before = at.checked_sub(1).map(|before| line[before].to_lowercase()).unwrap_or_default();
    let is_year = word.len() == 4 && BEFORE_YEARS.contains(&format!(" {before} "));
    if is_year
        || !(is_in_words || begins.starts_with(|c: char| c.is_ascii_digit()))
        || is_item && line.len() > 1
        || is_named
    {
        return None;
    }
    let is_ordinal = ["st", "nd", "rd", "th"].iter().any(|end| word.ends_with(end));
    let mut text = vec![word];
    let mut next = at + 1;
    let is_unit = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '%') && !FUNCTION_WORDS.contains(&format!(" {word} "))
    };
    let ends = |word: &str| word.ends_with(['.', ',', ';', ':', ')', '?', '!']);
    let most = if is_plain { 2 } else { usize::from(is_ordinal) };
    while text.len() <= most && !ends(line[next - 1]) && line.get(next).is_some_and(|word| is_unit(bare(word))) {
        text.push(bare(line[next]));
        next += 1;
    }
    let has_unit = text.len() > 1 || !is_plain;
    if let (Some(per), Some(unit)) = (line.get(next), line.get(next + 1))
        && has_unit
        && !ends(line[next - 1])
        && ["a", "an", "per", "each"].contains(per)
    {
        text.extend([*per, bare(unit)]);
    }
    let is_nothing = !has_unit && is_in_words;
    (!is_nothing).then(|| Figure { text: quotable(&text.join(" ")), has_unit })
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| ".,;:!?()[]{}\"'`*_“”‘’".contains(c))
}

/// A text on one line, cut at a word, without characters that would end a quotation or start a list, a heading or a
/// link.
pub(super) fn quotable(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !"*`\"“”„«»<>[]|{}".contains(*c)).collect();
    let line = single_spaced(&plain);
    let line = line.trim_start_matches(['#', '-', '+', '•', ' ']).trim_end_matches(['.', ';', '。', ' ']);
    match truncate(line, QUOTED) {
        cut if cut.len() == line.len() => line.to_owned(),
        // Languages without spaces have no word boundaries.
        cut => format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words)),
    }
}
