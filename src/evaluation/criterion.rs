//! The criteria, and the schema of an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::json;

use dialectic_llm::{AnswerSchema, strict_object};

/// Scores by criterion; missing ones are absent.
pub type Scores = BTreeMap<Criterion, f64>;

/// The criteria in the order of all outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criterion {
    /// Does the solution do what the problem asks for?
    FunctionalCompleteness,
    /// Load, latency, growth.
    PerformanceScalability,
    /// Attacks.
    Security,
    /// Operation and change.
    MaintainabilityEvolvability,
    /// Laws and standards.
    RegulatoryCompliance,
    /// Can it be verified?
    Testability,
    /// The major requirements.
    RequirementsFulfillment,
    /// The solution as a whole: the evaluators' own score, not an average.
    Overall,
}

impl Criterion {
    pub const ALL: [Self; 8] = [
        Self::FunctionalCompleteness,
        Self::PerformanceScalability,
        Self::Security,
        Self::MaintainabilityEvolvability,
        Self::RegulatoryCompliance,
        Self::Testability,
        Self::RequirementsFulfillment,
        Self::Overall,
    ];

    /// The criteria below `non_functional`.
    pub const NON_FUNCTIONAL: [Self; 6] = [
        Self::PerformanceScalability,
        Self::Security,
        Self::MaintainabilityEvolvability,
        Self::RegulatoryCompliance,
        Self::Testability,
        Self::RequirementsFulfillment,
    ];

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        self.names().0
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::FunctionalCompleteness => ("functional_completeness", "Functional Completeness"),
            Self::PerformanceScalability => ("performance_scalability", "Performance & Scalability"),
            Self::Security => ("security", "Security"),
            Self::MaintainabilityEvolvability => ("maintainability_evolvability", "Maintainability & Evolvability"),
            Self::RegulatoryCompliance => ("regulatory_compliance", "Regulatory Compliance"),
            Self::Testability => ("testability", "Testability"),
            Self::RequirementsFulfillment => ("requirements_fulfillment", "Requirements Fulfillment"),
            Self::Overall => ("overall_score", "Overall Score"),
        }
    }
}

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
