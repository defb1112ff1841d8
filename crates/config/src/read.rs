//! Reads a configuration file and checks types, bounds and key names against the schema. Reports each problem with its
//! position. The schema is generated from the settings types, so each key is described only once.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};

use dialectic_base::encoding;
use dialectic_base::key_path::{JsonText, KeyPath};

use super::error::{ConfigError, Diagnostics, Location, SyntaxFault, nearest, suggestion};

#[derive(Debug, Clone)]
pub(super) struct ConfigDocument {
    pub(super) path: PathBuf,
    pub(super) tree: Value,
    /// Warnings about unknown keys, each with a suggestion.
    pub(super) warnings: Vec<String>,
    /// Missing keys and unusable values, each with an explanation.
    problems: Vec<(KeyPath, String)>,
    /// The file's text, without a byte order mark.
    pub(super) text: String,
    values: JsonText,
}

impl ConfigDocument {
    /// The problems, except those of disabled agents.
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
/// Returns an error if the file cannot be read, is a directory, is not UTF-8 or JSON, repeats a key, or has a value of
/// the wrong type.
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

/// Like [`read`](read()), for the content of a file that was already read.
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
        // `serde_json` appends the position, which `location` already states.
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

fn locate(values: &JsonText, text: &str, path: &KeyPath) -> Option<Location> {
    text.get(..values.start(path)?).map(Location::after)
}

/// In bytes. Longer strings are not quoted in errors: they may be misplaced keys.
const LONGEST_NAME: usize = 22;
/// 2^53: larger floats cannot represent every whole number.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

#[derive(Debug)]
pub struct Mismatch {
    pub path: KeyPath,
    pub expected: String,
    pub found: String,
}

#[derive(Debug, Default)]
pub struct CheckedTree {
    /// The value without unknown keys, remarks, nulls, blank paths and invalid numbers; whole numbers are normalized.
    pub tree: Value,
    /// Unknown keys, each with a suggestion.
    pub unknown: Vec<(KeyPath, String)>,
    /// Missing keys and unusable values, each with an explanation.
    pub problems: Vec<(KeyPath, String)>,
}

/// Remarks are allowed everywhere and ignored, since JSON has no comments.
fn is_remark(key: &str) -> bool {
    key == "$schema" || key.starts_with("$comment") || key.starts_with("//")
}

/// Checks `value` against a schema. `is_repeated` says whether a key occurs more than once.
///
/// # Errors
///
/// Returns an error for the first repeated key or value of the wrong type.
pub fn check(
    schema: &Value,
    value: &Value,
    is_repeated: impl Fn(&KeyPath) -> bool,
) -> Result<CheckedTree, Box<Mismatch>> {
    let mut checker = Checker { schema, is_repeated, checked: CheckedTree::default() };
    checker.checked.tree = checker.value(schema, value, &KeyPath::root())?;
    Ok(checker.checked)
}

struct Checker<'a, R> {
    schema: &'a Value,
    is_repeated: R,
    checked: CheckedTree,
}

impl<'a, R: Fn(&KeyPath) -> bool> Checker<'a, R> {
    fn value(&mut self, node: &'a Value, value: &Value, path: &KeyPath) -> Result<Value, Box<Mismatch>> {
        let all = choices(self.schema, node);
        let wrong = || {
            let found = match value {
                Value::String(text) if all.iter().any(|node| names(node).is_some()) && text.len() <= LONGEST_NAME => {
                    format!("`{text}`")
                }
                other => words(kind_of(other)).to_owned(),
            };
            Box::new(Mismatch { path: path.clone(), expected: expected(&all), found })
        };
        let node = *all.iter().find(|node| fits(node, value)).ok_or_else(wrong)?;
        Ok(match value {
            Value::Object(entries) => self.object(node, entries, path)?,
            Value::Array(elements) => {
                let items = &node["items"];
                // A list of agents or tools may contain `null`, but a list of strings may not.
                let may_be_null = choices(self.schema, items).iter().any(|node| kind_wanted(node) == "object");
                let mut read = |(index, element): (usize, &Value)| match element {
                    Value::Null if may_be_null => Ok(Value::Null),
                    element => self.value(items, element, &path.index(index)),
                };
                elements.iter().enumerate().map(&mut read).collect::<Result<_, _>>()?
            }
            Value::Number(number) if kind_wanted(node) == "integer" => self.whole(node, number, path),
            Value::Number(number) => {
                self.within(node, number.as_f64().unwrap_or_default(), path);
                value.clone()
            }
            Value::String(text) => {
                if node.get("minLength").is_some() && text.trim().is_empty() {
                    self.problem(path, "is empty".to_owned());
                }
                value.clone()
            }
            Value::Bool(_) | Value::Null => value.clone(),
        })
    }

    fn object(
        &mut self,
        node: &'a Value,
        entries: &Map<String, Value>,
        path: &KeyPath,
    ) -> Result<Value, Box<Mismatch>> {
        let named = node.get("additionalProperties").filter(|entry| entry.is_object());
        let keys = node.get("properties").and_then(Value::as_object);
        let mut read = Map::new();
        for (key, value) in entries {
            let below = path.key(key);
            match named.or_else(|| keys?.get(key)) {
                _ if is_remark(key) => {}
                None => {
                    let known = keys.into_iter().flat_map(Map::keys).map(String::as_str);
                    let near = match self.below(keys, key, path) {
                        Some(path) if nearest(key, known.clone()).is_none() => format!("(did you mean `{path}`?)"),
                        _ => suggestion(key, known),
                    };
                    self.checked.unknown.push((below, near));
                }
                Some(_) if named.is_none() && (self.is_repeated)(&below) => {
                    let (expected, found) = ("each key once".to_owned(), format!("`{key}` twice"));
                    return Err(Box::new(Mismatch { path: below, expected, found }));
                }
                Some(_) if value.is_null() => {}
                Some(node) => {
                    let value = self.value(node, value, &below)?;
                    let is_blank_path =
                        key.ends_with("Path") && value.as_str().is_some_and(|path| path.trim().is_empty());
                    if !value.is_null() && !is_blank_path {
                        read.insert(key.clone(), value);
                    }
                }
            }
        }
        for key in node["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if entries.get(key).is_none_or(Value::is_null) {
                self.problem(&path.key(key), "is missing".to_owned());
            }
        }
        Ok(read.into())
    }

    /// Finds a known key with the name `key` in an object nested below `path`. `keys` are the known keys at `path`.
    fn below(&self, keys: Option<&'a Map<String, Value>>, key: &str, path: &KeyPath) -> Option<KeyPath> {
        keys?.iter().find_map(|(name, node)| {
            let path = path.key(name);
            choices(self.schema, node).into_iter().find_map(|node| {
                let keys = node.get("properties")?.as_object();
                let is_here = keys.is_some_and(|keys| keys.contains_key(key));
                if is_here { Some(path.key(key)) } else { self.below(keys, key, &path) }
            })
        })
    }

    /// Reads a whole number. Like JavaScript, accepts `300000.0` and `3e5`. Reports an invalid number and returns null.
    #[expect(clippy::cast_possible_truncation, reason = "whole and within bounds")]
    fn whole(&mut self, node: &Value, number: &Number, path: &KeyPath) -> Value {
        let written = number.as_f64().unwrap_or(f64::MAX);
        let least = node["minimum"].as_f64().unwrap_or(f64::MIN);
        let of_type = if node["format"] == "uint32" { u32::MAX.into() } else { f64::MAX };
        let most = node["maximum"].as_f64().unwrap_or(f64::MAX);
        let shown = shown(written);
        if written.fract() != 0.0 || !(least..=LARGEST_WHOLE).contains(&written) {
            let at_least = if least > f64::MIN { format!(" of at least {least}") } else { String::new() };
            self.problem(path, format!("must be a whole number{at_least}, not {shown}"));
        } else if written > of_type {
            self.problem(path, format!("is too large: {shown}"));
        } else if written > most {
            self.problem(path, format!("must be at most {most}, not {shown}"));
        } else {
            return (written as i64).into();
        }
        Value::Null
    }

    fn within(&mut self, node: &Value, number: f64, path: &KeyPath) {
        let (least, most) = (node["minimum"].as_f64(), node["maximum"].as_f64());
        let is_above = |least: f64| number >= least;
        let fault = match (least, most) {
            (Some(least), Some(most)) if !(least..=most).contains(&number) => {
                format!("must be from {least} to {most}, not {}", shown(number))
            }
            (Some(least), None) if !is_above(least) => format!("must not be negative: {}", shown(number)),
            _ => return,
        };
        self.problem(path, fault);
    }

    fn problem(&mut self, path: &KeyPath, fault: String) {
        self.checked.problems.push((path.clone(), fault));
    }
}

fn choices<'a>(schema: &'a Value, node: &'a Value) -> Vec<&'a Value> {
    let node = follow(schema, node);
    match node.get("anyOf").and_then(Value::as_array) {
        Some(choices_of_node) => choices_of_node.iter().flat_map(|choice| choices(schema, choice)).collect(),
        None if node["type"] == "null" => Vec::new(),
        None => vec![node],
    }
}

/// Resolves a `$ref`. Returns any other node unchanged.
pub(super) fn follow<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node.get("$ref").and_then(Value::as_str);
    reference.and_then(|reference| schema.pointer(reference.trim_start_matches('#'))).unwrap_or(node)
}

fn kind_wanted(node: &Value) -> &str {
    match &node["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        // An enum of names has no `type`.
        _ => "string",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
    }
}

fn words(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "number" | "integer" => "a number",
        "boolean" => "true or false",
        "object" => "an object",
        "array" => "an array",
        other => other,
    }
}

/// The allowed strings; `None` if any string is allowed.
fn names(node: &Value) -> Option<Vec<&str>> {
    fn one(node: &Value) -> impl Iterator<Item = &str> {
        let listed = node.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(node.get("const")).filter_map(Value::as_str)
    }
    match node.get("oneOf").and_then(Value::as_array) {
        Some(described) => Some(described.iter().flat_map(one).collect()),
        None => Some(one(node).collect()).filter(|names: &Vec<&str>| !names.is_empty()),
    }
}

fn fits(node: &Value, value: &Value) -> bool {
    let wanted = kind_wanted(node);
    match value {
        Value::String(text) => wanted == "string" && names(node).is_none_or(|names| names.contains(&text.as_str())),
        Value::Number(_) => matches!(wanted, "integer" | "number"),
        other => wanted == kind_of(other),
    }
}

fn expected(choices: &[&Value]) -> String {
    let all = choices.iter().flat_map(|node| match names(node) {
        Some(names) => names.into_iter().map(|name| format!("`{name}`")).collect(),
        None => vec![words(kind_wanted(node)).to_owned()],
    });
    let all: Vec<String> = all.collect();
    match all.as_slice() {
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        all => format!("one of {}", all.join(", ")),
    }
}

fn shown(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e15).contains(&magnitude) { format!("{number:e}") } else { number.to_string() }
}

/// The absolute path of the file's directory. The file need not exist.
pub(super) fn parent(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map_or_else(|| absolute.clone(), Path::to_owned)
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
        assert_eq!(at(&KeyPath::root().key("agents").index(0).key("name")), (4, 5));
        assert_eq!(at(&KeyPath::root().key("judge").key("id")), (1, 1));
        assert_eq!(at(&KeyPath::root().key("agents").index(7)), (3, 13));
    }
}
