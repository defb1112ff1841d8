//! Places: where in a text the value at a path is.

use std::fmt;

use dialectic_base::key_path::{KeyPath, Segment};

/// Whether a key is a remark for readers, allowed everywhere and never read: JSON has no comments.
pub(super) fn is_remark(key: &str) -> bool {
    key == "$schema" || key.starts_with("$comment") || key.starts_with("//")
}

/// A position in a text, both counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What a problem is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A key of the file.
    Key {
        /// Its path.
        path: KeyPath,
        /// Where it, or what should contain it, is in the text.
        location: Option<Location>,
    },
    /// An environment variable.
    Variable(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { path, location: Some(location) } => write!(f, "{path} ({location})"),
            Self::Key { path, location: None } => write!(f, "{path}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// Where the value at `path` begins in a JSON text; where it is absent, where its nearest container begins.
pub(super) fn locate(text: &str, path: &KeyPath) -> Option<Location> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.skip_space();
    let mut found = scanner.at;
    for segment in &path.0 {
        if scanner.enter(segment).is_none() {
            break;
        }
        found = scanner.at;
    }
    location_of(text, found)
}

/// The line and column of a byte offset.
fn location_of(text: &str, offset: usize) -> Option<Location> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Some(Location {
        line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    })
}

/// Finds values in JSON that a parser has accepted; in anything else it may find nothing.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Moves to the value that `segment` leads to.
    fn enter(&mut self, segment: &Segment) -> Option<()> {
        match segment {
            Segment::Key(wanted) => {
                self.take(b'{')?;
                loop {
                    self.skip_space();
                    let start = self.at;
                    self.skip_string()?;
                    let key: String = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
                    self.take(b':')?;
                    self.skip_space();
                    if key == *wanted {
                        return Some(());
                    }
                    self.skip_value()?;
                    self.take(b',')?;
                }
            }
            Segment::Index(wanted) => {
                self.take(b'[')?;
                for _ in 0..*wanted {
                    self.skip_space();
                    self.skip_value()?;
                    self.take(b',')?;
                }
                self.skip_space();
                (self.peek()? != b']').then_some(())
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 && matches!(self.peek()?, b',' | b'}' | b']') {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"x\": {\"k\": [1, {\"q\\\"\": \"ä,]}\", \"z\": 5}, [[]], true]},\n  \"agents\": [\n    {\"id\": \"ö\"}, \"b\"]\n}";

    fn at(path: &KeyPath) -> (usize, usize) {
        let location = locate(TEXT, path).unwrap();
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
