//! Which of the configured agents take part.

use serde::{Deserialize, Serialize};

use super::{AgentId, AgentSettings, Debate};

/// Who was chosen to take part, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// How many were to be chosen; absent where all take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Debates that were counted before this one.
    pub debates: u32,
    /// Everybody who could be chosen, in the order of the configuration.
    pub candidates: Vec<TeamCandidate>,
}

/// An agent that could be chosen, with what its score is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamCandidate {
    /// Who.
    pub agent_id: AgentId,
    /// Whether it takes part.
    pub chosen: bool,
    /// The sum of the three parts.
    pub score: f64,
    /// What its rating adds.
    pub by_rating: f64,
    /// What its calibration adds.
    pub by_calibration: f64,
    /// What is added for having been heard rarely.
    pub by_exploration: f64,
    /// Its rating; absent if it has none, which counts as 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// Its Brier score; absent if it has none, which counts as 0.25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brier: Option<f64>,
    /// Debates behind both.
    pub debates: u32,
    /// The family of its model, where it is a well-known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Whether its score would have been enough, had its family not been half of the team already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_over: bool,
}

impl Selection {
    /// Whether an agent takes part.
    pub fn includes(&self, agent: &AgentId) -> bool {
        self.candidates.iter().any(|candidate| candidate.chosen && candidate.agent_id == *agent)
    }
}

impl Debate {
    /// Those who take part, in the order of the configuration: the chosen agents, or all if none were chosen.
    pub fn team(&self) -> Vec<&AgentSettings> {
        let takes_part =
            |agent: &&AgentSettings| self.selection.as_ref().is_none_or(|selection| selection.includes(&agent.id));
        self.agents().iter().filter(takes_part).collect()
    }
}
