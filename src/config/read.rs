//! From text to a typed document, with the place of everything that is wrong or unknown.

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ConfigError;
use super::place::{KeyPath, Location, Segment, is_remark, locate};
use super::schema::{keys_at, plain_schema};
use super::shapes::Object;
use super::suggest::suggestion;

/// A configuration file that was read.
#[derive(Debug, Clone)]
pub struct Document<T> {
    /// What it says.
    pub content: T,
    /// Unknown keys, each with the nearest known one.
    pub warnings: Vec<String>,
    /// The text, without a byte order mark.
    pub(super) text: String,
    /// The same as untyped JSON.
    pub(super) value: Value,
}

impl<T> Document<T> {
    /// Where the value at `path`, or its nearest container, begins in the text.
    #[must_use]
    pub fn locate(&self, path: &KeyPath) -> Option<Location> {
        locate(&self.text, path)
    }
}

/// Reads a configuration file: JSON whose top level is an object. Nothing when there is no such file. Keys that hold
/// remarks (`$comment`, `//`, `$schema`) are allowed everywhere.
///
/// # Errors
/// It cannot be read, is a directory, not UTF-8, not JSON, or has a value of the wrong type.
pub fn read<T: DeserializeOwned + JsonSchema>(path: &Path) -> Result<Option<Document<T>>, ConfigError> {
    if path.is_dir() {
        return Err(ConfigError::Directory { path: path.to_owned() });
    }
    match std::fs::read(path) {
        Ok(bytes) => parse(path, &bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// [`read`](read()) without the file system; `path` is for messages.
pub(super) fn parse<T: DeserializeOwned + JsonSchema>(path: &Path, bytes: &[u8]) -> Result<Document<T>, ConfigError> {
    let text = decode(path, bytes)?;
    // First as untyped JSON, so that every error of the second pass is one of types.
    let value: Value = serde_json::from_str(text).map_err(|error| syntax_error(path, text, &error))?;
    let mut unknown = Vec::new();
    let content = typed::<T>(text, &mut unknown).map_err(|error| type_error(path, text, &error))?;
    let schema = if unknown.is_empty() { Value::Null } else { plain_schema::<T>() };
    let warnings = unknown.iter().filter_map(|key| unknown_key(&schema, key)).collect();
    Ok(Document { content, warnings, text: text.to_owned(), value })
}

fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let last_line = valid.rsplit('\n').next().unwrap_or_default();
        let location = Location { line: valid.matches('\n').count() + 1, column: last_line.chars().count() + 1 };
        ConfigError::NotUtf8 { path: path.to_owned(), location }
    })?;
    Ok(text.trim_start_matches('\u{feff}'))
}

fn typed<T: DeserializeOwned>(
    text: &str,
    unknown: &mut Vec<KeyPath>,
) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    let mut track = serde_path_to_error::Track::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    serde_ignored::deserialize::<_, _, Object<T>>(tracked, |path| unknown.push(ignored_path(&path)))
        .map(|Object(content)| content)
        .map_err(|error| serde_path_to_error::Error::new(track.path(), error))
}

fn syntax_error(path: &Path, text: &str, error: &serde_json::Error) -> ConfigError {
    let path = path.to_owned();
    let location = Location { line: error.line().max(1), column: error.column().max(1) };
    let line = text.lines().nth(location.line - 1).unwrap_or_default();
    let message = if text.trim().is_empty() {
        "the file is empty".to_owned()
    } else if line.trim_start().starts_with("/*") || comment_start(line).is_some_and(|start| start < location.column) {
        "there is a comment".to_owned()
    } else {
        without_position(error)
    };
    ConfigError::Syntax { path, location, message }
}

/// The column, from 0, of a `//` or `/*` that is not inside a string.
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

fn type_error(path: &Path, text: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> ConfigError {
    let key = tracked_path(error.path());
    let inner = error.inner();
    let location = locate(text, &key).unwrap_or(Location { line: inner.line().max(1), column: inner.column().max(1) });
    let (found, expected) = found_and_expected(&without_position(inner));
    ConfigError::WrongType { path: path.to_owned(), location, key, expected, found }
}

/// Takes serde's sentence apart. Only the kind of a wrong value is kept: the value itself may be a secret that
/// somebody put into the wrong place.
fn found_and_expected(message: &str) -> (String, String) {
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return (format!("{rest} twice"), "each key once".to_owned());
    }
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, "another value"));
    let expected = match expected {
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        other => other,
    };
    let found = match found.split_once(": ").map_or(found, |(_, value)| value) {
        value if found.starts_with("unknown variant") => value.trim_start_matches("unknown variant "),
        value if value.starts_with("string") => "a string",
        value if value.starts_with("integer") || value.starts_with("floating point") => "a number",
        value if value.starts_with("boolean") => "true or false",
        value if value.starts_with("null") => "null",
        value if value.starts_with("map") => "an object",
        value if value.starts_with("sequence") => "an array",
        _ => "something else",
    };
    (found.to_owned(), expected.to_owned())
}

/// `serde_json`'s message without the position that it appends.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(text, _)| text.to_owned())
}

fn unknown_key(schema: &Value, path: &KeyPath) -> Option<String> {
    let (parent, key) = path.split_key()?;
    if is_remark(key) {
        return None;
    }
    let known = keys_at(schema, &parent);
    let suggestion = suggestion(key, known.iter().map(String::as_str));
    Some(format!("unknown key `{path}` is ignored {suggestion}").trim_end().to_owned())
}

fn tracked_path(path: &serde_path_to_error::Path) -> KeyPath {
    use serde_path_to_error::Segment as Tracked;
    let segments = path.iter().filter_map(|segment| match segment {
        Tracked::Seq { index } => Some(Segment::Index(*index)),
        Tracked::Map { key } => Some(Segment::Key(key.clone())),
        Tracked::Enum { .. } | Tracked::Unknown => None,
    });
    KeyPath(segments.collect())
}

fn ignored_path(path: &serde_ignored::Path<'_>) -> KeyPath {
    use serde_ignored::Path as Ignored;
    match path {
        Ignored::Root => KeyPath::root(),
        Ignored::Seq { parent, index } => ignored_path(parent).index(*index),
        Ignored::Map { parent, key } => ignored_path(parent).key(key),
        Ignored::Some { parent } | Ignored::NewtypeStruct { parent } | Ignored::NewtypeVariant { parent } => {
            ignored_path(parent)
        }
    }
}

/// A document as if nothing was written, for when there is no file.
impl<T: Default> Default for Document<T> {
    fn default() -> Self {
        Self { content: T::default(), warnings: Vec::new(), text: String::new(), value: Value::Null }
    }
}
