//! A value held against the schema of what is read: types, bounds and names of keys. The schema comes from the types of
//! the settings, so that a key is described once.

use serde_json::{Map, Number, Value};

use dialectic_base::key_path::KeyPath;

use super::error::{Actual, Expected, JsonKind};
use super::suggest::suggestion;

/// A name that is longer is not shown: it is rather a text in the wrong place, perhaps a key.
const LONGEST_NAME: usize = 24;
/// Above this a float no longer tells neighbouring whole numbers apart.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A value of the wrong type.
#[derive(Debug)]
pub struct Mismatch {
    /// Where.
    pub path: KeyPath,
    /// What belongs there.
    pub expected: Expected,
    /// What is there.
    pub actual: Actual,
}

/// A tree that was checked.
#[derive(Debug, Default)]
pub struct Checked {
    /// What it says with a meaning: without unknown keys, remarks, nulls, blank paths, and numbers that cannot be read;
    /// whole numbers are written as such.
    pub tree: Value,
    /// Unknown keys, each with what may have been meant.
    pub unknown: Vec<(KeyPath, String)>,
    /// Values out of bounds, and what is wrong with them.
    pub problems: Vec<(KeyPath, String)>,
}

/// Whether a key is a remark for readers, allowed everywhere and never read: JSON has no comments.
pub(super) fn is_remark(key: &str) -> bool {
    key == "$schema" || key.starts_with("$comment") || key.starts_with("//")
}

/// Holds `value` against a schema. `is_repeated` tells which keys are there more than once.
///
/// # Errors
/// The first value of a wrong type.
pub fn check(schema: &Value, value: &Value, is_repeated: impl Fn(&KeyPath) -> bool) -> Result<Checked, Box<Mismatch>> {
    let mut checker = Checker { schema, is_repeated, checked: Checked::default() };
    checker.checked.tree = checker.value(schema, value, &KeyPath::root())?;
    Ok(checker.checked)
}

struct Checker<'a, R> {
    schema: &'a Value,
    is_repeated: R,
    checked: Checked,
}

impl<'a, R: Fn(&KeyPath) -> bool> Checker<'a, R> {
    fn value(&mut self, node: &'a Value, value: &Value, path: &KeyPath) -> Result<Value, Box<Mismatch>> {
        let choices = choices(self.schema, node);
        let wrong = || {
            let expected = expected(&choices);
            let actual = match value {
                Value::String(text) if matches!(expected, Expected::Words(_)) && text.len() + 2 <= LONGEST_NAME => {
                    Actual::Name(format!("`{text}`"))
                }
                other => Actual::Kind(JsonKind::of(other)),
            };
            Box::new(Mismatch { path: path.clone(), expected, actual })
        };
        let node = *choices.iter().find(|node| fits(node, value)).ok_or_else(wrong)?;
        Ok(match value {
            Value::Object(entries) => self.object(node, entries, path)?,
            Value::Array(elements) => {
                let items = &node["items"];
                // An agent or a tool may be left out with `null`; a text may not.
                let may_be_null = choices_of_kind(self.schema, items, JsonKind::Object);
                let mut read = |(index, element): (usize, &Value)| match element {
                    Value::Null if may_be_null => Ok(Value::Null),
                    element => self.value(items, element, &path.index(index)),
                };
                elements.iter().enumerate().map(&mut read).collect::<Result<_, _>>()?
            }
            Value::Number(number) if node_kind(node) == Some("integer") => self.whole(node, number, path),
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
                    self.checked.unknown.push((below, suggestion(key, known)));
                }
                Some(_) if named.is_none() && (self.is_repeated)(&below) => {
                    let (expected, actual) = (Expected::Once, Actual::Twice(format!("`{key}`")));
                    return Err(Box::new(Mismatch { path: below, expected, actual }));
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

    /// A whole number; `300000.0` and `3e5` are, as they are for JavaScript. Null where it cannot be read.
    #[expect(clippy::cast_possible_truncation, reason = "whole and within bounds")]
    fn whole(&mut self, node: &Value, number: &Number, path: &KeyPath) -> Value {
        let written = number.as_f64().unwrap_or(f64::MAX);
        let least = node["minimum"].as_f64().unwrap_or(f64::MIN);
        let of_type = if node["format"] == "uint32" { u32::MAX.into() } else { f64::MAX };
        let most = node["maximum"].as_f64().unwrap_or(f64::MAX);
        let shown = Written(written);
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
                format!("must be from {least} to {most}, not {}", Written(number))
            }
            (Some(least), None) if !is_above(least) => format!("must not be negative: {}", Written(number)),
            _ => return,
        };
        self.problem(path, fault);
    }

    fn problem(&mut self, path: &KeyPath, fault: String) {
        self.checked.problems.push((path.clone(), fault));
    }
}

/// The alternatives of a schema, without references and null.
fn choices<'a>(schema: &'a Value, node: &'a Value) -> Vec<&'a Value> {
    let node = follow(schema, node);
    match node.get("anyOf").and_then(Value::as_array) {
        Some(choices_of_node) => choices_of_node.iter().flat_map(|choice| choices(schema, choice)).collect(),
        None if node["type"] == "null" => Vec::new(),
        None => vec![node],
    }
}

fn choices_of_kind(schema: &Value, node: &Value, kind: JsonKind) -> bool {
    choices(schema, node).iter().any(|node| node_kind(node) == Some(kind.keyword()))
}

/// The definition behind a reference.
pub(super) fn follow<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node.get("$ref").and_then(Value::as_str);
    reference.and_then(|reference| schema.pointer(reference.trim_start_matches('#'))).unwrap_or(node)
}

/// The type that a schema without alternatives wants, but for null.
fn node_kind(node: &Value) -> Option<&str> {
    match &node["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        // A choice of names that are described one by one.
        _ => node.get("oneOf").or(node.get("enum")).or(node.get("const")).map(|_| "string"),
    }
}

/// The names that a text must be one of; nothing where any text will do.
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
    let kind = node_kind(node);
    match value {
        Value::String(text) => kind == Some("string") && names(node).is_none_or(|names| names.contains(&text.as_str())),
        Value::Number(_) => matches!(kind, Some("integer" | "number")),
        other => kind == Some(JsonKind::of(other).keyword()),
    }
}

/// What belongs where these are the alternatives.
fn expected(choices: &[&Value]) -> Expected {
    if let [node] = choices
        && names(node).is_none()
        && let Some(kind) = node_kind(node).and_then(JsonKind::named)
    {
        return Expected::Kind(kind);
    }
    let words = choices.iter().flat_map(|node| match names(node) {
        Some(names) => names.into_iter().map(|name| format!("`{name}`")).collect(),
        None => vec![node_kind(node).and_then(JsonKind::named).map(|kind| kind.to_string()).unwrap_or_default()],
    });
    let words: Vec<String> = words.collect();
    Expected::Words(match words.as_slice() {
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        all => format!("one of {}", all.join(", ")),
    })
}

/// Shows a number in about as many digits as somebody would write.
struct Written(f64);

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let magnitude = self.0.abs();
        if magnitude != 0.0 && !(1e-6..1e15).contains(&magnitude) { write!(f, "{:e}", self.0) } else { self.0.fmt(f) }
    }
}
