//! The JSON that evaluators are asked for, for providers that take a schema.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use dialectic_llm::{AnswerSchema, strict_object};

use super::Criterion;

/// The schema of an evaluation. It is made of the criteria: what is read of an answer has no type of its own, since
/// each score counts whatever the others are.
pub(super) static EVALUATION: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let score = json!({ "type": "number", "minimum": 1, "maximum": 10 });
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    // Earlier fields influence later ones: the reasons come before the figure that they are for.
    let reasoning = json!({ "type": "string", "maxLength": 1500 });
    let criterion = strict_object([("reasoning", reasoning), ("score", score.clone())]);
    let non_functional = strict_object(Criterion::NON_FUNCTIONAL.map(|one| (one.key(), criterion.clone())));
    let evaluation = [(Criterion::FunctionalCompleteness.key(), criterion), ("non_functional", non_functional)];
    let summary = [("strengths", texts.clone()), ("weaknesses", texts), (Criterion::Overall.key(), score)];
    let schema =
        strict_object([("evaluation", strict_object(evaluation)), ("overall_summary", strict_object(summary))]);
    Arc::new(AnswerSchema { name: "solution_evaluation", schema })
});
