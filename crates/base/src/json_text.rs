//! Where the values of a JSON text are.

use std::ops::Range;

use crate::key_path::KeyPath;

/// The values of a JSON text, each with its path and its bytes.
#[derive(Debug, Clone, Default)]
pub struct JsonText(Vec<(KeyPath, Range<usize>)>);

impl JsonText {
    /// Finds all values of a valid JSON text; may find none in others.
    pub fn of(bytes: &[u8]) -> Self {
        let mut scanner = Scanner { bytes, at: 0, found: Vec::new() };
        let _ = scanner.value(&KeyPath::root());
        Self(scanner.found)
    }

    /// The first byte of the value at `path`; if absent, of its nearest container.
    pub fn start(&self, path: &KeyPath) -> Option<usize> {
        let contains = |(known, _): &&(KeyPath, Range<usize>)| path.0.starts_with(&known.0);
        // The first of the nearest ones.
        let (_, bytes) = self.0.iter().rev().filter(contains).max_by_key(|(known, _)| known.0.len())?;
        Some(bytes.start)
    }

    /// The innermost value of which a reader has read the byte before `offset`, or that starts there.
    pub fn innermost(&self, offset: usize) -> Option<&KeyPath> {
        let is_in = |bytes: &Range<usize>| bytes.start == offset || (bytes.start < offset && offset <= bytes.end);
        self.0.iter().rfind(|(_, bytes)| is_in(bytes)).map(|(path, _)| path)
    }

    /// Whether a key occurs more than once.
    pub fn is_repeated(&self, path: &KeyPath) -> bool {
        self.0.iter().filter(|(known, _)| known == path).count() > 1
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    found: Vec<(KeyPath, Range<usize>)>,
}

impl Scanner<'_> {
    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.bytes[self.at])
    }

    /// Whether a list continues after an element.
    fn goes_on(&mut self) -> Option<bool> {
        let goes_on = self.peek()? == b',';
        self.at += 1;
        Some(goes_on)
    }

    fn value(&mut self, path: &KeyPath) -> Option<()> {
        let first = self.peek()?;
        let index = self.found.len();
        self.found.push((path.clone(), self.at..self.bytes.len()));
        self.rest(first, path)?;
        self.found[index].1.end = self.at;
        Some(())
    }

    fn rest(&mut self, first: u8, path: &KeyPath) -> Option<()> {
        match first {
            b'{' | b'[' => {
                self.at += 1;
                if matches!(self.peek()?, b'}' | b']') {
                    self.at += 1;
                    return Some(());
                }
                for index in 0.. {
                    let below = if first == b'{' { path.key(&self.key()?) } else { path.index(index) };
                    self.value(&below)?;
                    if !self.goes_on()? {
                        break;
                    }
                }
                Some(())
            }
            b'"' => self.string(),
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                self.at += self.bytes[self.at..].iter().position(is_end).unwrap_or(self.bytes.len() - self.at);
                Some(())
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Option<String> {
        self.peek()?;
        let start = self.at;
        self.string()?;
        let key = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
        self.peek()?;
        self.at += 1;
        Some(key)
    }

    fn string(&mut self) -> Option<()> {
        loop {
            self.at += 1;
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_a_reader_stopped_at_is_found() {
        let text = br#"{"a": {"b": [1, "x", {}]}, "c": [ true ]}"#;
        let values = JsonText::of(text);
        let path = |offset: usize| values.innermost(offset).unwrap().to_string();
        let end_of = |part: &str| {
            let at = std::str::from_utf8(text).unwrap().find(part).unwrap();
            path(at + part.len())
        };
        assert_eq!(end_of("1"), "a.b[0]");
        assert_eq!(end_of("\"x\""), "a.b[1]");
        assert_eq!(end_of("{}"), "a.b[2]");
        // A container at its closing bracket, and at its opening one.
        assert_eq!(end_of("{}]"), "a.b");
        assert_eq!(end_of("\"b\": "), "a.b");
        assert_eq!(end_of("]}"), "a");
        assert_eq!(path(text.len()), "the top level");
    }
}
