//! Parses a text into a checked tree, with the position of every problem.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use dialectic_base::encoding;
use dialectic_base::key_path::{JsonText, KeyPath};

use super::check::{CheckedTree, check};
use super::error::{ConfigError, Diagnostics, Location, SyntaxFault};

#[derive(Debug, Clone)]
pub(super) struct ConfigDocument {
    /// The path, as given.
    pub(super) path: PathBuf,
    pub(super) tree: Value,
    /// Unknown keys, each with a suggestion.
    pub(super) warnings: Vec<String>,
    /// Values out of bounds.
    problems: Vec<(KeyPath, String)>,
    /// The text without byte order mark.
    pub(super) text: String,
    values: JsonText,
}

impl ConfigDocument {
    /// The values out of bounds, except those of disabled agents.
    pub(super) fn findings(&self) -> Diagnostics {
        let mut findings = Diagnostics::default();
        let agents = self.tree["agents"].as_array().into_iter().flatten().enumerate();
        let off: Vec<KeyPath> = agents
            .filter(|(_, agent)| agent["enabled"] == false)
            .map(|(index, _)| KeyPath::root().key("agents").index(index))
            .collect();
        for (path, fault) in &self.problems {
            if !off.iter().any(|agent| path.0.starts_with(&agent.0)) {
                findings.problem(path.clone(), fault.clone());
            }
        }
        findings
    }

    /// Returns the warnings, or an error if there are problems.
    ///
    /// # Errors
    ///
    /// There are problems; each has its position.
    pub(super) fn refuse(&self, findings: Diagnostics) -> Result<Vec<String>, ConfigError> {
        if findings.problems.is_empty() {
            return Ok(findings.warnings);
        }
        let problems = findings.located(|key| locate(&self.values, &self.text, key));
        Err(ConfigError::Invalid { path: self.path.clone(), problems })
    }
}

/// Reads a configuration file, a JSON object. `None` if the file does not exist. Keys for remarks (`$comment`, `//`,
/// `$schema`) are allowed everywhere.
///
/// # Errors
///
/// The file cannot be read, is a directory, is not UTF-8 or JSON, or has a value of the wrong type.
pub(super) fn read(path: &Path, schema: &Value) -> Result<Option<ConfigDocument>, ConfigError> {
    if path.is_dir() {
        return Err(ConfigError::Directory(path.to_owned()));
    }
    match std::fs::read(path) {
        Ok(bytes) => parse(path, &bytes, schema).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// [`read`](read()) without file access; `path` is only for messages.
pub(super) fn parse(path: &Path, bytes: &[u8], schema: &Value) -> Result<ConfigDocument, ConfigError> {
    let text = decode(path, bytes)?;
    let value: Value = serde_json::from_str(text).map_err(|error| syntax_error(path, text, &error))?;
    let values = JsonText::of(text.as_bytes());
    let checked = check(schema, &value, |key| values.is_repeated(key));
    let CheckedTree { tree, unknown, problems } = checked.map_err(|mismatch| ConfigError::WrongType {
        path: path.to_owned(),
        location: locate(&values, text, &mismatch.path).unwrap_or(Location { line: 1, column: 1 }),
        key: mismatch.path,
        expected: mismatch.expected,
        found: mismatch.found,
    })?;
    let unknown = unknown.iter().map(|(key, nearest)| format!("unknown key `{key}` is ignored {nearest}"));
    let warnings = unknown.map(|warning| warning.trim_end().to_owned()).collect();
    Ok(ConfigDocument { path: path.to_owned(), tree, warnings, problems, text: text.to_owned(), values })
}

fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    encoding::decode(bytes).map_err(|fault| {
        let location = Location::after(&String::from_utf8_lossy(&bytes[..fault.valid_up_to]));
        ConfigError::NotUtf8 { path: path.to_owned(), location, fault }
    })
}

fn syntax_error(path: &Path, text: &str, error: &serde_json::Error) -> ConfigError {
    let path = path.to_owned();
    let location = Location { line: error.line().max(1), column: error.column().max(1) };
    let line = text.lines().nth(location.line - 1).unwrap_or_default();
    let fault = if text.trim().is_empty() {
        SyntaxFault::Empty
    } else if line.trim_start().starts_with("/*") || comment_start(line).is_some_and(|start| start < location.column) {
        SyntaxFault::Comment
    } else {
        // Removes the position that serde appends.
        let message = error.to_string();
        SyntaxFault::Other(message.rsplit_once(" at line ").map_or(message.clone(), |(text, _)| text.to_owned()))
    };
    ConfigError::Syntax { path, location, fault }
}

/// The column, from 0, of a `//` or `/*` outside strings.
fn comment_start(line: &str) -> Option<usize> {
    let mut in_string = false;
    let mut previous = ' ';
    for (column, c) in line.chars().enumerate() {
        match c {
            '"' if previous != '\\' => in_string = !in_string,
            '/' | '*' if !in_string && previous == '/' => return Some(column - 1),
            _ => {}
        }
        previous = c;
    }
    None
}

/// The position of the value at `path` in `text`; if it is absent, of its nearest existing parent.
fn locate(values: &JsonText, text: &str, path: &KeyPath) -> Option<Location> {
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
