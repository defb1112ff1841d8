//! The criteria.

use std::collections::BTreeMap;

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
