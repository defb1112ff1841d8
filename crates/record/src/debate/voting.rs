//! The result of a vote.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentId, VotingRule};

/// The result of a vote. The ballots are contributions of the last round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voting {
    /// Votes by the author of the text; lists every candidate.
    pub tally: BTreeMap<AgentId, u32>,
    /// The candidates with the most votes, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<AgentId>,
    /// The author of the winning text; absent if the vote decided nothing.
    pub winner: Option<AgentId>,
    /// The rule and how it was applied.
    pub count: VoteCount,
}

/// A vote by a rule with a quorum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteCount {
    /// The required share of the votes.
    pub rule: VotingRule,
    pub voters: u32,
    /// The ballots cast; failed ones are not counted.
    pub cast: u32,
    /// The required number of ballots.
    pub quorum: u32,
    /// Ballots for the voter's own text.
    pub self_votes: u32,
    /// Why there is no winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The reasons of voters for other texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Dissent>,
}

/// Why a vote has no winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// Too few votes.
    NoQuorum,
    /// Several share the most votes.
    Tie,
    /// The leader's votes do not satisfy the rule.
    ShortOfRule,
}

impl Undecided {
    /// The words.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQuorum => "no quorum",
            Self::Tie => "a tie",
            Self::ShortOfRule => "too few votes for the rule",
        }
    }
}

/// A ballot for a losing text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dissent {
    pub agent_id: AgentId,
    #[serde(rename = "for")]
    pub preferred: AgentId,
    pub reason: String,
    /// The voter's confidence, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::number::serialize_option")]
    pub confidence: Option<f64>,
}
