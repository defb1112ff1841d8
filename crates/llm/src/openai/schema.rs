//! The schema of an answer in the form that a model accepts, and whether an answer follows it.

use serde_json::{Map, Value};

use crate::{AnswerSchema, FinishReason, Reply};

/// How much of a schema a model accepts, in descending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Schemas {
    /// All of it.
    Whole,
    /// Without string lengths, which OpenAI's strict schemas do not allow.
    WithoutLengths,
    /// Without any bounds.
    Unbounded,
    /// No schema at all.
    None,
}

/// Bounds of strings.
const LENGTHS: [&str; 2] = ["minLength", "maxLength"];
/// Bounds of anything else.
const AMOUNTS: [&str; 6] = ["minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

impl Schemas {
    /// The part of a schema to send.
    pub(super) fn of(self, answer: Option<&AnswerSchema>) -> Option<AnswerSchema> {
        let answer = answer.filter(|_| self != Self::None)?;
        let mut answer = answer.clone();
        match self {
            Self::Whole | Self::None => {}
            Self::WithoutLengths => take_away(&mut answer.schema, &LENGTHS),
            Self::Unbounded => {
                take_away(&mut answer.schema, &LENGTHS);
                take_away(&mut answer.schema, &AMOUNTS);
            }
        }
        Some(answer)
    }

    /// The next smaller form of `answer`'s schema that contains no keyword for which `refuses` holds. If it refuses
    /// none of them, the schema itself is dropped.
    pub(super) fn without_refused(self, answer: &AnswerSchema, refuses: impl Fn(&str) -> bool) -> Self {
        let Some(AnswerSchema { schema: sent, .. }) = self.of(Some(answer)) else { return Self::None };
        let any_of = |keywords: &[&str]| keywords.iter().any(|keyword| uses(&sent, keyword) && refuses(keyword));
        if any_of(&AMOUNTS) {
            Self::Unbounded
        } else if any_of(&LENGTHS) {
            Self::WithoutLengths
        } else {
            Self::None
        }
    }

    /// Whether the sent form of `answer`'s schema contains bounds.
    pub(super) fn bounds(self, answer: &AnswerSchema) -> bool {
        let Some(AnswerSchema { schema: sent, .. }) = self.of(Some(answer)) else { return false };
        LENGTHS.iter().chain(&AMOUNTS).any(|keyword| uses(&sent, keyword))
    }
}

fn take_away(schema: &mut Value, keywords: &[&str]) {
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
        for (keyword, part) in schema {
            if let Value::Array(list) = part {
                for part in list {
                    take_away(part, keywords);
                }
            } else if let Some(named) = part.as_object_mut().filter(|_| keyword == "properties") {
                // These are names of properties, not keywords.
                for part in named.values_mut() {
                    take_away(part, keywords);
                }
            } else {
                take_away(part, keywords);
            }
        }
    }
}

fn uses(schema: &Value, keyword: &str) -> bool {
    let mut without = schema.clone();
    take_away(&mut without, &[keyword]);
    without != *schema
}

/// Whether `reply` shows that the schema was ignored: a server that enforces it returns exactly the described object.
pub(super) fn is_ignored(answer: &AnswerSchema, reply: &Reply) -> bool {
    let text = reply.text.trim();
    if text.is_empty() || !reply.tool_calls.is_empty() || reply.finish == FinishReason::Filtered {
        return false;
    }
    if !text.starts_with('{') {
        return true;
    }
    let required = answer.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(object) => required.into_iter().any(|key| !object.contains_key(key)),
        Err(error) => reply.finish == FinishReason::Complete || !error.is_eof(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;

    use crate::strict_object;

    use super::*;

    static BOUNDED: LazyLock<AnswerSchema> = LazyLock::new(|| AnswerSchema {
        name: "bounded",
        schema: strict_object([
            ("text", json!({ "type": "string", "maxLength": 20 })),
            ("maxLength", json!({ "type": "array", "items": { "type": "string", "maxLength": 9 }, "maxItems": 3 })),
            ("score", json!({ "type": "number", "minimum": 0, "maximum": 100 })),
        ]),
    });

    fn sent(schemas: Schemas) -> String {
        schemas.of(Some(&BOUNDED)).map(|answer| answer.schema["properties"].to_string()).unwrap_or_default()
    }

    #[test]
    fn a_schema_loses_its_bounds_and_nothing_else() {
        let whole = r#"{"text":{"type":"string","maxLength":20},"maxLength":{"type":"array","items":{"type":"string","maxLength":9},"maxItems":3},"score":{"type":"number","minimum":0,"maximum":100}}"#;
        let without_lengths = r#"{"text":{"type":"string"},"maxLength":{"type":"array","items":{"type":"string"},"maxItems":3},"score":{"type":"number","minimum":0,"maximum":100}}"#;
        let unbounded = r#"{"text":{"type":"string"},"maxLength":{"type":"array","items":{"type":"string"}},"score":{"type":"number"}}"#;
        assert_eq!(sent(Schemas::Whole), whole);
        assert_eq!(sent(Schemas::WithoutLengths), without_lengths);
        assert_eq!(sent(Schemas::Unbounded), unbounded);
        assert_eq!(Schemas::None.of(Some(&BOUNDED)), None);
    }

    #[test]
    fn a_refused_keyword_costs_its_kind_and_a_refused_schema_all() {
        let next = |schemas: Schemas, refused: &str| schemas.without_refused(&BOUNDED, |keyword| keyword == refused);
        assert_eq!(next(Schemas::Whole, "maxLength"), Schemas::WithoutLengths);
        assert_eq!(next(Schemas::Whole, "maxItems"), Schemas::Unbounded);
        assert_eq!(next(Schemas::WithoutLengths, "minimum"), Schemas::Unbounded);
        assert_eq!(next(Schemas::Whole, "format"), Schemas::None);
        // A feature that is no longer sent cannot be the one refused.
        assert_eq!(next(Schemas::WithoutLengths, "maxLength"), Schemas::None);
        assert_eq!(next(Schemas::Unbounded, "maxItems"), Schemas::None);
    }

    #[test]
    fn what_a_server_did_not_enforce_is_seen() {
        let reply = |text: &str, finish| Reply { text: text.to_owned(), finish, ..Reply::default() };
        let whole = r#" {"text": "t", "maxLength": [], "score": 1} "#;
        for (text, ignored) in [
            (whole, false),
            ("", false),
            (r#"{"text": "t", "score": 1}"#, true),
            ("```json\n{\"text\": \"t\", \"maxLength\": [], \"score\": 1}\n```", true),
            ("The score is 1.", true),
            (r#"{"text": "t", "maxL"#, true),
        ] {
            assert_eq!(is_ignored(&BOUNDED, &reply(text, FinishReason::Complete)), ignored, "{text}");
        }
        assert!(!is_ignored(&BOUNDED, &reply(r#"{"text": "t", "maxL"#, FinishReason::Length)));
        assert!(is_ignored(&BOUNDED, &reply("```json\n{\"te", FinishReason::Length)));
        assert!(!is_ignored(&BOUNDED, &reply("I will not.", FinishReason::Filtered)));
    }
}
