//! What a debate starts from: material that was collected for it, and what is known of its agents from debates before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentId, Debate, ResultKind};

/// What was collected before anybody was asked for a solution.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gathered {
    /// What agents are shown beside the problem, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub material: Vec<Material>,
    /// How the agents did in debates before.
    #[serde(default)]
    pub standings: Standings,
    /// The family of each agent's model, where it is a well-known one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub families: BTreeMap<AgentId, String>,
}

impl Gathered {
    /// Bytes of its material.
    pub fn bytes(&self) -> usize {
        self.material.iter().map(|one| one.text.len()).sum()
    }
}

impl Debate {
    /// The debate as it is once that has been collected for it, where its protocol collects something and has not done
    /// so yet.
    pub fn starting_from(&self, gathered: &Gathered) -> Self {
        let gathers = self.stages.iter().any(|stage| stage.yields == Some(ResultKind::Material));
        let gathered = self.gathered.clone().or_else(|| gathers.then(|| gathered.clone()));
        Self { gathered, ..self.clone() }
    }
}

/// A text that agents are shown beside the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Material {
    /// Where it is from.
    pub source: MaterialSource,
    /// Which of that kind: the file, the command, the debate.
    pub name: String,
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether there was more of it than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Why it is not there, or not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

dialectic_base::named! {
    /// Where material is from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MaterialSource {
        /// The files of the context directory, listed.
        Outline = "outline",
        /// The readme of the context directory.
        Readme = "readme",
        /// What a command of the user's printed.
        Command = "command",
        /// A debate before.
        Memory = "memory",
    }
}

/// How agents did in debates before, by model and role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standings {
    /// Debates that were counted in all.
    pub debates: u32,
    /// What is known of each agent; who is missing has never debated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentStanding>,
}

/// How an agent's model did in its role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStanding {
    /// The agent.
    pub agent_id: AgentId,
    /// Its rating; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// Its Brier score, 0 to 1, the lower the better; absent where it has never voted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brier: Option<f64>,
    /// Debates behind these figures.
    pub debates: u32,
}

impl Standings {
    /// What is known of an agent.
    pub fn of(&self, agent: &AgentId) -> Option<&AgentStanding> {
        self.agents.iter().find(|standing| standing.agent_id == *agent)
    }
}
