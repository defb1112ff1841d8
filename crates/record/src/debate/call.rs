//! Calls of a debate: what each is for, and how it ended.

use serde::{Deserialize, Serialize};

use super::{AgentId, StageId};

/// Which call of the debate: unique within it but for tool iterations and second chances, which share the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The round, 0 before the first.
    pub round: u32,
    /// What for.
    #[serde(rename = "phase")]
    pub stage: StageId,
    /// Who is called.
    pub agent_id: AgentId,
    /// Whose text it is about (critiques).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
    /// Counted from 1: the same call again on purpose, such as a score in the opposite order.
    #[serde(default = "first_pass", skip_serializing_if = "is_first_pass")]
    pub pass: u8,
}

fn first_pass() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_first_pass(pass: &u8) -> bool {
    *pass == 1
}

impl CallKey {
    /// The first pass of a call that is about nobody.
    pub fn new(round: u32, stage: StageId, agent: &AgentId) -> Self {
        Self { round, stage, agent_id: agent.clone(), target_agent_id: None, pass: 1 }
    }

    /// The same call about `target`.
    pub fn about(self, target: &AgentId) -> Self {
        Self { target_agent_id: Some(target.clone()), ..self }
    }

    /// The same call again.
    pub fn pass(self, pass: u8) -> Self {
        Self { pass, ..self }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Its result is there.
    Done,
    /// It brought nothing, which is a result too: an agent without questions.
    Empty,
    /// It failed for good.
    Failed,
}
