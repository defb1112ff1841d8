//! How grave an objection is.

use serde::{Deserialize, Serialize};

/// How grave a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A major requirement fails.
    Blocking,
    /// A major requirement is at risk, or a minor one fails; also where the text does not say.
    Major,
    /// Anything less.
    Minor,
}

impl Severity {
    /// The name on the wire and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }

    /// All of them, the gravest first.
    pub const ALL: [Self; 3] = [Self::Blocking, Self::Major, Self::Minor];
}
