//! What is scored.

use std::collections::BTreeMap;

/// Scores by criterion; one that was not scored is absent.
pub type Scores = BTreeMap<Criterion, f64>;

/// What is scored, in the order of all outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criterion {
    /// Does it do what the problem asks for?
    FunctionalCompleteness,
    /// Load, latency, growth.
    PerformanceScalability,
    /// Attacks.
    Security,
    /// Operation and change.
    MaintainabilityEvolvability,
    /// Laws and standards.
    RegulatoryCompliance,
    /// Can it be shown to hold?
    Testability,
    /// The major requirements.
    RequirementsFulfillment,
    /// The solution as a whole; the evaluators' own figure, not an average of the others.
    Overall,
}

impl Criterion {
    /// All of them.
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

    /// Those that evaluators give below `non_functional`.
    pub const NON_FUNCTIONAL: [Self; 6] = [
        Self::PerformanceScalability,
        Self::Security,
        Self::MaintainabilityEvolvability,
        Self::RegulatoryCompliance,
        Self::Testability,
        Self::RequirementsFulfillment,
    ];

    /// The heading of its column.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::FunctionalCompleteness => "Functional Completeness",
            Self::PerformanceScalability => "Performance & Scalability",
            Self::Security => "Security",
            Self::MaintainabilityEvolvability => "Maintainability & Evolvability",
            Self::RegulatoryCompliance => "Regulatory Compliance",
            Self::Testability => "Testability",
            Self::RequirementsFulfillment => "Requirements Fulfillment",
            Self::Overall => "Overall Score",
        }
    }

    /// Its name in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::FunctionalCompleteness => "functional_completeness",
            Self::PerformanceScalability => "performance_scalability",
            Self::Security => "security",
            Self::MaintainabilityEvolvability => "maintainability_evolvability",
            Self::RegulatoryCompliance => "regulatory_compliance",
            Self::Testability => "testability",
            Self::RequirementsFulfillment => "requirements_fulfillment",
            Self::Overall => "overall_score",
        }
    }
}
