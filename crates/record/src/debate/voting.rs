//! How a vote went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentId, VotingRule};

/// The result of a vote. The ballots are contributions of the last round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voting {
    /// Votes by whose text they went to; every candidate is listed.
    pub tally: BTreeMap<AgentId, u32>,
    /// Those among whom the votes did not decide: those with the most votes (a tie is recorded as a tie), and those
    /// that failed ballots could have brought level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<AgentId>,
    /// Whose text won; absent when nobody broke the tie.
    pub winner: Option<AgentId>,
    /// Who decided.
    pub decided_by: Decider,
    /// The judge's reason, when it broke a tie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By which rule it was counted; absent where most votes are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<VoteCount>,
}

impl Voting {
    /// Whether the votes did not decide because several had as many.
    pub fn is_tied(&self) -> bool {
        let mut votes = self.tied.iter().map(|one| self.tally.get(one));
        let first = votes.next();
        first.is_none_or(|first| votes.all(|votes| votes == first))
    }

    /// What to say where the judge did not decide either, without a full stop.
    pub fn unbroken_in_words(&self) -> &'static str {
        if self.is_tied() {
            "the vote was tied, and nobody broke the tie"
        } else {
            "ballots failed that could have decided the vote, and nobody decided it"
        }
    }
}

/// A vote by a rule with a quorum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteCount {
    /// How many of the voters a text needs.
    pub rule: VotingRule,
    /// Who could vote.
    pub voters: u32,
    /// Ballots that were cast; failed ones are not counted.
    pub cast: u32,
    /// Ballots that there had to be.
    pub quorum: u32,
    /// Ballots for the voter's own text.
    pub self_votes: u32,
    /// Why there is no winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The reasons of those who voted for another text than the winner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Dissent>,
}

/// Why a vote has no winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// Too few voted.
    NoQuorum,
    /// Several share the most votes.
    Tie,
    /// The one with the most votes has not enough by the rule.
    ShortOfRule,
}

impl Undecided {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQuorum => "no quorum",
            Self::Tie => "a tie",
            Self::ShortOfRule => "too few votes for the rule",
        }
    }
}

/// A ballot against what was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dissent {
    /// Who cast it.
    pub agent_id: AgentId,
    /// For whose text.
    #[serde(rename = "for")]
    pub preferred: AgentId,
    /// Why, word for word.
    pub reason: String,
    /// How sure the voter was, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::number::serialize_option")]
    pub confidence: Option<f64>,
}

/// Who decided a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    /// The voters.
    Vote,
    /// The judge, by its casting vote on a tie.
    Judge,
    /// Nobody: the tie stayed.
    Nobody,
}
