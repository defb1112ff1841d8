//! The initial data of a debate: attachments, collected material, the agents' past results, and the chosen team.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Debate;
use crate::ids::{AgentId, ResultKind};
use crate::settings::AgentSettings;

/// Data that is collected before the first proposal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gathered {
    /// Prompts show the material with the problem, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub material: Vec<Material>,
    #[serde(default)]
    pub standings: Standings,
    /// The family of each agent's model. Agents whose model family is unknown are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub families: BTreeMap<AgentId, String>,
}

impl Gathered {
    pub fn bytes(&self) -> usize {
        self.material.iter().map(|one| one.text.len()).sum()
    }
}

impl Debate {
    /// Adds `gathered` if the protocol collects data and the debate has none yet.
    pub fn starting_from(&self, gathered: &Gathered) -> Self {
        let gathers = self.stages.iter().any(|stage| stage.yields == Some(ResultKind::Material));
        let gathered = self.gathered.clone().or_else(|| gathers.then(|| gathered.clone()));
        Self { gathered, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Material {
    pub source: MaterialSource,
    /// The name of the directory, file, command or past debate that the text comes from.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Why the text is missing or incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MaterialSource {
        /// The list of files in the context directory.
        Outline = "outline",
        Readme = "readme",
        /// The output of a configured command.
        Command = "command",
        /// Decisions of a past debate.
        Memory = "memory",
    }
}

/// How each agent's model performed in past debates in the same role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standings {
    pub debates: u32,
    /// Agents without a past debate are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentStanding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStanding {
    pub agent_id: AgentId,
    /// Absent if the model was never rated in this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// The mean error of the confidence in earlier ballots by this model in this role, from 0 (best) to 1 (worst);
    /// absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<f64>,
    /// The number of past debates on which rating and calibration are based.
    pub debates: u32,
}

impl Standings {
    pub fn of(&self, agent: &AgentId) -> Option<&AgentStanding> {
        self.agents.iter().find(|standing| standing.agent_id == *agent)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The requested team size; absent if all take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The number of past debates that were considered.
    pub debates: u32,
    /// All candidates in the order of the configuration.
    pub candidates: Vec<TeamCandidate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamCandidate {
    pub agent_id: AgentId,
    pub chosen: bool,
    /// The sum of `by_rating` and `by_calibration`.
    pub score: f64,
    pub by_rating: f64,
    pub by_calibration: f64,
    /// If absent, `by_rating` is computed from a rating of 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// If absent, `by_calibration` is computed from a calibration of 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<f64>,
    pub debates: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Set if the agent was left out despite its score, because its model family already had half of the team.
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
        let chosen = |agent: &AgentSettings| self.selection.as_ref().is_none_or(|all| all.includes(&agent.id));
        self.agents().iter().filter(|agent| chosen(agent)).collect()
    }
}

/// A text attached to the problem: a file of the user, standard input, or part of a reviewed change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name in prompts: the user's path, `standard input`, or in a review, a name such as `src/main.rs.diff`.
    pub name: String,
    /// The SHA-256 of the attached bytes, in hexadecimal.
    pub sha256: String,
    /// The content, kept because the file may change.
    pub text: Arc<str>,
    /// The part of a reviewed change to which the attachment belongs; absent if all prompts show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
}
