//! The numbered points of a critique: `1. [blocking] Part: what goes wrong. Resolved by: the remedy.`

use dialectic_base::severity::Severity;

use super::blocks::{Kind, Line, Page};
use super::entries::{after_separator, belongs, spoken, strip_word, tidy};
use super::title_level;
use crate::debate::Point;

/// Points of one critique that are read. The prompts ask for seven.
const MOST: usize = 30;
/// Characters of the requirement or part that a point is about.
const ABOUT: usize = 120;
/// Bytes of a quotation that a point is about.
const QUOTATION: usize = 600;
const RESOLVED_BY: &str = "resolved by";
/// All that a critique without a point says.
const NONE: &str = "|no objections|no objection|no further objections|no new objections|no points|no new points|\
    no further points|i have no further points|none|";
/// Sections of a critique that hold no points.
const ASIDE: &str = "|strengths|what works|what works well|what i liked|coverage|coverage check|requirements coverage|\
    summary|conclusion|";

fn is_among(words: &str, list: &str) -> bool {
    !words.is_empty() && list.contains(&format!("|{words}|"))
}

/// The points of a critique, and how many more it has.
pub(super) struct Points {
    pub(super) read: Vec<Point>,
    pub(super) unread: usize,
    /// Whether all that it says, beside what it says of earlier points, is that there is none.
    pub(super) says_none: bool,
    /// Whether it says nothing else at all.
    pub(super) is_silent: bool,
}

/// Reads `lines`, those that `is_said` names left out: they are about earlier points.
pub(super) fn read(page: &Page, lines: &[Line], is_said: impl Fn(&Line) -> bool) -> Points {
    let mut points: Vec<Point> = Vec::new();
    let (mut in_section, mut is_aside) = (None, false);
    let mut rest = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        if is_said(line) {
            while lines.get(at).is_some_and(|next| belongs(line, next) && !is_said(next)) {
                at += 1;
            }
            continue;
        }
        let lead = lead(page, line, in_section).filter(|_| !is_aside || matches!(line.kind, Kind::Heading(_)));
        let Some((severity, start)) = lead else {
            if let Some(title) = title(page, line).filter(|title| !is_among(title, NONE)) {
                (is_aside, in_section) = (is_among(&title, ASIDE), severity_of_title(&title));
            } else if line.kind != Kind::Rule {
                rest.push_str(&page.text[line.start..line.end]);
                rest.push('\n');
            }
            continue;
        };
        is_aside = false;
        let mut end = line.end;
        while let Some(next) = lines.get(at) {
            let is_more = belongs(line, next) || goes_on(page, line, next);
            if !is_more || self::lead(page, next, in_section).is_some_and(|_| next.depth <= line.depth) || is_said(next)
            {
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
    let says_none = is_among(&bare, NONE);
    Points { says_none: says_none && points.is_empty(), is_silent: bare.is_empty(), read: points, unread }
}

/// Whether a line outside an item of a list belongs to the point above all the same: its remedy, or a list of details.
fn goes_on(page: &Page, line: &Line, next: &Line) -> bool {
    let text = spoken(&page.text[next.start..next.end]);
    let is_remedy = matches!(next.kind, Kind::Text | Kind::Item) && strip_word(text, RESOLVED_BY).is_some();
    is_remedy || next.kind == Kind::Item && (line.kind != Kind::Item || line.depth == next.depth)
}

/// The severity of the point that a line begins, and where its words begin. Every numbered item at the top is one; an
/// item with a bullet, and a paragraph, where it begins with a tag.
fn lead(page: &Page, line: &Line, in_section: Option<Severity>) -> Option<(Option<Severity>, usize)> {
    if line.depth > 1 || !line.first || !matches!(line.kind, Kind::Item | Kind::Text | Kind::Heading(_)) {
        return None;
    }
    let text = &page.text[line.start..line.end];
    let (is_numbered, rest) = after_number(text);
    let is_item = line.kind == Kind::Item && in_section.is_some() || line.kind != Kind::Text && is_numbered;
    let (severity, rest) = match tag(rest) {
        Some((severity, rest)) => (Some(severity), rest),
        None if is_item => (None, rest),
        None => return None,
    };
    let is_title = matches!(line.kind, Kind::Heading(_)) && !is_numbered && rest.trim().is_empty();
    (!is_title).then_some((severity, line.end - rest.len()))
}

/// The text without the marks of a list or a heading, and whether a number is among them.
fn after_number(text: &str) -> (bool, &str) {
    let marks = |c: char| c.is_whitespace() || "#-*+•".contains(c);
    let rest = text.trim_start_matches(marks);
    let opened = rest.trim_start_matches(['(', '*', '_']);
    let after = opened.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = after.len() < opened.len();
    match after.strip_prefix(['.', ')']) {
        // `2.7` is the number of an earlier point.
        Some(after) if is_number && !after.starts_with(|c: char| c.is_ascii_digit()) => (true, after.trim_start()),
        // `#1 [major]`
        None if is_number && text.starts_with('#') => (true, after.trim_start()),
        Some(_) | None => (false, rest),
    }
}

/// `[blocking]`, `**[major]**`, `(minor)`, `**Blocking:**`, `minor -` at the beginning of a text, and what comes after it.
fn tag(text: &str) -> Option<(Severity, &str)> {
    let inner = text.trim_start_matches(|c: char| "*_`[(".contains(c));
    let is_marked = inner.len() < text.len();
    let (severity, after) = Severity::ALL.iter().find_map(|one| Some((*one, strip_word(inner, one.name())?)))?;
    let is_closed = after.starts_with([']', ')', '*', '_', '`', ':'])
        || !is_marked && after.trim_start().starts_with(['–', '—', '-']);
    let bare = after.trim_start_matches([']', ')', '`', '*', '_']);
    // Emphasis that goes on after the tag was opened with it.
    let opened = ["**", "__"].into_iter().find(|mark| text.starts_with(mark) && !after.contains(mark));
    (is_closed && opened.is_none()).then(|| (severity, after_separator(bare)))
}

/// The words of a line that is a title, in lower case: a heading, a line in bold, or one that ends with a colon.
fn title(page: &Page, line: &Line) -> Option<String> {
    let text = &page.text[line.start..line.end];
    let is_label = line.kind == Kind::Text && line.first && text.ends_with(':') && text.len() <= ABOUT;
    (is_label || title_level(page, line).is_some())
        .then(|| text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase())
}

/// `Blocking`, `Major points`.
fn severity_of_title(title: &str) -> Option<Severity> {
    Severity::ALL.into_iter().find(|one| {
        let rest = strip_word(title, one.name()).map(str::trim);
        rest.is_some_and(|rest| ["", "points", "issues", "objections"].contains(&rest))
    })
}

/// The severity that stands behind the title of a point: `Title (minor)`, `Severity: minor`.
fn tag_within(text: &str) -> Option<Severity> {
    let lower = text.to_ascii_lowercase();
    let is_tag = |at: usize, name: &str| {
        let (before, after) = (
            lower[..at].trim_end_matches(['*', '_', '`']),
            lower[at + name.len()..].trim_start_matches(['*', '_', '`']),
        );
        let is_named = before
            .trim_end_matches([' ', '*', '_'])
            .strip_suffix(':')
            .is_some_and(|name| name.trim_end_matches(['*', '_']).ends_with("severity"));
        is_named || before.ends_with(['(', '[']) && after.starts_with([')', ']'])
    };
    let places = Severity::ALL
        .into_iter()
        .flat_map(|one| lower.match_indices(one.name()).map(move |(at, name)| (at, name, one)));
    places.filter(|(at, name, _)| is_tag(*at, name)).min_by_key(|(at, ..)| *at).map(|(.., severity)| severity)
}

/// A point, told apart into its parts, each word for word.
fn point(text: &str, severity: Option<Severity>, in_section: Option<Severity>) -> Option<Point> {
    let severity = severity.or(in_section).or_else(|| tag_within(text)).unwrap_or(Severity::Major);
    let (text, resolution) = resolution(text);
    let text = tidy(text);
    // An answer that was cut ends within a tag.
    let is_cut = text.starts_with('[') && !text.contains(']');
    if is_cut || !text.contains(char::is_alphanumeric) {
        return None;
    }
    let (about, text) = match about(&text) {
        Some((about, rest)) => (Some(about), rest.to_owned()),
        None => (None, text),
    };
    Some(Point { severity, about, text, resolution, target: None })
}

/// The text up to `Resolved by:`, and the remedy.
fn resolution(text: &str) -> (&str, Option<String>) {
    let lower = text.to_ascii_lowercase();
    let found = lower.match_indices(RESOLVED_BY).map(|(at, _)| at).find(|at| {
        let after = lower[at + RESOLVED_BY.len()..].trim_start_matches(['*', '_', '`']);
        after.starts_with(':') || after.starts_with(" -") || after.starts_with(" –") || after.starts_with(" —")
    });
    let Some(at) = found else { return (text, None) };
    let before = text[..at].trim_end_matches(|c: char| c.is_whitespace() || "*_`-–—(".contains(c));
    // A mark that closes emphasis belongs to the text before it.
    let kept = &text[before.len()..at];
    let closing = kept.len() - kept.trim_start_matches(['*', '_', '`']).len();
    let before =
        if kept[closing..].starts_with(char::is_whitespace) { &text[..before.len() + closing] } else { before };
    let remedy = tidy(&text[at + RESOLVED_BY.len()..]);
    (before, Some(remedy).filter(|remedy| remedy.contains(char::is_alphanumeric)))
}

/// `Part: what goes wrong`, `"What the text states": what is true`.
fn about(text: &str) -> Option<(String, &str)> {
    // `07:00-19:00 UTC` and `https://` have a colon and end nothing.
    let is_apart = |rest: &str| rest.starts_with([' ', '\n', '*', '_']);
    let colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let mut colons = colons.take_while(|(about, _)| about.len() <= QUOTATION).filter(|(_, rest)| is_apart(rest));
    colons.find_map(|(about, rest)| {
        let is_whole = ["**", "`", "\"", "__"].iter().all(|mark| about.matches(mark).count() % 2 == 0)
            && about.starts_with('“') == about.contains('”');
        let (about, rest) = if is_whole {
            (about, rest)
        } else {
            // `**Part:** what goes wrong`
            let inner = about.strip_prefix("**").filter(|inner| !inner.contains("**"))?;
            (inner, rest.strip_prefix("**")?)
        };
        let bare = about.strip_prefix("**").and_then(|inner| inner.strip_suffix("**")).unwrap_or(about).trim();
        let rest = after_separator(rest);
        let is_telling = bare.contains(char::is_alphanumeric) && rest.contains(char::is_alphanumeric);
        (is_telling && (is_name(bare) || is_quotation(bare))).then(|| (bare.to_owned(), rest))
    })
}

/// Whether a text may be the name of a requirement or part: it is short, and no sentence ends in it.
fn is_name(text: &str) -> bool {
    let ends_here = |after: &str| after.trim_start_matches(['"', '”', ')', '*', '_', '`']).starts_with(' ');
    let ends = text.match_indices('.').any(|(at, _)| ends_here(&text[at + 1..]));
    text.chars().count() <= ABOUT && !text.contains(['\n', '?', '!']) && !ends
}

/// Whether a text is a quotation, with a place in brackets after it or without.
fn is_quotation(text: &str) -> bool {
    let place = text.strip_suffix(')').and_then(|text| text.rfind(" (").map(|at| text[..at].trim_end()));
    text.starts_with(['"', '“', '„', '«']) && place.unwrap_or(text).ends_with(['"', '”', '“', '»'])
}
