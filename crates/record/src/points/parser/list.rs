//! Parses the numbered points of a critique: `1. [blocking] Part: what goes wrong. Resolved by: the remedy.`

use std::sync::Arc;

use super::blocks::{BlockKind, BlockLine, Page};
use super::entries::{after_separator, belongs, spoken, strip_word, tidy};
use super::title_level;
use crate::points::{RaisedPoint, Severity};

/// The maximum number of points per critique. Prompts ask for at most seven.
const MOST: usize = 30;
/// The maximum length of a point's subject, in characters.
const ABOUT: usize = 120;
/// The maximum length of a quotation used as a subject, in bytes.
const QUOTATION: usize = 600;
const RESOLVED_BY: &str = "resolved by";
/// Words for each severity in titles and labels, separated by spaces.
const SEVERITIES: [(&str, Severity); 3] = [
    ("blocking critical high", Severity::Blocking),
    ("major moderate medium", Severity::Major),
    ("minor low nits", Severity::Minor),
];
const NONE: &str = "|no objections|no objection|no further objections|no new objections|no points|no new points|\
    no further points|i have no further points|none|";
/// Titles of sections about earlier points, in which only tagged items are new points.
const EARLIER: &str = "|earlier points|previous points|accepted points|";
/// Titles of sections that contain no points.
const ASIDE: &str = "|strengths|what works|what works well|what i liked|coverage|coverage check|requirements coverage|\
    summary|conclusion|";

fn is_among(words: &str, list: &str) -> bool {
    !words.is_empty() && list.contains(&format!("|{words}|"))
}

pub(super) struct Form {
    /// The lower-case words that introduce a point's remedy.
    pub(super) remedy: &'static str,
    /// Lower-case phrases for "no points", each between two bars.
    pub(super) none: &'static str,
}

const OF_CRITIQUES: Form = Form { remedy: RESOLVED_BY, none: NONE };

/// Returns the points, and how many were left out because there were too many. Skips lines for which `is_said` holds,
/// because they concern earlier points; `has_said` tells whether `lines` contain verdicts on such points. The points
/// are empty if the lines say that there are none or contain only such verdicts, and `None` if none can be parsed.
pub(super) fn read(
    page: &Page,
    lines: &[BlockLine],
    is_said: impl Fn(&BlockLine) -> bool,
    has_said: bool,
) -> (Option<Vec<RaisedPoint>>, usize) {
    read_as(page, lines, is_said, has_said, &OF_CRITIQUES, point)
}

/// `point` builds a point from its text, its own severity and its section's severity.
pub(super) fn read_as<T>(
    page: &Page,
    lines: &[BlockLine],
    is_said: impl Fn(&BlockLine) -> bool,
    has_said: bool,
    form: &Form,
    point: impl Fn(&str, Option<Severity>, Option<Severity>) -> Option<T>,
) -> (Option<Vec<T>>, usize) {
    let (mut points, mut is_tagged, mut has_others) = (Vec::new(), false, false);
    // `is_list`: the current bullets are points even without tags.
    let (mut in_section, mut above, mut is_list) = (None, String::new(), false);
    let (mut rest, mut at) = (String::new(), 0);
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        if is_said(line) {
            while lines.get(at).is_some_and(|next| belongs(line, next) && !is_said(next)) {
                at += 1;
            }
            continue;
        }
        let lead = lead(page, line, is_list || in_section.is_some(), form);
        let is_open = !is_among(&above, ASIDE) || matches!(line.kind, BlockKind::Heading(_));
        let is_new = |tag: Option<Severity>| if is_among(&above, EARLIER) { tag.is_some() } else { is_open };
        let Some((severity, start)) = lead.filter(|(tag, _)| is_new(*tag)) else {
            is_list = false;
            if let Some(title) = title(page, line).filter(|title| !is_among(title, form.none)) {
                (in_section, above) = (severity_of_title(&title), title);
            } else if line.kind != BlockKind::Rule {
                rest = rest + &page.text[line.start..line.end] + "\n";
            }
            continue;
        };
        above.clear();
        is_tagged |= severity.or(in_section).is_some();
        let begins = page.text[start..line.end].trim_start_matches(['*', '`']);
        let is_tag = begins.starts_with(['[', '【']) && begins.contains([']', '】']) && !begins.contains("](");
        has_others |= severity.is_none() && is_tag;
        is_list = line.kind == BlockKind::Item && !after_number(&page.text[line.start..line.end]).0;
        let mut end = line.end;
        while let Some(next) = lines.get(at) {
            let is_more = belongs(line, next) || goes_on(page, line, next, form);
            let is_next = || self::lead(page, next, is_list || in_section.is_some(), form).is_some();
            if !is_more || next.depth <= line.depth && is_next() || is_said(next) {
                break;
            }
            end = next.end;
            at += 1;
        }
        points.extend(point(&page.text[start..end], severity, in_section));
    }
    let unread = points.len().saturating_sub(MOST);
    points.truncate(MOST);
    let bare = rest.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let is_none = is_among(&bare, form.none) || has_said && bare.is_empty();
    // Untagged bullets are points, unless “no objections” shows that they list strengths.
    let is_list = !has_others && (is_tagged || !bare.contains("no objections"));
    (if points.is_empty() { is_none } else { is_list }.then_some(points), unread)
}

fn goes_on(page: &Page, line: &BlockLine, next: &BlockLine, form: &Form) -> bool {
    let text = spoken(&page.text[next.start..next.end]);
    let is_remedy = matches!(next.kind, BlockKind::Text | BlockKind::Item) && strip_word(text, form.remedy).is_some();
    is_remedy || next.kind == BlockKind::Item && (line.kind != BlockKind::Item || line.depth == next.depth)
}

/// The severity of the point that starts on this line, and where its text starts. Every numbered top-level item is a
/// point; a bullet or a paragraph must have a tag or belong to a list of points.
fn lead(page: &Page, line: &BlockLine, is_list: bool, form: &Form) -> Option<(Option<Severity>, usize)> {
    if line.depth > 1 || !line.first || !matches!(line.kind, BlockKind::Item | BlockKind::Text | BlockKind::Heading(_))
    {
        return None;
    }
    let text = &page.text[line.start..line.end];
    let (is_numbered, rest) = after_number(text);
    let is_named = is_numbered && strip_word(spoken(text), "point").is_some();
    let is_listed = is_list && line.kind == BlockKind::Item && strip_word(spoken(rest), form.remedy).is_none();
    let is_item = is_listed || is_named || line.kind != BlockKind::Text && is_numbered;
    let (severity, rest) = match tag(rest) {
        Some((severity, rest)) => (Some(severity), rest),
        None if is_item => (None, rest),
        None => return None,
    };
    let is_title = matches!(line.kind, BlockKind::Heading(_)) && !is_numbered && rest.trim().is_empty();
    (!is_title).then_some((severity, line.end - rest.len()))
}

/// The text without list or heading markers, and whether it had a number.
fn after_number(text: &str) -> (bool, &str) {
    let marks = |c: char| c.is_whitespace() || "#-*+•".contains(c);
    let rest = text.trim_start_matches(marks);
    let opened = rest.trim_start_matches(['(', '*', '_']);
    let (opened, ends): (_, &[char]) = match strip_word(opened, "point") {
        Some(number) => (number.trim_start(), &['.', ')', ':']),
        None => (opened, &['.', ')']),
    };
    let after = opened.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = after.len() < opened.len();
    match after.strip_prefix(ends) {
        // `2.7` is an earlier point's number.
        Some(after) if is_number && !after.starts_with(|c: char| c.is_ascii_digit()) => (true, after.trim_start()),
        // Matches `#1 [major]`.
        None if is_number && text.starts_with('#') => (true, after.trim_start()),
        Some(_) | None => (false, rest),
    }
}

/// Matches `[blocking]`, `**[major]**`, `(minor)`, `**Blocking:**` and `minor -`.
fn tag(text: &str) -> Option<(Severity, &str)> {
    let inner = text.trim_start_matches(|c: char| "*_`[(".contains(c));
    let is_marked = inner.len() < text.len();
    let (severity, after) = Severity::ALL.iter().find_map(|one| Some((*one, strip_word(inner, one.name())?)))?;
    let is_closed = after.starts_with([']', ')', '*', '_', '`', ':'])
        || !is_marked && after.trim_start().starts_with(['–', '—', '-']);
    let bare = after.trim_start_matches([']', ')', '`', '*', '_']);
    // Emphasis that starts before the tag must end on the same line.
    let opened = ["**", "__"].into_iter().find(|mark| text.starts_with(mark) && !after.contains(mark));
    (is_closed && opened.is_none()).then(|| (severity, after_separator(bare)))
}

/// The lower-case words of a title: a heading, a bold line, or a line that ends in a colon.
fn title(page: &Page, line: &BlockLine) -> Option<String> {
    let text = &page.text[line.start..line.end];
    let is_label = line.kind == BlockKind::Text && line.first && text.ends_with(':') && text.len() <= ABOUT;
    (is_label || title_level(page, line).is_some())
        .then(|| text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase())
}

/// Matches `Blocking` and `Critical issues`.
fn severity_of_title(title: &str) -> Option<Severity> {
    severities().find_map(|(word, one)| {
        let rest = strip_word(title, word)?.trim();
        ["", "points", "issues", "objections"].contains(&rest).then_some(one)
    })
}

fn severities() -> impl Iterator<Item = (&'static str, Severity)> {
    SEVERITIES.into_iter().flat_map(|(words, one)| words.split(' ').map(move |word| (word, one)))
}

/// Matches `Title (minor)` and `Severity: low`.
fn tag_within(text: &str) -> Option<Severity> {
    let lower = text.to_ascii_lowercase();
    let is_tag = |at: usize, word: &str, one: Severity| {
        let before = lower[..at].trim_end_matches(['*', '_', '`']);
        let after = lower[at + word.len()..].trim_start_matches(['*', '_', '`']);
        let label = before.trim_end_matches([' ', '*', '_', ':']);
        // In brackets, only the names in `Severity` are recognised, because words such as `low` may have another
        // meaning there.
        before[label.len()..].contains(':') && label.ends_with("severity")
            || word == one.name() && before.ends_with(['(', '[']) && after.starts_with([')', ']'])
    };
    let places = severities().flat_map(|(word, one)| lower.match_indices(word).map(move |(at, word)| (at, word, one)));
    places.filter(|(at, word, one)| is_tag(*at, word, *one)).min_by_key(|(at, ..)| *at).map(|(.., severity)| severity)
}

fn point(text: &str, severity: Option<Severity>, in_section: Option<Severity>) -> Option<RaisedPoint> {
    let severity = severity.or(in_section).or_else(|| tag_within(text)).unwrap_or(Severity::Major);
    let (text, resolution) = resolution(text, RESOLVED_BY);
    let text = tidy(text);
    // An answer may be cut off within a tag.
    let is_cut = text.starts_with('[') && !text.contains(']');
    if is_cut || !text.contains(char::is_alphanumeric) {
        return None;
    }
    let (about, text) = about(&text).map_or((None, &*text), |(about, rest)| (Some(about), rest));
    Some(RaisedPoint { about, resolution: resolution.map(Arc::from), ..RaisedPoint::new(severity, text) })
}

/// Splits a text at the words that introduce the remedy, such as `Resolved by:`.
pub(super) fn resolution<'t>(text: &'t str, before_it: &str) -> (&'t str, Option<String>) {
    let lower = text.to_ascii_lowercase();
    let found = lower.match_indices(before_it).map(|(at, _)| at).find(|at| {
        let after = lower[at + before_it.len()..].trim_start_matches(['*', '_', '`']);
        after.starts_with(':') || after.starts_with(" -") || after.starts_with(" –") || after.starts_with(" —")
    });
    let Some(at) = found else { return (text, None) };
    let before = text[..at].trim_end_matches(|c: char| c.is_whitespace() || "*_`-–—(".contains(c));
    // A closing mark belongs to the preceding text.
    let kept = &text[before.len()..at];
    let closing = kept.len() - kept.trim_start_matches(['*', '_', '`']).len();
    let before =
        if kept[closing..].starts_with(char::is_whitespace) { &text[..before.len() + closing] } else { before };
    let remedy = tidy(&text[at + before_it.len()..]);
    (before, Some(remedy).filter(|remedy| remedy.contains(char::is_alphanumeric)))
}

/// Splits `Part: problem` and `"Quotation": correction`.
fn about(text: &str) -> Option<(String, &str)> {
    // The colons in `07:00-19:00 UTC` and `https://` do not end a subject.
    let is_apart = |rest: &str| rest.starts_with([' ', '\n', '*', '_']);
    let colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let mut colons = colons.take_while(|(about, _)| about.len() <= QUOTATION).filter(|(_, rest)| is_apart(rest));
    colons.find_map(|(about, rest)| {
        let is_whole = ["**", "`", "\"", "__"].iter().all(|mark| about.matches(mark).count() % 2 == 0)
            && about.starts_with('“') == about.contains('”');
        let (about, rest) = if is_whole {
            (about, rest)
        } else {
            // Matches `**Part:** what goes wrong`.
            let inner = about.strip_prefix("**").filter(|inner| !inner.contains("**"))?;
            (inner, rest.strip_prefix("**")?)
        };
        let bare = about.strip_prefix("**").and_then(|inner| inner.strip_suffix("**")).unwrap_or(about).trim();
        let rest = after_separator(rest);
        let is_telling = bare.contains(char::is_alphanumeric) && rest.contains(char::is_alphanumeric);
        (is_telling && (is_name(bare) || is_quotation(bare))).then(|| (bare.to_owned(), rest))
    })
}

/// Whether a text may name a requirement or part: it is short and is not a sentence.
fn is_name(text: &str) -> bool {
    let ends_here = |after: &str| after.trim_start_matches(['"', '”', ')', '*', '_', '`']).starts_with(' ');
    let ends = text.match_indices('.').any(|(at, _)| ends_here(&text[at + 1..]));
    text.chars().count() <= ABOUT && !text.contains(['\n', '?', '!']) && !ends
}

/// Whether a text is a quotation, possibly followed by its location in brackets.
fn is_quotation(text: &str) -> bool {
    let place = text.strip_suffix(')').and_then(|text| text.rfind(" (").map(|at| text[..at].trim_end()));
    text.starts_with(['"', '“', '„', '«']) && place.unwrap_or(text).ends_with(['"', '”', '“', '»'])
}
