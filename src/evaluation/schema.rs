//! The JSON that evaluators are asked for, for providers that take a schema.

use serde_json::{Map, Value, json};

use crate::llm::AnswerSchema;

use super::Criterion;

/// The schema of an evaluation.
pub(super) const EVALUATION: &AnswerSchema = &AnswerSchema { name: "solution_evaluation", schema };

fn schema() -> Value {
    let score = json!({ "type": "number", "minimum": 1, "maximum": 10 });
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    // What is written first decides what is written next: the reasons come before the figure that they are for.
    let criterion = object([("reasoning", json!({ "type": "string", "maxLength": 1500 })), ("score", score.clone())]);
    let non_functional = object(Criterion::NON_FUNCTIONAL.map(|one| (one.key(), criterion.clone())));
    let evaluation = [(Criterion::FunctionalCompleteness.key(), criterion), ("non_functional", non_functional)];
    let summary = [("strengths", texts.clone()), ("weaknesses", texts), (Criterion::Overall.key(), score)];
    object([("evaluation", object(evaluation)), ("overall_summary", object(summary))])
}

/// Strict structured output wants every property required and no other allowed.
fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let required = json!(required);
    let properties: Map<String, Value> = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
