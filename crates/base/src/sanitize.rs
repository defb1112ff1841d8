//! Cleans text from models, servers and files for a terminal or a page. Such text can contain anything, but must not
//! control the output.
//!
//! Each output cleans what it shows: `cli::terminal` cleans results and notices, `display` the live view, and
//! `report::html` the page. Clippy forbids writing to standard output or standard error anywhere else.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::markdown::{is_bidi_control, single_spaced};

/// Removes everything that could control a terminal or reorder the output. Keeps newlines and tabs, turns `\r\n` into
/// `\n`, drops all other control characters, and replaces direction controls with U+FFFD.
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

pub fn one_line(text: &str) -> String {
    single_spaced(&sanitize(text))
}

/// Escapes characters in `json` that could control a terminal (the C1 range), reorder text, or end a line for some
/// readers (U+0085, U+2028, U+2029). JSON contains such characters only within strings, where an escape is equivalent.
pub fn escaped_json(json: String) -> String {
    let needs_escape = |c: char| is_unsafe(c) || matches!(c, '\u{2028}' | '\u{2029}');
    if !json.contains(needs_escape) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if needs_escape(c) {
            // Every such character is in the Basic Multilingual Plane, so four digits suffice. Writing to a string
            // cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
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
    fn json_is_the_same_value_and_steers_nothing() {
        let text = "esc \u{1b}[2J c1 \u{9b} del \u{7f} bidi \u{202e} ls \u{2028} é";
        let json = escaped_json(serde_json::to_string_pretty(&[text]).unwrap());
        assert!(!json.contains(|c: char| is_unsafe(c) || c == '\u{2028}') && json.contains('é'), "{json}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
    }

    #[test]
    fn one_line_has_no_breaks() {
        assert_eq!(one_line("  a\n\n\tb\u{2028}c \u{1b}[0m "), "a b c [0m");
    }
}
