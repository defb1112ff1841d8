//! What agents asked the user, and what the user answered.

use serde::{Deserialize, Serialize};

use super::AgentId;

/// The questions of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentClarifications {
    /// Who asks.
    pub agent_id: AgentId,
    /// Its name.
    pub agent_name: String,
    /// Its role.
    pub role: String,
    /// Its questions.
    pub items: Vec<Clarification>,
}

/// A question, and the user's answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarification {
    /// Unique within the debate for what this program writes.
    pub id: String,
    /// The question.
    pub question: String,
    /// The answer: `NA` when the user gave none, empty while it is asked.
    #[serde(default)]
    pub answer: String,
}
