//! Finds the position of a value in a text by its path.

use std::fmt;

use dialectic_base::json_text::JsonText;
use dialectic_base::key_path::KeyPath;

/// A position in a text; both parts count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: usize,
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemSubject {
    /// A key of the file.
    Key {
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

/// The position of the value at `path` in `text`; if absent, of its nearest container.
pub(super) fn locate(values: &JsonText, text: &str, path: &KeyPath) -> Option<Location> {
    text.get(..values.start(path)?).map(Location::after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"x\": {\"k\": [1, {\"q\\\"\": \"ä,]}\", \"z\": 5}, [[]], true]},\n  \"agents\": [\n    {\"id\": \"ö\"}, \"b\"]\n}";

    fn at(path: &KeyPath) -> (usize, usize) {
        let location = locate(&JsonText::of(TEXT.as_bytes()), TEXT, path).unwrap();
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
