//! The changes between two texts: inserted and deleted words with a little context.

use std::collections::HashMap;
use std::mem::take;
use std::slice::from_ref;

use maud::{Markup, html};

use crate::report::difference::{DiffPart, parts, words as split};
use crate::report::prose::{LineKind, ProseLine};

use super::text::words;

/// Longer texts are not compared, since that would take too long. A size limit instead of a time limit keeps pages
/// reproducible.
const COMPARED_BYTES: usize = 96 * 1024;
const COMPARED_LINES: usize = 1_500;
/// Longer passages are shown as replaced.
const COMPARED_WORDS: u64 = 500;
/// Passages with a smaller percentage of unchanged words are shown as replaced.
const ALIKE: u64 = 30;
/// The unchanged lines shown around a change.
const AROUND: usize = 1;

/// The result of a comparison.
pub(super) enum Difference {
    /// The texts are equal.
    None,
    /// The texts are too long.
    TooLong,
    /// The texts differ.
    Changes {
        /// The changes.
        shown: Markup,
        /// The number of new words.
        inserted: u64,
        /// The number of deleted words.
        deleted: u64,
    },
}

/// Compares two texts as rendered: changes of only the markup do not count.
pub(super) fn difference(old: &[ProseLine], new: &[ProseLine]) -> Difference {
    if old == new {
        return Difference::None;
    }
    let bytes = |lines: &[ProseLine]| lines.iter().map(|line| line.text.len() + 1).sum::<usize>();
    let too_long = |lines: &[ProseLine]| lines.len() > COMPARED_LINES || bytes(lines) > COMPARED_BYTES;
    if too_long(old) || too_long(new) {
        return Difference::TooLong;
    }
    let parts = parts(old, new);
    let mut changes = Changes::default();
    for (index, part) in parts.iter().enumerate() {
        let (gone, come) = (&old[part.old.clone()], &new[part.new.clone()]);
        match (part.stayed, gone, come) {
            (true, _, _) => changes.keep(come, index == 0, index + 1 == parts.len()),
            (false, gone, []) => changes.delete(gone),
            (false, [], come) => changes.insert(come),
            (false, gone, come) => changes.replace(gone, come),
        }
    }
    let Changes { shown, inserted, deleted } = changes;
    Difference::Changes {
        shown: html! { div.diff dir="auto" { @for passage in shown { (passage) } } },
        inserted,
        deleted,
    }
}

/// The class of a line, which distinguishes headings, items and code.
fn class(line: &ProseLine) -> Option<&'static str> {
    match line.kind {
        LineKind::Heading => Some("heading"),
        LineKind::Item => Some("item"),
        LineKind::Code => Some("code"),
        LineKind::Prose => None,
    }
}

/// Whether it is worth searching for unchanged words. The search is slowest, and useless, for texts with little in
/// common, since a single unchanged word between two changes is shown as changed. Unchanged runs share pairs of words.
/// The required number of pairs is half the required number of unchanged words.
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

/// A passage of both texts by word.
struct Passage<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    parts: Vec<DiffPart>,
}

impl<'a> Passage<'a> {
    fn of(old: &'a str, new: &'a str) -> Self {
        let (old, new) = (split(old), split(new));
        let parts = parts(old.iter(), new.iter());
        Self { old, new, parts }
    }

    /// The number of unchanged words in the same order.
    fn stayed(&self) -> u64 {
        let stayed = self.parts.iter().filter(|part| part.stayed);
        stayed.flat_map(|part| &self.new[part.new.clone()]).map(|word| words(word)).sum()
    }
}

#[derive(Default)]
struct Changes {
    shown: Vec<Markup>,
    inserted: u64,
    deleted: u64,
}

impl Changes {
    /// Adds unchanged lines: those next to a change are shown, the others counted.
    fn keep(&mut self, lines: &[ProseLine], is_first: bool, is_last: bool) {
        let before = if is_first { 0 } else { AROUND };
        let after = if is_last { 0 } else { AROUND };
        let skipped = lines.len().saturating_sub(before + after);
        if skipped < 2 {
            self.same(lines);
            return;
        }
        self.same(lines.get(..before).unwrap_or_default());
        self.shown.push(html! { p.skipped { (skipped) " unchanged lines" } });
        self.same(lines.get(before + skipped..).unwrap_or_default());
    }

    fn same(&mut self, lines: &[ProseLine]) {
        for line in lines {
            let kind = class(line).map_or("same".to_owned(), |kind| format!("same {kind}"));
            self.shown.push(html! { p class=(kind) { (line.text) } });
        }
    }

    fn delete(&mut self, lines: &[ProseLine]) {
        for line in lines {
            self.deleted += words(&line.text);
            self.shown.push(html! { p class=[class(line)] { del { (line.text) } } });
        }
    }

    fn insert(&mut self, lines: &[ProseLine]) {
        for line in lines {
            self.inserted += words(&line.text);
            self.shown.push(html! { p class=[class(line)] { ins { (line.text) } } });
        }
    }

    fn replace(&mut self, old: &[ProseLine], new: &[ProseLine]) {
        // Equally many old and new lines are mostly reworded: each pair is compared.
        if old.len() == new.len() && old.len() > 1 {
            for (old, new) in old.iter().zip(new) {
                self.replace(from_ref(old), from_ref(new));
            }
            return;
        }
        let joined = |lines: &[ProseLine]| lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        let (before, after) = (joined(old), joined(new));
        let counts = (words(&before), words(&after));
        let few = counts.0 <= COMPARED_WORDS && counts.1 <= COMPARED_WORDS;
        let passage = (few && share_phrases(&before, &after)).then(|| Passage::of(&before, &after));
        let kind = new.first().filter(|_| new.len() == 1).and_then(class);
        if let Some(passage) = passage.filter(|passage| 200 * passage.stayed() >= ALIKE * (counts.0 + counts.1)) {
            self.reword(&passage, kind);
        } else {
            self.delete(old);
            self.insert(new);
        }
    }

    /// Adds a passage with some changed words. A single unchanged word between two changes counts as changed, since
    /// alternating marks are unreadable.
    fn reword(&mut self, passage: &Passage<'_>, kind: Option<&'static str>) {
        let mut words_shown = Vec::new();
        let (mut old, mut new) = (String::new(), String::new());
        let mut stayed = String::new();
        for part in &passage.parts {
            let (gone, come) = (passage.old[part.old.clone()].concat(), passage.new[part.new.clone()].concat());
            if part.stayed {
                stayed = come;
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
            self.deleted += words(&gone);
            self.inserted += words(&come);
            old.push_str(&gone);
            new.push_str(&come);
        }
        words_shown.push(replaced(&mut old, &mut new));
        self.shown.push(html! { p class=[kind] { @for words in words_shown { (words) } (stayed) } });
    }
}

/// Marks replaced words, and clears both arguments.
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
    use crate::report::prose::lines;

    fn changes(old: &str, new: &str) -> (String, u64, u64) {
        match difference(&lines(old), &lines(new)) {
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
        let same = "- a line\n".repeat(9);
        let (shown, inserted, deleted) = changes(&format!("{same}- old words\n{same}"), &format!("{same}{same}"));
        assert_eq!((inserted, deleted), (0, 2));
        assert_eq!(shown.matches("class=\"same item\"").count(), 2, "{shown}");
        assert_eq!(shown.matches("8 unchanged lines").count(), 2, "{shown}");
        assert!(shown.contains("<p class=\"item\"><del>• old words</del></p>"), "{shown}");
    }

    #[test]
    fn what_a_reader_sees_is_compared_and_not_its_markdown() {
        assert!(matches!(
            difference(&lines("**One** store\nis `enough`."), &lines("*One* store is enough.")),
            Difference::None
        ));
        let old = "## The store\n\nOne **shared** store keeps all of the counters.\n";
        let new = "## The stores\n\nTwo **shared** stores keep all of the counters.\n";
        let (shown, ..) = changes(old, new);
        assert!(!shown.contains(['*', '#']), "{shown}");
        assert!(
            shown.contains("<p class=\"heading\">") && shown.contains("<del>One shared store keeps</del>"),
            "{shown}"
        );
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
        let compared = |old: &str, new: &str| difference(&lines(old), &lines(new));
        assert!(matches!(compared(&"a ".repeat(60_000), "b"), Difference::TooLong));
        assert!(matches!(compared("b", &"a\n\n".repeat(2_000)), Difference::TooLong));
        assert!(matches!(compared("b", "b"), Difference::None));
    }

    #[test]
    fn texts_are_escaped_whatever_happened_to_them() {
        let (shown, ..) = changes("a <i>b</i> c & d e f\nkeep <u>\nx <b>\n", "a <i>B</i> c & d e f\nkeep <u>\n");
        assert!(!shown.contains("<i>") && !shown.contains("<b>") && !shown.contains("<u>"), "{shown}");
    }
}
