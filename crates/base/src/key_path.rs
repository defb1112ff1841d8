//! Paths of values in a JSON document, and their positions in its text.

use std::fmt;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    Key(String),
    Index(usize),
}

/// The path from the top of a document to a value, shown as `agents[1].temperature`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyPath(pub Vec<Segment>);

impl KeyPath {
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a path such as `agents[1].temperature` or `prices["gpt-4.1"].inputPerMTok`. `None` if it is malformed or
    /// empty.
    pub fn parse(text: &str) -> Option<Self> {
        let mut path = Self::root();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(bracket) = rest.strip_prefix('[') {
                if bracket.starts_with('"') {
                    let mut strings = serde_json::Deserializer::from_str(bracket).into_iter::<String>();
                    let key = strings.next()?.ok()?;
                    path = path.key(&key);
                    rest = bracket.get(strings.byte_offset()..)?.strip_prefix(']')?;
                } else {
                    let (index, after) = bracket.split_once(']')?;
                    path = path.index(index.parse().ok()?);
                    rest = after;
                }
            } else {
                let name = if path.0.is_empty() { rest } else { rest.strip_prefix('.')? };
                let (key, after) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
                if key.is_empty() {
                    return None;
                }
                path = path.key(key);
                rest = after;
            }
        }
        (!path.0.is_empty()).then_some(path)
    }

    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    fn then(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    pub fn split_key(&self) -> Option<(Self, &str)> {
        match self.0.split_last() {
            Some((Segment::Key(key), parent)) => Some((Self(parent.to_vec()), key)),
            _ => None,
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the top level");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if !is_plain(key) => write!(f, "[{key:?}]")?,
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'))
}

/// The values of a JSON text, with their paths and byte ranges. Each value comes before the values inside it.
#[derive(Debug, Clone, Default)]
pub struct JsonText(Vec<(KeyPath, Range<usize>)>);

impl JsonText {
    /// Finds the values of a JSON text, or only some of them if the text is invalid.
    pub fn of(bytes: &[u8]) -> Self {
        let mut scanner = Scanner { bytes, at: 0, found: Vec::new() };
        let _ = scanner.value(&KeyPath::root());
        Self(scanner.found)
    }

    /// The offset of the value at `path`, or of its nearest existing parent if there is no such value.
    pub fn start(&self, path: &KeyPath) -> Option<usize> {
        let contains = |(known, _): &&(KeyPath, Range<usize>)| path.0.starts_with(&known.0);
        // `max_by_key` returns the last of equal elements; `rev` makes that the first in the text.
        let (_, bytes) = self.0.iter().rev().filter(contains).max_by_key(|(known, _)| known.0.len())?;
        Some(bytes.start)
    }

    /// The innermost value that starts at `offset` or contains the byte before it.
    pub fn innermost(&self, offset: usize) -> Option<&KeyPath> {
        let is_in = |bytes: &Range<usize>| bytes.start == offset || (bytes.start < offset && offset <= bytes.end);
        self.0.iter().rfind(|(_, bytes)| is_in(bytes)).map(|(path, _)| path)
    }

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
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.bytes[self.at])
    }

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
    fn a_path_is_read_as_it_is_shown() {
        for text in ["debate.rounds", "agents[1].temperature", "prices[\"gpt-4.1\"].inputPerMTok", "a[0][12].b"] {
            assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(KeyPath::root().key("agents").index(1).key("org/m").to_string(), "agents[1].org/m");
        assert_eq!(KeyPath::parse("agents.agent-kiss.model").unwrap().0.len(), 3);
        for text in ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "a[1]b", "a[\"x\"", "a[\"x]"] {
            assert_eq!(KeyPath::parse(text), None, "{text}");
        }
    }

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
        // At the closing bracket of a container, and at its opening bracket.
        assert_eq!(end_of("{}]"), "a.b");
        assert_eq!(end_of("\"b\": "), "a.b");
        assert_eq!(end_of("]}"), "a");
        assert_eq!(path(text.len()), "the top level");
    }
}
