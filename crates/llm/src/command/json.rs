//! Reads the JSON that programs print.

use serde_json::Value;

/// The JSON object between the first and last brace of a text.
pub(super) fn json_in(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

pub(super) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}
