//! From text to a typed document, with the place of everything that is wrong or unknown.

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use dialectic_base::encoding;
use dialectic_base::key_path::{KeyPath, Segment};

use super::error::{ConfigError, Expected, Found, SyntaxFault};
use super::place::{Location, is_remark, locate};
use super::schema::{keys_at, plain_schema};
use super::shapes::Object;
use super::suggest::suggestion;

/// A name that is longer is not shown: it is rather a text in the wrong place, perhaps a key.
const LONGEST_NAME: usize = 24;

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
    encoding::decode(bytes).map_err(|fault| {
        let valid = String::from_utf8_lossy(&bytes[..fault.valid_up_to]);
        let last_line = valid.rsplit('\n').next().unwrap_or_default();
        let location = Location { line: valid.matches('\n').count() + 1, column: last_line.chars().count() + 1 };
        ConfigError::NotUtf8 { path: path.to_owned(), location, fault }
    })
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
    let fault = if text.trim().is_empty() {
        SyntaxFault::Empty
    } else if line.trim_start().starts_with("/*") || comment_start(line).is_some_and(|start| start < location.column) {
        SyntaxFault::Comment
    } else {
        SyntaxFault::Other(without_position(error))
    };
    ConfigError::Syntax { path, location, fault }
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

/// Takes serde's sentence apart: it has no other form.
fn found_and_expected(message: &str) -> (Found, Expected) {
    if let Some(key) = message.strip_prefix("duplicate field ") {
        return (Found::Again(key.to_owned()), Expected::Once);
    }
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, "another value"));
    let expected = match expected {
        "f64" => Expected::Number,
        "a boolean" => Expected::Boolean,
        "a sequence" => Expected::Array,
        other => Expected::Other(other.to_owned()),
    };
    if let Some(name) = found.strip_prefix("unknown variant ") {
        let is_short = name.len() <= LONGEST_NAME;
        return (if is_short { Found::Name(name.to_owned()) } else { Found::String }, expected);
    }
    let value = found.split_once(": ").map_or(found, |(_, value)| value);
    let kinds = [
        ("string", Found::String),
        ("integer", Found::Number),
        ("floating point", Found::Number),
        ("boolean", Found::Boolean),
        ("null", Found::Null),
        ("map", Found::Object),
        ("sequence", Found::Array),
    ];
    let found = kinds.into_iter().find(|(start, _)| value.starts_with(start)).map_or(Found::Other, |(_, found)| found);
    (found, expected)
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
