//! Parses findings such as `1. [major] src/store.rs:42-48: what goes wrong. To see it: the input that shows it.`, and
//! readers' opinions on each other's findings.

use std::sync::Arc;

use crate::change::{DIFF_ENDING, Lines};

use super::blocks::Page;
use super::entries::{Entries, after_separator, strip_word, tidy};
use super::list::{self, Form};
use crate::points::{Place, PointId, RaisedPoint, Severity, Stance, Statement};

const FORM: Form = Form {
    remedy: "to see it",
    none: "|no findings|no finding|no further findings|no new findings|there are no findings|i have no findings|none|",
};
const STANCES: &[(&str, Stance)] = &[
    ("confirmed", Stance::Confirmed),
    ("confirm", Stance::Confirmed),
    ("refuted", Stance::Refuted),
    ("refute", Stance::Refuted),
    ("left open", Stance::Left),
    ("left", Stance::Left),
    ("leave", Stance::Left),
    ("not confirmed", Stance::Left),
];
const MARKS: &str = "*_`\"'([<{";
const CLOSING_MARKS: &str = "*_`\"')]>}";

/// Returns the findings and how many were left out because there were too many. `paths` are the files of the change.
/// The findings are empty if the text states that it has none, and `None` if none can be parsed.
pub fn read_findings(text: &str, paths: &[&str]) -> (Option<Vec<RaisedPoint>>, usize) {
    let page = Page::new(text);
    let finding = |text: &str, severity: Option<Severity>, in_section: Option<Severity>| {
        let (said, evidence) = list::resolution(text, FORM.remedy);
        let said = tidy(said);
        let (place, said) = place(&said, paths).map_or((None, said.as_str()), |(place, rest)| (Some(place), rest));
        // An item with neither a severity nor a place is not a finding, whatever list it is in.
        let severity = severity.or(in_section).or(place.as_ref().map(|_| Severity::Major))?;
        let text = tidy(said);
        text.contains(char::is_alphanumeric).then(|| RaisedPoint {
            place,
            evidence: evidence.map(Arc::from),
            ..RaisedPoint::new(severity, text)
        })
    };
    list::read_as(&page, &page.lines, |_| false, false, &FORM, finding)
}

/// Returns at most one opinion for each of `numbers`.
pub fn read_opinions(text: &str, numbers: &[&str]) -> Vec<Statement<Stance>> {
    let page = Page::new(text);
    let said = Entries { page: &page, numbers, verdicts: STANCES }.read(&page.lines);
    let opinion = |one: Statement<Stance, usize>| {
        let section = one.section.map(|section| format!("({section})"));
        let reason: Vec<&str> = section.as_deref().into_iter().chain(one.reason.as_deref()).collect();
        let reason = Some(reason.join(" ")).filter(|reason| !reason.is_empty()).map(Arc::from);
        let point = PointId::of_finding(numbers.get(one.point)?);
        Some(Statement { point, verdict: one.verdict, section: None, reason })
    };
    said.into_iter().filter_map(opinion).collect()
}

fn place<'t>(text: &'t str, paths: &[&str]) -> Option<(Place, &'t str)> {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || MARKS.contains(c));
    let start = ["file", "in"]
        .iter()
        .find_map(|word| strip_word(start, word))
        .map_or(start, |rest| rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || MARKS.contains(c)));
    let (path, rest) = known_path(start, paths).or_else(|| other_path(start))?;
    let (lines, rest) = lines(rest);
    let rest = rest.trim_start_matches(|c: char| CLOSING_MARKS.contains(c));
    Some((Place { path: path.to_owned(), lines }, after_separator(rest)))
}

/// If a text begins with a path of the change, possibly after `a/`, `b/` or `./`, returns the longest such path and the
/// rest of the text.
fn known_path<'p, 't>(text: &'t str, paths: &[&'p str]) -> Option<(&'p str, &'t str)> {
    let starts = ["", "a/", "b/", "./"].into_iter().filter_map(|prefix| text.strip_prefix(prefix));
    let found = starts.flat_map(|start| paths.iter().filter_map(move |path| Some((*path, start.strip_prefix(path)?))));
    let whole = found.filter(|(_, rest)| !rest.starts_with(|c: char| c.is_alphanumeric() || "/_".contains(c)));
    // Skips the ending of an attachment's name, such as `.diff`.
    whole.max_by_key(|(path, _)| path.len()).map(|(path, rest)| (path, rest.strip_prefix(DIFF_ENDING).unwrap_or(rest)))
}

fn other_path(text: &str) -> Option<(&str, &str)> {
    let ends = |(at, c): (usize, char)| {
        let is_end = c.is_whitespace() || CLOSING_MARKS.contains(c) && c != '_' || ",;".contains(c);
        (is_end || c == ':' || c == '#' && text[at..].starts_with("#L")).then_some(at)
    };
    let end = text.char_indices().find_map(ends).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('.');
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=8).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_path = (has_ending || word.contains('/')) && !rest.starts_with("://") && word.contains(char::is_alphabetic);
    is_path.then_some((word, rest))
}

/// Matches `:42-48`, `:L42`, `#L42-L48`, ` lines 42 to 48`, `, line 42` and ` (42-48)`.
fn lines(text: &str) -> (Option<Lines>, &str) {
    let bare = text.trim_start_matches(|c: char| c.is_whitespace() || "*_`,:#(".contains(c));
    let named = ["lines", "line"].iter().find_map(|word| strip_word(bare, word)).map(str::trim_start);
    let is_attached =
        text.trim_start_matches(['*', '_', '`']).starts_with([':', '#']) || text.trim_start().starts_with('(');
    let Some(from) = named.or(is_attached.then_some(bare)) else { return (None, text) };
    let Some((first, rest)) = number(from) else { return (None, text) };
    let next = rest.trim_start();
    let next = next.strip_prefix(['-', '–', '—']).or_else(|| strip_word(next, "to")).map(str::trim_start);
    let (last, rest) = next.and_then(number).unwrap_or((first, rest));
    // In `:42:5` the second number is a column.
    let column = rest.strip_prefix(':').and_then(number).map(|(_, rest)| rest);
    match Lines::new(first, last) {
        Some(lines) => (Some(lines), column.unwrap_or(rest)),
        None => (None, text),
    }
}

fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.strip_prefix(['L', 'l']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    // `2nd` and `3x` are not line numbers.
    (!rest.starts_with(char::is_alphabetic)).then(|| Some((number.parse().ok()?, rest)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 3] = ["src/store.rs", "src/a file.py", "Makefile"];

    fn read(text: &str) -> Option<Vec<String>> {
        let shown = |one: RaisedPoint| {
            let place = one.place.map_or_else(|| "?".to_owned(), |place| place.to_string());
            let evidence = one.evidence.map(|evidence| format!(" / {evidence}")).unwrap_or_default();
            format!("{} {place} | {}{evidence}", one.severity.name(), one.text)
        };
        Some(read_findings(text, &PATHS).0?.into_iter().map(shown).collect())
    }

    #[test]
    fn the_form_is_read_with_the_decoration_that_models_add() {
        let expected = vec!["major src/store.rs:42-48 | the lock is dropped too early. / run it twice.".to_owned()];
        for text in [
            "1. [major] src/store.rs:42-48: the lock is dropped too early. To see it: run it twice.",
            "1. **[major]** `src/store.rs:42-48`: the lock is dropped too early. **To see it:** run it twice.",
            "- [major] src/store.rs:42-48 - the lock is dropped too early. To see it: run it twice.",
            "**1. [major] `src/store.rs:42-48`** — the lock is dropped too early. To see it: run it twice.",
            "### 1. [major] `src/store.rs:42-48`\n\nthe lock is dropped too early.\n\n**To see it:** run it twice.",
            "1. [major] `src/store.rs`:42-48: the lock is dropped too early.\n   To see it: run it twice.",
            "1. [major] b/src/store.rs:L42-L48: the lock is dropped too early. To see it: run it twice.",
            "1. [major] src/store.rs#L42-L48: the lock is dropped too early. To see it: run it twice.",
            "1. [major] `src/store.rs` (lines 42–48): the lock is dropped too early. To see it: run it twice.",
            "1. [major] src/store.rs, lines 42 to 48: the lock is dropped too early. To see it: run it twice.",
            "## Findings\n\n1. [major] **src/store.rs:42-48**: the lock is dropped too early. To see it: run it twice.",
        ] {
            assert_eq!(read(text), Some(expected.clone()), "{text}");
        }
    }

    #[test]
    fn places_may_be_strange_and_may_be_missing() {
        for (text, expected) in [
            ("1. [minor] src/a file.py:3: x is wrong", "minor src/a file.py:3 | x is wrong"),
            ("1. [minor] `Makefile:9:2`: x is wrong", "minor Makefile:9 | x is wrong"),
            ("1. [blocking] other/place.go:7: x is wrong", "blocking other/place.go:7 | x is wrong"),
            ("1. [blocking] ../../etc/passwd:1: x is wrong", "blocking ../../etc/passwd:1 | x is wrong"),
            ("1. [major] The tests are missing.", "major ? | The tests are missing."),
            ("1. src/store.rs:8: no severity", "major src/store.rs:8 | no severity"),
            ("1. [major] src/store.rs.diff:8: x is wrong", "major src/store.rs:8 | x is wrong"),
            ("1. [major] src/store.rs: the whole file", "major src/store.rs | the whole file"),
            ("1. [major] src/store.rs:99999999999: far away", "major src/store.rs | 99999999999: far away"),
            ("1. [minor] https://a.example/b: no place", "minor ? | https://a.example/b: no place"),
        ] {
            assert_eq!(read(text), Some(vec![expected.to_owned()]), "{text}");
        }
    }

    #[test]
    fn a_text_says_that_it_has_none_or_is_unread() {
        for text in ["No findings.", "**No findings.**", "## Findings\n\nNo findings."] {
            assert_eq!(read(text), Some(vec![]), "{text}");
        }
        for text in ["", "The change looks good to me.", "1. I read the diff.\n2. It is fine."] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn opinions_name_a_finding_and_a_stance() {
        let numbers = ["2.1", "2.2", "2.3"];
        let text = "- 2.1 confirmed: line 4 returns early\n- **2.2** refuted (a.rs): it is checked above\n- 9.9 confirmed: no\n- 2.3 left: not shown";
        let read = read_opinions(text, &numbers);
        let shown: Vec<_> = read.iter().map(|one| (one.point.as_str(), one.verdict, one.reason.as_deref())).collect();
        assert_eq!(
            shown,
            [
                ("2.1", Stance::Confirmed, Some("line 4 returns early")),
                ("2.2", Stance::Refuted, Some("(a.rs) it is checked above")),
                ("2.3", Stance::Left, Some("not shown")),
            ]
        );
        assert!(read_opinions("I agree with everything.", &numbers).is_empty());
    }
}
