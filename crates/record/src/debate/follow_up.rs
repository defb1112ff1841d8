//! What a user asked about a finished debate.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AgentId, Metadata, Timestamp};

/// A question about a finished debate, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// The question, word for word.
    pub question: Arc<str>,
    /// Which agent was asked; absent where it was the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// The answer, as Markdown; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<str>>,
    /// When it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AgentId>,
    /// How the answer came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}
