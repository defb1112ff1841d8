//! Repairs malformed text, and reads JSON with syntax that JSON does not allow.

use std::borrow::Cow;

use memchr::memmem;
use serde::de::DeserializeOwned;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The replacement character as a JSON escape.
const REPLACEMENT: &str = "\\ufffd";

/// A body as readable JSON: without byte order mark, invalid UTF-8 and lone surrogates.
pub(super) fn readable(body: &[u8]) -> Cow<'_, str> {
    // Checking for UTF-8 is faster than converting.
    if let Ok(text) = std::str::from_utf8(body) {
        return well_formed(text.trim_start_matches(BYTE_ORDER_MARK));
    }
    let text = String::from_utf8_lossy(body);
    Cow::Owned(well_formed(text.trim_start_matches(BYTE_ORDER_MARK)).into_owned())
}

/// `json` as a value. Raw control characters in strings, and figures that are not numbers, count as they are meant.
///
/// # Errors
/// It is not JSON even so.
pub(super) fn parsed<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match tolerable(json) {
        Some(json) => serde_json::from_str(&json),
        None => Err(error),
    })
}

/// `json` with its raw control characters escaped and its `NaN` and `Infinity` replaced by `null`, if it has any.
pub(super) fn tolerable(json: &str) -> Option<String> {
    let (mut mended, mut is_changed) = (String::with_capacity(json.len()), false);
    let (mut in_string, mut is_escaped) = (false, false);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let figure = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !in_string && rest.starts_with(word));
        let is_raw = in_string && c < ' ';
        is_changed |= figure.is_some() || is_raw;
        match figure {
            Some(_) => mended.push_str("null"),
            None if is_raw => {
                mended.push_str(if is_escaped { "u00" } else { "\\u00" });
                mended.extend(
                    [u32::from(c) / 16, u32::from(c) % 16].into_iter().filter_map(|it| char::from_digit(it, 16)),
                );
            }
            None => mended.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
        rest = &rest[figure.map_or(c.len_utf8(), str::len)..];
    }
    is_changed.then_some(mended)
}

/// `json` without escapes of lone surrogates.
fn well_formed(json: &str) -> Cow<'_, str> {
    Mender::default().mend(json)
}

/// Repairs the pieces of one text. A server may cut a text between the halves of a surrogate pair.
#[derive(Default)]
pub(super) struct Mender {
    /// The escaped first half at the end of the last piece.
    first_half: Option<String>,
}

/// The kind of a surrogate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

impl Mender {
    /// `json` without escapes of lone surrogates, including one at the end of the last piece.
    pub(super) fn mend<'a>(&mut self, json: &'a str) -> Cow<'a, str> {
        let has = |escape: &[u8]| memmem::find(json.as_bytes(), escape).is_some();
        if !has(b"\\ud") && !has(b"\\uD") {
            return Cow::Borrowed(json);
        }
        let mut mended = String::new();
        // Everything before `taken` was copied.
        let (mut taken, mut at) = (0, 0);
        while let Some(backslash) = json[at..].find('\\').map(|found| at + found) {
            let Some(half) = surrogate_at(json, backslash) else {
                // The second character of an escape begins nothing, not even after a backslash.
                at = json.ceil_char_boundary((backslash + 2).min(json.len()));
                continue;
            };
            let end = backslash + REPLACEMENT.len();
            if half == Half::First && surrogate_at(json, end) == Some(Half::Second) {
                at = end + REPLACEMENT.len();
                continue;
            }
            mended.push_str(&json[taken..backslash]);
            match half {
                Half::First if json[end..].starts_with('"') => self.first_half = Some(json[backslash..end].to_owned()),
                Half::Second if json[..backslash].ends_with('"') && self.first_half.is_some() => {
                    mended.extend(self.first_half.take());
                    mended.push_str(&json[backslash..end]);
                }
                Half::First | Half::Second => mended.push_str(REPLACEMENT),
            }
            (taken, at) = (end, end);
        }
        if taken == 0 {
            return Cow::Borrowed(json);
        }
        mended.push_str(&json[taken..]);
        Cow::Owned(mended)
    }
}

/// The escaped surrogate at `at`, if any.
fn surrogate_at(json: &str, at: usize) -> Option<Half> {
    let digits = json.get(at..at + REPLACEMENT.len())?.strip_prefix("\\u")?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of(json: &str) -> String {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_is_no_character_is_replaced() {
        for (json, text) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\udc00""#, "\u{fffd}"),
            (r#""\uD83D\uDE00 \ud83d!""#, "😀 \u{fffd}!"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud800""#, "\\ud800"),
            (r#""\\\ud800.""#, "\\\u{fffd}."),
            (r#""ü\u00fc""#, "üü"),
        ] {
            assert_eq!(text_of(&well_formed(json)), text, "{json}");
        }
        assert_eq!(readable(b"\xef\xbb\xbf{}"), "{}");
        assert_eq!(text_of(&readable(b"\"a\xff\xc3\"")), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_pair_that_was_cut_is_one_again() {
        let mut mender = Mender::default();
        let pieces = [r#""a\ud83d""#, r#""\ude00b\ud83d""#, r#""\ude01""#].map(|piece| text_of(&mender.mend(piece)));
        assert_eq!(pieces.concat(), "a😀b😁");
    }

    proptest! {
        #[test]
        fn whatever_is_json_stays_readable(text in "[a\\\\\"\u{1f600}ud8]{0,30}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(text_of(&well_formed(&json)), text);
        }

        #[test]
        fn no_escapes_break_it(escapes in prop::collection::vec(prop::sample::select(vec![
            "\\ud83d", "\\ude00", "\\\\", "a", "\\n", "\\u00e4", "ä",
        ]), 0..9)) {
            let json = format!("\"{}\"", escapes.concat());
            prop_assert!(serde_json::from_str::<String>(&well_formed(&json)).is_ok());
        }
    }
}
