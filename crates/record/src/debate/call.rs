//! Calls of a debate: their purpose and their end.

use serde::{Deserialize, Serialize};

use super::{AgentId, StageId};

/// Identifies a call within a debate. Tool iterations and second requests share the key of their call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The round; 0 before the first.
    pub round: u32,
    #[serde(rename = "phase")]
    pub stage: StageId,
    pub agent_id: AgentId,
    /// The author of the criticised text (critiques only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
    /// Numbered from 1: an intentional repetition, such as a score in the opposite order.
    #[serde(default = "first_pass", skip_serializing_if = "is_first_pass")]
    pub pass: u8,
}

fn first_pass() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first_pass(pass: &u8) -> bool {
    *pass == 1
}

impl CallKey {
    /// The first pass of a call without a target.
    pub fn new(round: u32, stage: StageId, agent: &AgentId) -> Self {
        Self { round, stage, agent_id: agent.clone(), target_agent_id: None, pass: 1 }
    }

    /// The same call about the text of `target`.
    pub fn about(self, target: &AgentId) -> Self {
        Self { target_agent_id: Some(target.clone()), ..self }
    }

    /// The same call in another pass.
    pub fn pass(self, pass: u8) -> Self {
        Self { pass, ..self }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// It has a result.
    Done,
    /// It had an empty result: an agent without questions.
    Empty,
    /// It failed permanently.
    Failed,
}
