//! The initial data of a debate: attachments, collected material, the agents' past results, and the chosen team.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AgentId, AgentSettings, Debate, ResultKind};

/// Data that is collected before the first proposal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gathered {
    /// The material shown with the problem, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub material: Vec<Material>,
    /// The agents' results in past debates.
    #[serde(default)]
    pub standings: Standings,
    /// The family of each agent's model, if known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub families: BTreeMap<AgentId, String>,
}

impl Gathered {
    /// The total bytes of the material.
    pub fn bytes(&self) -> usize {
        self.material.iter().map(|one| one.text.len()).sum()
    }
}

impl Debate {
    /// The debate with this data, if its protocol collects data and has not done so yet.
    pub fn starting_from(&self, gathered: &Gathered) -> Self {
        let gathers = self.stages.iter().any(|stage| stage.yields == Some(ResultKind::Material));
        let gathered = self.gathered.clone().or_else(|| gathers.then(|| gathered.clone()));
        Self { gathered, ..self.clone() }
    }
}

/// A text that prompts show with the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Material {
    pub source: MaterialSource,
    /// The name within the source: a file, a command or a debate.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Why it is missing or incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MaterialSource {
        /// The list of files in the context directory.
        Outline = "outline",
        /// The readme of the context directory.
        Readme = "readme",
        /// The output of a user's command.
        Command = "command",
        /// A past debate.
        Memory = "memory",
    }
}

/// The results of past debates by model and role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standings {
    /// The number of past debates.
    pub debates: u32,
    /// The results of each agent; agents without a past debate are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentStanding>,
}

/// The results of an agent's model in its role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStanding {
    pub agent_id: AgentId,
    /// The rating; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// How far its confidence in ballots was off on average: 0 is best, 1 worst; absent if it never voted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<f64>,
    /// The number of debates that were counted.
    pub debates: u32,
}

impl Standings {
    pub fn of(&self, agent: &AgentId) -> Option<&AgentStanding> {
        self.agents.iter().find(|standing| standing.agent_id == *agent)
    }
}

/// The chosen agents and the reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The requested team size; absent if all take part.
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
    /// The sum of the following two values.
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
    /// The number of debates on which both figures are based.
    pub debates: u32,
    /// The model's family, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Set if its score was high enough, but its model family already had half of the team.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_over: bool,
}

impl Selection {
    pub fn includes(&self, agent: &AgentId) -> bool {
        self.candidates.iter().any(|candidate| candidate.chosen && candidate.agent_id == *agent)
    }
}

impl Debate {
    /// The participants in configuration order: the chosen team, or all agents.
    pub fn team(&self) -> Vec<&AgentSettings> {
        let takes_part =
            |agent: &&AgentSettings| self.selection.as_ref().is_none_or(|selection| selection.includes(&agent.id));
        self.agents().iter().filter(takes_part).collect()
    }
}

/// A text shown to all agents with the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name that the user gave: a path, or `standard input`.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The content, kept because the file may change.
    pub text: Arc<str>,
    /// The part of the change it belongs to; absent if all prompts show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
}
