//! The path of a value within a JSON document.

use std::fmt;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into an object.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// The path from the top of a document to a value, shown as `agents[1].temperature`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyPath(pub Vec<Segment>);

impl KeyPath {
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a path as shown: `agents[1].temperature`, `prices["gpt-4.1"].inputPerMTok`. `None` if it is malformed.
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

    /// Extends this path by a key.
    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    /// Extends this path by an index.
    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    fn then(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// The parent path and the last key; `None` if the last step is an index.
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

#[cfg(test)]
mod tests {
    use super::*;

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
