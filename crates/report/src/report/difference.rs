//! Differences of two texts.

use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// A part of two sequences, equal or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffPart {
    /// The range in the old sequence; empty if inserted.
    pub(super) old: Range<usize>,
    /// The range in the new sequence; empty if deleted.
    pub(super) new: Range<usize>,
    pub(super) stayed: bool,
}

/// The parts of two sequences in order. Two changed parts never follow each other.
pub(super) fn parts<T: Eq + Hash>(old: impl IntoIterator<Item = T>, new: impl IntoIterator<Item = T>) -> Vec<DiffPart> {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(64) };
    input.update_before(old.into_iter());
    input.update_after(new.into_iter());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let mut parts = Vec::new();
    let (mut old, mut new) = (0, 0);
    let mut stay = |parts: &mut Vec<DiffPart>, until: [usize; 2], next: [usize; 2]| {
        if old < until[0] {
            parts.push(DiffPart { old: old..until[0], new: new..until[1], stayed: true });
        }
        [old, new] = next;
    };
    for hunk in diff.hunks() {
        let [before, after] = [hunk.before, hunk.after].map(|range| range.start as usize..range.end as usize);
        stay(&mut parts, [before.start, after.start], [before.end, after.end]);
        parts.push(DiffPart { old: before, new: after, stayed: false });
    }
    let ends = [input.before.len(), input.after.len()];
    stay(&mut parts, ends, ends);
    parts
}

/// The words of a text and the separators between them.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut left = text;
    while let Some(first) = left.chars().next() {
        let is_other = |c: char| c.is_whitespace() != first.is_whitespace();
        let word;
        (word, left) = left.split_at(left.find(is_other).unwrap_or(left.len()));
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_changed_stands_between_what_stayed() {
        let (old, new) = (words("one  two three"), words("one  2 three four"));
        assert_eq!(old, ["one", "  ", "two", " ", "three"]);
        let shown: Vec<_> = parts(old.clone(), new.clone())
            .into_iter()
            .map(|part| (part.stayed, old[part.old].concat(), new[part.new].concat()))
            .collect();
        let part = |stayed, old: &str, new: &str| (stayed, old.to_owned(), new.to_owned());
        let expected = [
            part(true, "one  ", "one  "),
            part(false, "two", "2"),
            part(true, " three", " three"),
            part(false, "", " four"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(parts::<&str>([], []), []);
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(old in "[ab \n]{0,40}", new in "[ab \n]{0,40}") {
            let (old_words, new_words) = (words(&old), words(&new));
            let parts = parts(old_words.clone(), new_words.clone());
            let join = |words: &[&str], range: fn(&DiffPart) -> Range<usize>| -> String {
                parts.iter().map(|part| words[range(part)].concat()).collect()
            };
            prop_assert_eq!(join(&old_words, |part| part.old.clone()), old.as_str());
            prop_assert_eq!(join(&new_words, |part| part.new.clone()), new.as_str());
            for part in parts.iter().filter(|part| part.stayed) {
                prop_assert_eq!(&old_words[part.old.clone()], &new_words[part.new.clone()]);
            }
        }
    }
}
