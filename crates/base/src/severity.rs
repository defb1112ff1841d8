//! How grave an objection is.

use serde::{Deserialize, Serialize};

crate::named! {
    /// How grave a point is; the gravest comes first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Severity {
        /// A major requirement fails.
        Blocking = "blocking",
        /// A major requirement is at risk, or a minor one fails; also where the text does not say.
        Major = "major",
        /// Anything less.
        Minor = "minor",
    }
}
