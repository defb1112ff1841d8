//! Fits texts into a prompt: newest first up to a bound, long ones as their points, or all cut to one length.

use std::borrow::Cow;

use dialectic_base::figures::thousands;
use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_record::prompt::TitledText;

/// The characters shown of a text that is only mentioned.
const SKETCH: usize = 120;
/// The maximum number of texts that are mentioned; older ones are only counted, or the cost would grow with the square
/// of the rounds.
const MOST_LINES: usize = 40;
/// The title of mentioned texts.
const OVERVIEW: &str = "Older texts, one line each";

/// A text with a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Titled<'a> {
    pub(super) title: String,
    pub(super) text: Cow<'a, str>,
}

impl<'a> Titled<'a> {
    pub(super) fn new(title: impl Into<String>, text: impl Into<Cow<'a, str>>) -> Self {
        Self { title: title.into(), text: text.into() }
    }

    pub(super) fn entry(&self) -> TitledText<'_> {
        TitledText { title: &self.title, text: &self.text }
    }
}

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The total length in characters.
pub(super) fn total(texts: &[Titled<'_>]) -> usize {
    texts.iter().map(|one| length(&one.text)).sum()
}

/// The `texts`, newest first, that fit into `limit` characters; older ones become one line each. Always includes the
/// newest, cut if necessary.
pub(super) fn bounded(texts: Vec<Titled<'_>>, limit: usize) -> Vec<Titled<'_>> {
    let mut room = limit;
    let fitting = texts.iter().take_while(|one| {
        let left = room.checked_sub(length(&one.text));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let fitting = fitting.count();
    let mut shown = texts;
    let mut older = shown.split_off(fitting);
    if fitting == 0 && limit > 0 && !older.is_empty() {
        let newest = older.remove(0);
        shown.push(Titled { text: cut(&newest.text, limit).into(), ..newest });
    }
    if !older.is_empty() {
        let mut lines: Vec<String> = older.iter().take(MOST_LINES).map(sketch).collect();
        if let Some(more @ 1..) = older.len().checked_sub(MOST_LINES) {
            lines.push(format!("- and {} before these", thousands(more as u64)));
        }
        shown.push(Titled::new(OVERVIEW, lines.join("\n")));
    }
    shown
}

fn sketch(one: &Titled<'_>) -> String {
    let words = single_spaced(&one.text);
    let ellipsis = if length(&words) > SKETCH { "…" } else { "" };
    let size = thousands(length(&one.text) as u64);
    format!("- {} ({size} characters): {}{ellipsis}", one.title, truncate(&words, SKETCH))
}

/// The first `chars` characters of a text, and a note of the omitted length. Short texts are unchanged. Omits a remedy
/// rather than cutting it, since half a remedy is wrong.
pub(super) fn cut(text: &str, chars: usize) -> String {
    if length(text) <= chars {
        return text.to_owned();
    }
    let kept = before_cut_remedy(text, truncate(text, chars));
    let left_out = length(text) - length(kept);
    format!("{}\n[… {} more characters are left out here]", kept.trim_end(), thousands(left_out as u64))
}

/// The first `chars` characters of a summary, without a partial remedy.
pub fn cut_summary(text: &str, chars: usize) -> &str {
    before_cut_remedy(text, truncate(text, chars)).trim_end()
}

/// The marker of a remedy in a critique.
const REMEDY: &str = "Resolved by";

/// `kept`, the beginning of `text`, without a remedy that the cut would split.
fn before_cut_remedy<'a>(text: &str, kept: &'a str) -> &'a str {
    let is_whole = text[kept.len()..].is_empty() || text[kept.len()..].starts_with('\n');
    let line = kept.rfind('\n').map_or(0, |end| end + 1);
    match kept[line..].rfind(REMEDY) {
        Some(at) if !is_whole => &kept[..line + at],
        Some(_) | None => kept,
    }
}

/// Cuts the longest `texts` to one length, so that all fit into `room` characters.
pub(super) fn shorten(texts: &mut [Titled<'_>], room: usize) {
    let mut lengths: Vec<usize> = texts.iter().map(|one| length(&one.text)).collect();
    lengths.sort_unstable();
    let (mut left, mut most) = (room, usize::MAX);
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            most = share;
            break;
        }
        left -= length;
    }
    for one in texts.iter_mut().filter(|one| length(&one.text) > most) {
        one.text = cut(&one.text, most).into();
    }
}

/// Shortens a critique to about `limit` characters: each numbered point gets an equal share. A critique without points
/// is cut as a whole.
pub(super) fn as_points(critique: &str, limit: usize) -> Cow<'_, str> {
    if length(critique) <= limit {
        return Cow::Borrowed(critique);
    }
    let points = points(critique);
    if points.len() < 2 {
        return cut(critique, limit).into();
    }
    // Keeps remedies complete: a fault survives shortening better.
    let parts: Vec<(&str, &str)> = points.into_iter().map(|point| point.split_at(remedy_of(point))).collect();
    let remedies: usize = parts.iter().map(|(_, remedy)| length(remedy)).sum();
    let mut faults: Vec<Titled<'_>> = parts.iter().map(|(fault, _)| Titled::new("", *fault)).collect();
    // Room for the notes of omitted characters.
    let marks = faults.len() * 50;
    let room = limit.saturating_sub(marks + remedies).max(faults.len() * SKETCH);
    shorten(&mut faults, room);
    let points = faults.iter().zip(&parts).map(|(fault, (_, remedy))| {
        let joint = if remedy.is_empty() || !fault.text.ends_with(']') { "" } else { " " };
        format!("{}{joint}{remedy}", fault.text)
    });
    points.collect::<Vec<_>>().join("\n").into()
}

/// The offset of a point's remedy, or the point's length.
fn remedy_of(point: &str) -> usize {
    point.rfind(REMEDY).unwrap_or(point.len())
}

/// The numbered points of a critique, without the text before them.
fn points(critique: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let (mut at, mut in_code, mut next) = (0, false, 1_u32);
    for line in critique.split_inclusive('\n') {
        in_code ^= line.trim_start().starts_with("```");
        // Nested lists restart at 1, while points continue.
        if !in_code && number_of(line).is_some_and(|number| number == next) {
            starts.push(at);
            next += 1;
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([critique.len()]);
    starts.iter().zip(ends).map(|(start, end)| critique[*start..end].trim_end()).collect()
}

/// The number at the beginning of a line: `1.`, `**1.`, `### 1)`, `Point 1:`.
fn number_of(line: &str) -> Option<u32> {
    let plain = line.trim_start_matches(['#', '*', ' ', '_']);
    let plain = plain.strip_prefix("Point ").unwrap_or(plain);
    let rest = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.starts_with(['.', ')', ':']) && rest[1..].starts_with([' ', '*', '_']);
    plain[..plain.len() - rest.len()].parse().ok().filter(|_| is_numbered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(lengths: &[usize]) -> Vec<Titled<'static>> {
        (1..).zip(lengths).map(|(number, length)| Titled::new(format!("T{number}"), "x".repeat(*length))).collect()
    }

    #[test]
    fn the_newest_are_shown_and_the_others_mentioned() {
        assert_eq!(bounded(texts(&[10, 20]), 30), texts(&[10, 20]));
        let shown = bounded(texts(&[10, 200, 5]), 30);
        assert_eq!(shown[..1], texts(&[10]));
        let lines = format!("- T2 (200 characters): {}…\n- T3 (5 characters): xxxxx", "x".repeat(SKETCH));
        assert_eq!(shown[1..], [Titled::new(OVERVIEW, lines)]);
    }

    #[test]
    fn the_newest_is_shown_in_part_rather_than_not_at_all() {
        let shown = bounded(texts(&[100, 5]), 30);
        assert_eq!(shown[0].text, format!("{}\n[… 70 more characters are left out here]", "x".repeat(30)));
        assert_eq!(shown[1].text, "- T2 (5 characters): xxxxx");
        assert!(bounded(Vec::new(), 30).is_empty());
    }

    #[test]
    fn mentions_are_bounded_too() {
        let shown = bounded(texts(&[10; 100]), 10);
        let lines: Vec<&str> = shown[1].text.lines().collect();
        assert_eq!((lines.len(), lines[MOST_LINES]), (MOST_LINES + 1, "- and 59 before these"));
    }

    #[test]
    fn the_longest_are_shortened_first() {
        let mut some = texts(&[10, 500, 40, 300]);
        shorten(&mut some, 250);
        let kept: Vec<usize> = some.iter().map(|one| one.text.matches('x').count()).collect();
        assert_eq!(kept, [10, 100, 40, 100]);
        let mut enough = texts(&[10, 20]);
        shorten(&mut enough, 30);
        assert_eq!(enough, texts(&[10, 20]));
    }

    #[test]
    fn a_long_critique_is_shown_as_its_points() {
        let long = |point: u32| format!("{point}. **Gap {point}.** {}\n   1. detail\n", "why ".repeat(500));
        let critique = format!("Coverage first.\n\n{}\n{}\n{}", long(1), long(2), long(3));
        let shown = as_points(&critique, 3000);
        assert!(length(&shown) <= 3000, "{}", length(&shown));
        for point in ["1. **Gap 1.** why", "2. **Gap 2.** why", "3. **Gap 3.** why"] {
            assert!(shown.contains(point), "{point}");
        }
        assert!(shown.starts_with("1. "));
        assert_eq!(as_points("1. Short.\n2. Too.", 3000), "1. Short.\n2. Too.");
        assert!(as_points(&"prose ".repeat(1000), 3000).starts_with("prose "));
    }

    #[test]
    fn no_remedy_is_cut() {
        let remedy = "Resolved by: a unique index on the key, created before the job runs.";
        let point = |number: u32| format!("{number}. [major] Keys: {} {remedy}", "duplicates ".repeat(200));
        let critique = [1, 2, 3].map(point).join("\n");
        let shown = as_points(&critique, 1500);
        assert_eq!(shown.matches(remedy).count(), 3, "{shown}");
        assert!(length(&shown) < 1500, "{shown}");
        let text = "1. Keys are missing. Resolved by: a unique index.\n2. No way back.";
        let kept = |chars: usize| cut(text, chars).lines().next().unwrap().to_owned();
        assert_eq!(kept(40), "1. Keys are missing.");
        assert_eq!(kept(49), "1. Keys are missing. Resolved by: a unique index.");
    }

    proptest! {
        #[test]
        fn what_is_shortened_fits(lengths in prop::collection::vec(0_usize..400, 0..8), room in 0_usize..1000) {
            let mut some = texts(&lengths);
            shorten(&mut some, room);
            let kept: usize = some.iter().map(|one| one.text.matches('x').count()).sum();
            prop_assert!(kept <= room);
            let all: usize = lengths.iter().sum();
            prop_assert!(all > room || kept == all);
            // Loses at most the rounding error.
            prop_assert!(all <= room || kept + lengths.len() >= room);
        }
    }
}
