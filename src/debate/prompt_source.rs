//! Where the prompts of a debate came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::AgentId;

/// Where each prompt came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSources {
    /// Of each agent.
    #[serde(default)]
    pub agents: Vec<AgentPromptSource>,
    /// Of the judge.
    pub judge: JudgePromptSource,
}

/// Where an agent's system prompt came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPromptSource {
    /// The agent.
    pub agent_id: AgentId,
    /// Its role.
    pub role: String,
    /// Built in, or a file.
    pub source: PromptOrigin,
    /// The file, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Where the judge's prompts came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgePromptSource {
    /// The judge.
    pub id: AgentId,
    /// Of its system prompt.
    pub source: PromptOrigin,
    /// Its file, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Of its summary prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_source: Option<PromptOrigin>,
    /// Its file, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_path: Option<PathBuf>,
}

/// Where a prompt came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptOrigin {
    /// Compiled into the program.
    BuiltIn,
    /// The user's file.
    File,
}

impl PromptOrigin {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::File => "file",
        }
    }
}
