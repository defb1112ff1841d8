//! Who won a debate of speeches, and what those thought who listened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentId, StageId};

/// What the judge made of the debaters when it was asked once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Which time it was asked; the order of the debaters changes with it.
    pub pass: u8,
    /// Who won; absent for none.
    pub winner: Option<AgentId>,
    /// The score of each debater, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    /// What was said on each criterion.
    pub criteria: BTreeMap<String, String>,
    /// Why.
    pub reasoning: String,
    /// The score of each on each criterion, where they were scored one by one.
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    /// The major requirements that each misses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
}

/// What all judgements come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who won; absent for none.
    pub winner: Option<AgentId>,
    /// The mean score of each debater, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    /// What was said on each criterion.
    pub criteria: BTreeMap<String, String>,
    /// Why.
    pub reasoning: String,
    /// The score of each on each criterion, where they were scored one by one.
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    /// The major requirements that each misses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
    /// Whether the winner stayed the same when the order of the debaters was reversed; absent when only one order was
    /// judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
}

impl Verdict {
    /// Whether nobody won because the highest means are equal.
    #[must_use]
    pub fn is_tie(&self) -> bool {
        let most = self.scores.values().copied().fold(f64::NEG_INFINITY, f64::max);
        let leading = self.scores.values().filter(|score| most - **score < 1e-9).count();
        self.winner.is_none() && leading > 1
    }
}

/// How an audience voted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// In which stage.
    pub stage: StageId,
    /// What each voted for.
    pub votes: BTreeMap<AgentId, String>,
    /// Why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<AgentId, String>,
}

impl Poll {
    /// A poll in which nobody has voted yet.
    #[must_use]
    pub fn of(stage: StageId) -> Self {
        Self { stage, votes: BTreeMap::new(), reasons: BTreeMap::new() }
    }

    /// How many voted for `choice`.
    #[must_use]
    pub fn count(&self, choice: &str) -> usize {
        self.votes.values().filter(|vote| *vote == choice).count()
    }
}
