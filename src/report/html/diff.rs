//! What changed between two texts: inserted and deleted words, with a little of what stayed around them.

use std::collections::HashMap;
use std::mem::take;

use maud::{Markup, html};
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use super::text::words;

/// Longer texts are not compared: it would take too long, and nobody would read it. Bounds rather than a time limit, so
/// that the same debate always gives the same page.
const COMPARED_BYTES: usize = 96 * 1024;
const COMPARED_LINES: usize = 1_500;
/// Passages with more words than this are shown as replaced as a whole.
const COMPARED_WORDS: u64 = 500;
/// The same for passages of whose words fewer than this stayed, in a hundred.
const ALIKE: u64 = 30;
/// Unchanged lines that are shown before and after a change.
const AROUND: usize = 1;

/// What comparing two texts found.
pub(super) enum Difference {
    /// They are the same.
    None,
    /// They are too long to be compared.
    TooLong,
    /// They differ.
    Changes {
        /// The changes.
        shown: Markup,
        /// Words that are new.
        inserted: u64,
        /// Words that are gone.
        deleted: u64,
    },
}

/// Compares two texts.
pub(super) fn difference(old: &str, new: &str) -> Difference {
    if old == new {
        return Difference::None;
    }
    let too_long = |text: &str| text.len() > COMPARED_BYTES || text.lines().count() > COMPARED_LINES;
    if too_long(old) || too_long(new) {
        return Difference::TooLong;
    }
    let mut changes = Changes::default();
    let lines = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    let ops = lines.ops();
    for (index, op) in ops.iter().enumerate() {
        let old = passage(&lines, op, ChangeTag::Delete);
        let new = passage(&lines, op, ChangeTag::Insert);
        match op {
            DiffOp::Equal { .. } => changes.keep(&old, index == 0, index + 1 == ops.len()),
            DiffOp::Delete { .. } => changes.delete(&old),
            DiffOp::Insert { .. } => changes.insert(&new),
            DiffOp::Replace { .. } => changes.replace(&old, &new),
        }
    }
    let Changes { shown, inserted, deleted } = changes;
    Difference::Changes {
        shown: html! { div.diff dir="auto" { @for passage in shown { (passage) } } },
        inserted,
        deleted,
    }
}

/// The lines of the old or the new text that an operation is about.
fn passage(lines: &TextDiff<'_, '_, str>, op: &DiffOp, side: ChangeTag) -> String {
    let slices: Vec<&str> = match side {
        ChangeTag::Insert => op.new_range().filter_map(|at| lines.new_slice(at)).collect(),
        ChangeTag::Delete | ChangeTag::Equal => op.old_range().filter_map(|at| lines.old_slice(at)).collect(),
    };
    slices.concat()
}

/// Whether it is worth while to look for the words that stayed. To find them in texts that have little in common takes
/// longest, and for nothing: those that stayed alone between changes are not shown as such. Where words stayed together,
/// pairs of them are in both texts, wherever they went; half as many are asked for as words have to stay.
fn share_phrases(old: &str, new: &str) -> bool {
    let pairs = |text| <str>::split_whitespace(text).zip(<str>::split_whitespace(text).skip(1));
    let mut gone: HashMap<(&str, &str), u64> = HashMap::new();
    pairs(old).for_each(|pair| *gone.entry(pair).or_default() += 1);
    let (mut all, mut shared) = (gone.values().sum::<u64>(), 0);
    for pair in pairs(new) {
        all += 1;
        if let Some(left) = gone.get_mut(&pair).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    400 * shared >= ALIKE * all
}

/// The words that both texts have in the same order.
fn stayed(diff: &TextDiff<'_, '_, str>) -> u64 {
    let stayed = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Equal);
    stayed.map(|change| words(change.value())).sum()
}

#[derive(Default)]
struct Changes {
    shown: Vec<Markup>,
    inserted: u64,
    deleted: u64,
}

impl Changes {
    /// Lines that stayed: those next to a change are shown, the others counted.
    fn keep(&mut self, text: &str, is_first: bool, is_last: bool) {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let before = if is_first { 0 } else { AROUND };
        let after = if is_last { 0 } else { AROUND };
        let skipped = lines.len().saturating_sub(before + after);
        if skipped < 2 {
            self.same(&lines);
            return;
        }
        self.same(lines.get(..before).unwrap_or_default());
        self.shown.push(html! { p.skipped { (skipped) " unchanged lines" } });
        self.same(lines.get(before + skipped..).unwrap_or_default());
    }

    fn same(&mut self, lines: &[&str]) {
        for line in lines {
            self.shown.push(html! { p.same { (line) } });
        }
    }

    fn delete(&mut self, text: &str) {
        self.deleted += words(text);
        if !text.trim().is_empty() {
            self.shown.push(html! { p { del { (text.trim_end()) } } });
        }
    }

    fn insert(&mut self, text: &str) {
        self.inserted += words(text);
        if !text.trim().is_empty() {
            self.shown.push(html! { p { ins { (text.trim_end()) } } });
        }
    }

    fn replace(&mut self, old: &str, new: &str) {
        let (before, after) = (words(old), words(new));
        let few = before <= COMPARED_WORDS && after <= COMPARED_WORDS;
        let diff = (few && share_phrases(old, new))
            .then(|| TextDiff::configure().algorithm(Algorithm::Myers).diff_words(old.trim_end(), new.trim_end()));
        if let Some(diff) = diff.filter(|diff| 200 * stayed(diff) >= ALIKE * (before + after)) {
            self.reword(&diff);
        } else {
            self.delete(old);
            self.insert(new);
        }
    }

    /// A passage of which some words changed. A single word that stayed between two changes goes with them: text that
    /// changes its marking at every other word cannot be read.
    fn reword(&mut self, diff: &TextDiff<'_, '_, str>) {
        let mut words_shown = Vec::new();
        let (mut old, mut new) = (String::new(), String::new());
        let mut stayed = String::new();
        for change in diff.iter_all_changes() {
            let word = change.value();
            if change.tag() == ChangeTag::Equal {
                stayed.push_str(word);
                if words(&stayed) > 1 || stayed.contains('\n') {
                    words_shown.push(replaced(&mut old, &mut new));
                    words_shown.push(html! { (stayed) });
                    stayed.clear();
                }
                continue;
            }
            if old.is_empty() && new.is_empty() {
                words_shown.push(html! { (stayed) });
            } else {
                old.push_str(&stayed);
                new.push_str(&stayed);
            }
            stayed.clear();
            if change.tag() == ChangeTag::Delete {
                self.deleted += words(word);
                old.push_str(word);
            } else {
                self.inserted += words(word);
                new.push_str(word);
            }
        }
        words_shown.push(replaced(&mut old, &mut new));
        self.shown.push(html! { p { @for words in words_shown { (words) } (stayed) } });
    }
}

/// Words that were replaced by others; both are empty afterwards.
fn replaced(old: &mut String, new: &mut String) -> Markup {
    let (old, new) = (take(old), take(new));
    html! {
        @if !old.trim().is_empty() { del { (old) } }
        @if !new.is_empty() { ins { (new) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(old: &str, new: &str) -> (String, u64, u64) {
        match difference(old, new) {
            Difference::Changes { shown, inserted, deleted } => (shown.into_string(), inserted, deleted),
            Difference::None => panic!("no difference"),
            Difference::TooLong => panic!("too long"),
        }
    }

    #[test]
    fn words_are_marked_and_counted() {
        let (shown, inserted, deleted) =
            changes("Use one big queue for all orders.\n", "Use two small queues for all orders.\n");
        assert_eq!((inserted, deleted), (3, 3));
        assert!(
            shown.contains("<p>Use <del>one big queue</del><ins>two small queues</ins> for all orders.</p>"),
            "{shown}"
        );
    }

    #[test]
    fn a_word_that_stayed_between_changes_goes_with_them_uncounted() {
        let old = "The limiter keeps its counters in one table of the store that is there.\n";
        let new = "The limiter keeps its counters in two shards of a cache that is there.\n";
        let (shown, inserted, deleted) = changes(old, new);
        assert_eq!((inserted, deleted), (4, 4));
        let marked = "in <del>one table of the store</del><ins>two shards of a cache</ins> that is there.";
        assert!(shown.contains(marked), "{shown}");
    }

    #[test]
    fn what_stayed_is_shown_next_to_a_change_only() {
        let same = "a line\n".repeat(9);
        let (shown, inserted, deleted) = changes(&format!("{same}old words\n{same}"), &format!("{same}{same}"));
        assert_eq!((inserted, deleted), (0, 2));
        assert_eq!(shown.matches("class=\"same\"").count(), 2, "{shown}");
        assert_eq!(shown.matches("8 unchanged lines").count(), 2, "{shown}");
        assert!(shown.contains("<p><del>old words</del></p>"), "{shown}");
    }

    #[test]
    fn passages_without_much_in_common_are_replaced_as_a_whole() {
        let (shown, ..) = changes("alpha beta gamma delta\n", "one two three four\n");
        assert!(
            shown.contains("<p><del>alpha beta gamma delta</del></p><p><ins>one two three four</ins></p>"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_too_long_is_not_compared() {
        assert!(matches!(difference(&"a ".repeat(60_000), "b"), Difference::TooLong));
        assert!(matches!(difference("b", &"a\n".repeat(2_000)), Difference::TooLong));
        assert!(matches!(difference("b", "b"), Difference::None));
    }

    #[test]
    fn texts_are_escaped_whatever_happened_to_them() {
        let (shown, ..) = changes("a <i>b</i> c & d e f\nkeep <u>\nx <b>\n", "a <i>B</i> c & d e f\nkeep <u>\n");
        assert!(!shown.contains("<i>") && !shown.contains("<b>") && !shown.contains("<u>"), "{shown}");
    }
}
