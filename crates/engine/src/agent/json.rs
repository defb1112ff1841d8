//! Reads JSON from model output, even if it is fenced, surrounded by prose, incomplete or malformed.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use dialectic_base::call::Cut;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("it contains no JSON object")]
    NoObject,
    #[error("{error}; the answer was cut off {}", cut.how())]
    Cut { error: String, cut: Cut },
    #[error("{error}, and asking again failed: {message}")]
    NoSecondChance {
        error: String,
        /// Why the second request failed.
        message: String,
    },
    #[error("it has no assessment")]
    NoAssessment,
    #[error("it contains no solution")]
    NoSolution,
    /// The answer does not have the requested form.
    #[error("{message}")]
    Unfit { message: String },
}

impl AnswerError {
    pub fn of_answer(self, cut: Option<Cut>) -> Self {
        match cut {
            Some(cut) => Self::Cut { error: self.to_string(), cut },
            None => self,
        }
    }
}

pub(super) fn unfit(message: impl Into<String>) -> AnswerError {
    AnswerError::Unfit { message: message.into() }
}

/// Returns the first JSON object in `text` that is a `T`.
///
/// # Errors
///
/// Returns an error if no object matches. The message explains why the longest object does not, so that the model can
/// be asked again.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
    read_object(text, |object| {
        let mut deserializer = serde_json::Deserializer::from_str(object);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| match error.path().to_string() {
            path if path == "." => error.inner().to_string(),
            path => format!("`{path}`: {}", error.inner()),
        })
    })
}

/// Like [`read_json`], with a custom parser: `read` returns why it rejects an object.
pub(super) fn read_object<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, AnswerError> {
    let mut closest: Option<(usize, AnswerError)> = None;
    for candidate in objects(text) {
        match read(candidate) {
            Ok(value) => return Ok(value),
            Err(_) if let Some(value) = whole(candidate).and_then(|mended| read(&mended).ok()) => return Ok(value),
            Err(message) if closest.as_ref().is_none_or(|(length, _)| candidate.len() > *length) => {
                closest = Some((candidate.len(), unfit(message)));
            }
            Err(_) => {}
        }
    }
    Err(closest.map_or(AnswerError::NoObject, |(_, error)| error))
}

/// Returns the parts of `text` that may be objects. Each begins with `{` and ends at its closing brace. If the brace is
/// missing, the part extends to the end of `text`, so that the error can report a cut answer.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find('{')?;
        let from = &rest[start..];
        let end = object_length(from);
        // The next brace may begin an object even if this one did not.
        rest = if end == from.len() { &from[1..] } else { &from[end..] };
        Some(&from[..end])
    })
    .take(MOST_CANDIDATES)
}

/// The length of the JSON object at the beginning of `text`; the whole length if the object is not closed.
pub(super) fn object_length(text: &str) -> usize {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    let (mut last, mut next) = (b'{', 0);
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(next) {
        let at = next;
        next += 1;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quote.is_some() => escaped = true,
            b'"' | b'\'' if quote == Some(byte) => quote = None,
            _ if quote.is_some() => {}
            b'"' => quote = Some(byte),
            // A single quote after any other character is an apostrophe.
            b'\'' if b"{[,:".contains(&last) => quote = Some(byte),
            b'/' => next += comment_length(text, at).unwrap_or(1) - 1,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() && next == at + 1 {
            last = byte;
        }
    }
    text.len()
}

/// Limits how many braces are tried as the start of an object, because trying all of them takes quadratic time.
pub(super) const MOST_CANDIDATES: usize = 64;

/// Unlike [`whole`], also accepts an incomplete object, and returns as much of it as possible.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    if let Ok(whole) = serde_json::from_str(text) {
        return Some(whole);
    }
    let Mended { closed, safe, .. } = mended(text);
    [closed, safe].iter().find_map(|text| serde_json::from_str(text).ok())
}

/// The object at the beginning of `text`, if it is complete, without comments and with double quotes around all keys
/// and strings.
pub(super) fn whole(text: &str) -> Option<String> {
    let Mended { closed, is_whole, .. } = mended(text);
    is_whole.then_some(closed)
}

/// The length of the comment that begins at `at`; `None` if there is no comment. The `//` of a URL does not begin a
/// comment.
pub(super) fn comment_length(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if text[..at].ends_with(':') {
        return None;
    }
    let (open, close) = [("//", "\n"), ("/*", "*/")].into_iter().find(|(open, _)| rest.starts_with(open))?;
    Some(rest[open.len()..].find(close).map_or(rest.len(), |length| open.len() + length + close.len()))
}

struct Mended {
    /// The text with its open brackets and an unfinished string value closed. The same as `safe` if the text does not
    /// end in a string value.
    closed: String,
    /// The text up to the last value that is certainly complete, with its brackets closed.
    safe: String,
    is_whole: bool,
}

#[derive(Default)]
struct JsonReader {
    out: String,
    open: Vec<char>,
    /// Whether the current string is a value rather than a key; `None` outside strings.
    string: Option<bool>,
    /// The opening quote; `None` for an unquoted key.
    quote: Option<char>,
    escaped: bool,
    /// The last character outside strings, ignoring whitespace.
    last: Option<char>,
    /// The length of the part of the output that is certainly complete, and the brackets that are still open after that
    /// part.
    safe: (usize, Vec<char>),
}

/// Escapes control characters in strings, drops comments and trailing commas, quotes keys, replaces single quotes, and
/// closes open strings and brackets. Omits a number at the end, which may be incomplete: `8` of `82`.
fn mended(text: &str) -> Mended {
    let mut reader = JsonReader::default();
    let mut chars = text.char_indices();
    let mut is_whole = false;
    while let Some((at, c)) = chars.next() {
        if reader.is_bare_key() && !is_bare(c) {
            reader.ends_key();
        }
        if reader.string.is_some() {
            reader.in_string(c);
        } else if let Some(length) = comment_length(text, at) {
            let end = at + length;
            while chars.offset() < end {
                chars.next();
            }
        } else if reader.between(c) {
            is_whole = true;
            break;
        }
    }
    Mended { is_whole, ..reader.finish() }
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

impl JsonReader {
    fn is_bare_key(&self) -> bool {
        self.string == Some(false) && self.quote.is_none()
    }

    fn ends_key(&mut self) {
        self.out.push('"');
        (self.string, self.last) = (None, Some('"'));
    }

    fn in_string(&mut self, c: char) {
        match c {
            // JSON has no escape `\'`.
            '\'' if self.escaped => {
                self.escaped = false;
                self.out.pop();
                self.out.push(c);
            }
            _ if self.escaped => {
                self.escaped = false;
                self.out.push(c);
            }
            '\\' => {
                self.escaped = true;
                self.out.push(c);
            }
            '"' if self.quote == Some('\'') => self.out.push_str("\\\""),
            '"' | '\'' if self.quote == Some(c) => {
                self.out.push('"');
                let is_value = self.string.take() == Some(true);
                self.last = Some('"');
                if is_value {
                    self.all_is_complete();
                }
            }
            '\n' => self.out.push_str("\\n"),
            '\t' => self.out.push_str("\\t"),
            '\r' => {}
            c if c.is_control() => self.out.push(' '),
            c => self.out.push(c),
        }
    }

    /// Reads the character `c`, which is outside strings. Returns whether `c` closes the object.
    fn between(&mut self, c: char) -> bool {
        match c {
            '"' => self.begin_string(Some(c)),
            '\'' if matches!(self.last, Some('{' | '[' | ',' | ':')) => self.begin_string(Some(c)),
            c if is_bare(c) && self.open.last() == Some(&'{') && matches!(self.last, Some('{' | ',')) => {
                self.begin_string(None);
                self.out.push(c);
            }
            '{' | '[' => {
                self.open.push(c);
                self.out.push(c);
                self.all_is_complete();
            }
            '}' | ']' => {
                let end = self.out.trim_end().trim_end_matches(',').len();
                self.out.truncate(end);
                self.open.pop();
                self.out.push(c);
                self.all_is_complete();
                if self.open.is_empty() {
                    return true;
                }
            }
            ',' => {
                self.all_is_complete();
                self.out.push(c);
            }
            c => self.out.push(c),
        }
        if !c.is_whitespace() {
            self.last = Some(c);
        }
        false
    }

    fn begin_string(&mut self, quote: Option<char>) {
        let in_list = self.open.last() == Some(&'[');
        (self.string, self.quote) = (Some(in_list || self.last == Some(':')), quote);
        self.out.push('"');
    }

    fn all_is_complete(&mut self) {
        self.safe = (self.out.len(), self.open.clone());
    }

    fn finish(mut self) -> Mended {
        let closers =
            |open: &[char]| -> String { open.iter().rev().map(|open| if *open == '{' { '}' } else { ']' }).collect() };
        let (end, open) = &self.safe;
        let safe = format!("{}{}", &self.out[..*end], closers(open));
        let closed = match self.string {
            Some(true) => {
                self.out.truncate(without_half_escape(&self.out, self.escaped));
                format!("{}\"{}", self.out, closers(&self.open))
            }
            Some(false) | None => safe.clone(),
        };
        Mended { closed, safe, is_whole: false }
    }
}

/// The length of `text`, which ends within a string, without a partial escape such as `\u00`.
fn without_half_escape(text: &str, escaped: bool) -> usize {
    if escaped {
        return text.len() - 1;
    }
    let digits = text.bytes().rev().take(3).take_while(u8::is_ascii_hexdigit).count();
    let half = (0..=digits).find_map(|digits| text[..text.len() - digits].strip_suffix("\\u"));
    half.map_or(text.len(), str::len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sampled {
        confidence: f64,
        #[serde(default)]
        text: String,
    }

    fn read(text: &str) -> Result<Sampled, AnswerError> {
        read_json(text)
    }

    #[test]
    fn objects_are_found_in_whatever_surrounds_them() {
        for text in [
            r#"{"confidence": 82}"#,
            "```json\n{\"confidence\": 82}\n```",
            "Sure! Here it is: {\"confidence\": 82} - I hope it helps {really}.",
            "A set {1, 2} first. {\"confidence\": 82}",
            "{broken {\"confidence\": 82}",
            "{confidence: 82, // it's \"high\" }\n}",
            "{/* {1} */ 'confidence': 82, text: 'a \"b\"',}",
        ] {
            assert_eq!(read(text).map(|answer| answer.confidence), Ok(82.0), "{text}");
        }
    }

    #[test]
    fn braces_and_fences_inside_strings_are_text() {
        let text = r#"{"text": "use ```{ \"a\": 1 }``` or }", "confidence": 7}"#;
        assert_eq!(read(text).unwrap().text, "use ```{ \"a\": 1 }``` or }");
    }

    #[test]
    fn what_does_not_fit_says_where() {
        assert_eq!(read("no object here"), Err(AnswerError::NoObject));
        let error = read(r#"{"confidence": "high"}"#).unwrap_err().to_string();
        assert!(error.starts_with("`confidence`: invalid type"), "{error}");
        assert!(read("{confidence: 82, text: 'cut").is_err(), "what was cut is asked for again");
        assert!(read(r#"{"confidence": 8"#).unwrap_err().to_string().contains("EOF"));
    }

    fn mended_value(text: &str) -> Value {
        object(text).map_or(Value::Null, Value::Object)
    }

    #[test]
    fn cut_json_is_read_as_far_as_it_goes() {
        for (text, expected) in [
            (r#"{"a": "one", "b": ["x", "y"#, json!({"a": "one", "b": ["x", "y"]})),
            (r#"{"a": "one", "b": ["x", "#, json!({"a": "one", "b": ["x"]})),
            (r#"{"a": "one", "confidence": 8"#, json!({"a": "one"})),
            (r#"{"a": "one", "conf"#, json!({"a": "one"})),
            (r#"{"a": "one", "b":"#, json!({"a": "one"})),
            (r#"{"a": "say \"hi\" \"#, json!({"a": "say \"hi\" "})),
            (r#"{"a": "caf\u00e"#, json!({"a": "caf"})),
            (r#"{"a": "caf\u00e9"#, json!({"a": "café"})),
            (r#"{"a": "dead beef"#, json!({"a": "dead beef"})),
            (r#"{"a": {"b": "c"#, json!({"a": {"b": "c"}})),
            (r#"{"a": "one""#, json!({"a": "one"})),
            ("{", json!({})),
        ] {
            assert_eq!(mended_value(text), expected, "{text}");
        }
    }

    #[test]
    fn small_mistakes_are_mended() {
        assert_eq!(
            mended_value("{\"a\": \"two\nlines\", \"b\": [\"x\", ], } and prose"),
            json!({"a": "two\nlines", "b": ["x"]})
        );
        assert_eq!(mended_value("no object"), Value::Null);
        for (text, expected) in [
            ("{a: 1, $b_2: ['x', \"y\"] /* c: 3 */, // d\n}", json!({"a": 1, "$b_2": ["x", "y"]})),
            (r#"{'a': 'it\'s "b"', "c": "d's"}"#, json!({"a": "it's \"b\"", "c": "d's"})),
            (r#"{"a": "http://b//c", b: true}"#, json!({"a": "http://b//c", "b": true})),
            ("{a: 'one', b: ['x', 'y", json!({"a": "one", "b": ["x", "y"]})),
            ("{a: 'one', conf", json!({"a": "one"})),
            ("{a: high}", Value::Null),
        ] {
            assert_eq!(mended_value(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_cut_where_keeps_what_was_before(texts in prop::collection::vec("\\PC{0,12}", 1..5), cut in 0_usize..400) {
            let whole = json!({"texts": texts, "confidence": 82}).to_string();
            let end = (0..=cut.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap();
            let read = object(&whole[..end]);
            prop_assert_eq!(read.is_some(), end > 0);
            // The number comes first without a fixed order, so it is complete or omitted.
            let confidence = read.as_ref().and_then(|read| read.get("confidence"));
            prop_assert!(confidence.is_none_or(|confidence| *confidence == json!(82)), "{:?}", confidence);
            let found = read.and_then(|read| read.get("texts").cloned()).unwrap_or_default();
            let found: Vec<&str> = found.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            for (found, text) in found.iter().zip(&texts) {
                prop_assert!(text.starts_with(found), "{} of {}", found, text);
            }
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,200}|[{}\\[\\]\"\\\\ua:,0-9 \\n]{0,200}") {
            let _ = (read(&text), object(&text));
        }
    }
}
