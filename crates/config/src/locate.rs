//! Finds the position of a value in a text by its path.

use std::fmt;

use dialectic_base::key_path::KeyPath;

/// A position in a text; both parts count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Location {
    /// The position at the end of a text.
    pub(super) fn after(text: &str) -> Self {
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self { line: text.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The subject of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemSubject {
    /// A key of the file.
    Key {
        /// The path.
        path: KeyPath,
        /// The position of the key, or of its nearest container.
        location: Option<Location>,
    },
    /// An environment variable.
    Variable(String),
}

impl fmt::Display for ProblemSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { path, location: Some(location) } => write!(f, "{path} ({location})"),
            Self::Key { path, location: None } => write!(f, "{path}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// The offsets of the values of a JSON text.
#[derive(Debug, Clone, Default)]
pub(super) struct Offsets(Vec<(KeyPath, usize)>);

impl Offsets {
    /// Finds all values of a valid JSON text; may find none in others.
    pub(super) fn of(text: &str) -> Self {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, found: Vec::new() };
        let _ = scanner.value(&KeyPath::root());
        Self(scanner.found)
    }

    /// The position of the value at `path`; if absent, of its nearest container.
    pub(super) fn locate(&self, text: &str, path: &KeyPath) -> Option<Location> {
        let contains = |(known, _): &&(KeyPath, usize)| path.0.starts_with(&known.0);
        // The first of the nearest ones.
        let (_, offset) = self.0.iter().rev().filter(contains).max_by_key(|(known, _)| known.0.len())?;
        text.get(..*offset).map(Location::after)
    }

    /// Whether a key occurs more than once.
    pub(super) fn is_repeated(&self, path: &KeyPath) -> bool {
        self.0.iter().filter(|(known, _)| known == path).count() > 1
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    found: Vec<(KeyPath, usize)>,
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
        self.found.push((path.clone(), self.at));
        match first {
            b'{' => {
                self.at += 1;
                if self.peek()? == b'}' {
                    self.at += 1;
                    return Some(());
                }
                loop {
                    self.peek()?;
                    let start = self.at;
                    self.string()?;
                    let key: String = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
                    self.peek()?;
                    self.at += 1;
                    self.value(&path.key(&key))?;
                    if !self.goes_on()? {
                        return Some(());
                    }
                }
            }
            b'[' => {
                self.at += 1;
                if self.peek()? == b']' {
                    self.at += 1;
                    return Some(());
                }
                for index in 0.. {
                    self.value(&path.index(index))?;
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

    const TEXT: &str = "{\n  \"x\": {\"k\": [1, {\"q\\\"\": \"ä,]}\", \"z\": 5}, [[]], true]},\n  \"agents\": [\n    {\"id\": \"ö\"}, \"b\"]\n}";

    fn at(path: &KeyPath) -> (usize, usize) {
        let location = Offsets::of(TEXT).locate(TEXT, path).unwrap();
        (location.line, location.column)
    }

    #[test]
    fn values_are_found_past_strings_and_nesting() {
        let x = KeyPath::root().key("x").key("k");
        assert_eq!(at(&x.index(1).key("z")), (2, 39));
        assert_eq!(at(&x.index(1).key("q\"")), (2, 26));
        assert_eq!(at(&x.index(3)), (2, 49));
        let agents = KeyPath::root().key("agents");
        assert_eq!(at(&agents.index(0).key("id")), (4, 12));
        assert_eq!(at(&agents.index(1)), (4, 18));
    }

    #[test]
    fn an_absent_value_is_placed_at_its_container() {
        let agent = KeyPath::root().key("agents").index(0);
        assert_eq!(at(&agent.key("name")), (4, 5));
        assert_eq!(at(&KeyPath::root().key("judge").key("id")), (1, 1));
        assert_eq!(at(&KeyPath::root().key("agents").index(7)), (3, 13));
    }
}
