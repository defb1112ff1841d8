//! The severity of an objection.

use serde::{Deserialize, Serialize};

crate::named! {
    /// The severity of a point, the gravest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Severity {
        /// A major requirement fails.
        Blocking = "blocking",
        /// A major requirement is at risk, or a minor one fails. Also the default for texts without a severity.
        Major = "major",
        /// Anything less.
        Minor = "minor",
    }
}
