//! Files that the user attaches to the problem.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text shown to all agents with the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The user's name for it: a path as given, or `standard input`.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The content, saved because the file may change.
    pub text: Arc<str>,
}
