//! Text of models, servers and files on its way to a terminal: it may say what it likes, but not steer.

use std::borrow::Cow;

use crate::markdown::is_bidi_control;

/// `text` without what could steer a terminal or reorder what it shows. Newlines and tabs stay, `\r\n` becomes `\n`,
/// every other control character (ESC and the C1 range among them) is dropped. Characters that change the writing
/// direction become U+FFFD, so that it shows that they were there.
#[must_use]
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        _ if is_bidi_control(c) => Some(char::REPLACEMENT_CHARACTER),
        _ if is_unsafe(c) => None,
        _ => Some(c),
    });
    Cow::Owned(kept.collect())
}

/// [`sanitize`]d and on one line: every run of white space becomes one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    let text = sanitize(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_bidi_control(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(sanitize("a\u{1b}[31mred\u{1b}]0;title\u{7}b"), "a[31mred]0;titleb");
        assert_eq!(sanitize("c1 \u{9b}2J \u{90}q \u{85} del \u{7f} bs \u{8}"), "c1 2J q  del  bs ");
        assert_eq!(sanitize("one\r\ntwo\rthree\tx"), "one\ntwothree\tx");
    }

    #[test]
    fn changes_of_direction_are_shown() {
        assert_eq!(sanitize("a\u{202e}b\u{2066}c\u{200f}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn other_text_is_left_alone() {
        let text = "Zürich → 東京 👩‍💻\n\tok";
        assert!(matches!(sanitize(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn one_line_has_no_breaks() {
        assert_eq!(one_line("  a\n\n\tb\u{2028}c \u{1b}[0m "), "a b c [0m");
    }
}
