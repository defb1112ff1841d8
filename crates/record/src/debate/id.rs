//! Ids of debates, agents and calls, and how a call ended.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StageId;

/// The id of a debate: `deb-YYYYMMDD-HHMMSS-xxxx` from this program, any text in other files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DebateId(String);

/// The id of an agent or the judge, unique within a debate. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(Arc<str>);

impl DebateId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AgentId {
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(Arc::from(id.as_ref()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DebateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for AgentId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

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
