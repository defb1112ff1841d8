//! Files that the user puts beside the problem.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that everybody is shown with the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// What the user calls it: a path as it was given, or `standard input`.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// What is in it. The record keeps it, since the file may change.
    pub text: Arc<str>,
}
