//! States that earlier installations wrote.

use std::path::{Path, PathBuf};

use dialectic::debate::Debate;
use serde_json::Value;

/// The saved states under `tests/fixtures`, sorted by name.
pub(crate) fn states() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_saved_state_survives_being_loaded_and_written() {
    let states = states();
    assert_eq!(states.len(), 2, "a fixture was lost, or one was added without this being noticed");
    for (path, text) in states {
        let debate: Debate = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = serde_json::to_value(debate).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        let mut differences = Vec::new();
        compare(&read, &written, "", &mut differences);
        assert!(differences.is_empty(), "{}:\n{}", path.display(), differences.join("\n"));
    }
}

/// Every place where the two differ. Numbers are compared as JSON has them: 82 and 82.0 are one number.
fn compare(read: &Value, written: &Value, place: &str, differences: &mut Vec<String>) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (name, value) in read {
                match written.get(name) {
                    Some(written) => compare(value, written, &format!("{place}/{name}"), differences),
                    None => differences.push(format!("{place}/{name} was lost")),
                }
            }
            let added = written.keys().filter(|name| !read.contains_key(*name));
            differences.extend(added.map(|name| format!("{place}/{name} was added")));
        }
        (Value::Array(read), Value::Array(written)) if read.len() == written.len() => {
            for (position, (read, written)) in read.iter().zip(written).enumerate() {
                compare(read, written, &format!("{place}/{position}"), differences);
            }
        }
        (Value::Number(read), Value::Number(written)) if read.as_f64() == written.as_f64() => {}
        (read, written) if read == written => {}
        (read, written) => differences.push(format!("{place}: {read} became {written}")),
    }
}

#[test]
fn the_comparison_sees_what_is_lost_added_and_changed() {
    let read = serde_json::json!({"a": [1, {"b": "x"}], "c": 2, "d": null});
    let written = serde_json::json!({"a": [1.0, {"b": "y"}], "d": null, "e": 3});
    let mut differences = Vec::new();
    compare(&read, &written, "", &mut differences);
    assert_eq!(differences, ["/a/1/b: \"x\" became \"y\"", "/c was lost", "/e was added"]);
}
