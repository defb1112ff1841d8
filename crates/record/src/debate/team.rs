//! The choice of participating agents.

use serde::{Deserialize, Serialize};

use super::{AgentId, AgentSettings, Debate};

/// The chosen agents and the reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The requested number; absent if all take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The number of earlier debates.
    pub debates: u32,
    /// All candidates in the order of the configuration.
    pub candidates: Vec<TeamCandidate>,
}

/// A candidate with the parts of its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamCandidate {
    pub agent_id: AgentId,
    pub chosen: bool,
    /// The sum of the two parts.
    pub score: f64,
    /// The part from its rating.
    pub by_rating: f64,
    /// The part from its calibration.
    pub by_calibration: f64,
    /// The rating; absent if unknown, which counts as 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// The calibration; absent if unknown, which counts as 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<f64>,
    /// The number of debates that both figures rest on.
    pub debates: u32,
    /// The model's family, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Whether its score sufficed but its family already had half of the team.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_over: bool,
}

impl Selection {
    pub fn includes(&self, agent: &AgentId) -> bool {
        self.candidates.iter().any(|candidate| candidate.chosen && candidate.agent_id == *agent)
    }
}

impl Debate {
    /// The participants in the order of the configuration: the chosen agents, or all without a choice.
    pub fn team(&self) -> Vec<&AgentSettings> {
        let takes_part =
            |agent: &&AgentSettings| self.selection.as_ref().is_none_or(|selection| selection.includes(&agent.id));
        self.agents().iter().filter(takes_part).collect()
    }
}
