//! The JSON schema of an evaluation, for providers that accept one.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use dialectic_llm::{AnswerSchema, strict_object};

use super::Criterion;

/// The schema of an evaluation. It is built from the criteria: answers have no type of their own, since each score
/// counts independently.
pub(super) static EVALUATION: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let score = json!({ "type": "number", "minimum": 1, "maximum": 10 });
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    // Earlier fields influence later ones, so the reasons precede the score.
    let reasoning = json!({ "type": "string", "maxLength": 1500 });
    let criterion = strict_object([("reasoning", reasoning), ("score", score.clone())]);
    let non_functional = strict_object(Criterion::NON_FUNCTIONAL.map(|one| (one.key(), criterion.clone())));
    let evaluation = [(Criterion::FunctionalCompleteness.key(), criterion), ("non_functional", non_functional)];
    let summary = [("strengths", texts.clone()), ("weaknesses", texts), (Criterion::Overall.key(), score)];
    let schema =
        strict_object([("evaluation", strict_object(evaluation)), ("overall_summary", strict_object(summary))]);
    Arc::new(AnswerSchema { name: "solution_evaluation", schema })
});
