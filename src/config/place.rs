//! Places: the path of a key, and where in the text it is.

use std::fmt;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into an object.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// The way from the top of a document to a value, shown as `agents[1].temperature`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyPath(pub Vec<Segment>);

impl KeyPath {
    /// The document itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads a path as it is shown: `agents[1].temperature`, `prices["gpt-4.1"].inputPerMTok`. Nothing when it is none.
    #[must_use]
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

    /// The way on to a key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    /// The way on to an element.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    fn then(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// Everything but the last step, and that step's key.
    pub(super) fn split_key(&self) -> Option<(Self, &str)> {
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

    #[test]
    fn a_path_is_read_as_it_is_shown() {
        for text in ["debate.rounds", "agents[1].temperature", "prices[\"gpt-4.1\"].inputPerMTok", "a[0][12].b"] {
            assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(KeyPath::parse("agents.agent-kiss.model").unwrap().0.len(), 3);
        for text in ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "a[1]b", "a[\"x\"", "a[\"x]"] {
            assert_eq!(KeyPath::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_reads_as_in_javascript() {
        let path = KeyPath::root().key("agents").index(1).key("temperature");
        assert_eq!(path.to_string(), "agents[1].temperature");
        assert_eq!(KeyPath::root().key("prices").key("gpt-4.1").to_string(), "prices[\"gpt-4.1\"]");
        assert_eq!(KeyPath::root().key("prices").key("org/gpt-4").to_string(), "prices.org/gpt-4");
    }
}
