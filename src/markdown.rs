//! Markdown around text that is not ours: fences and cells that no content can break out of.

use std::iter::successors;

/// The fence for `content`: backticks, at least three and one more than any run of them inside.
#[must_use]
pub fn fence(content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// `content` between fences, with `info` after the opening one. The content stands on lines of its own, byte for byte.
#[must_use]
pub fn fenced(info: &str, content: &str) -> String {
    let fence = fence(content);
    format!("{fence}{info}\n{content}\n{fence}")
}

/// `text` as a table cell: on one line, with `|` escaped.
#[must_use]
pub fn cell(text: &str) -> String {
    text.replace(['\r', '\n'], " ").replace('|', "\\|")
}

/// The first `chars` characters of `text`.
#[must_use]
pub fn truncate(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// The label of the `index`-th anonymous agent: A to Z, then AA, AB, and so on.
#[must_use]
pub fn letters(index: usize) -> String {
    const ALPHABET: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digits: Vec<u8> =
        successors(Some(index), |&rest| (rest / 26).checked_sub(1)).map(|rest| ALPHABET[rest % 26]).collect();
    digits.into_iter().rev().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fenced("text", "x ````` y"), "``````text\nx ````` y\n``````");
    }

    #[test]
    fn cells_stay_in_their_column() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate("häuser", 2), "hä");
        assert_eq!(truncate("ab", 5), "ab");
    }

    #[test]
    fn labels_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(letters), ["A", "Z", "AA", "AB", "BA"]);
    }
}
