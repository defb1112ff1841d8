//! How a vote went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AgentId;

/// The result of a vote. The ballots are contributions of the last round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voting {
    /// Votes by whose text they went to; every candidate is listed.
    pub tally: BTreeMap<AgentId, u32>,
    /// Those that share the most votes, when there are several: a tie is recorded as a tie.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<AgentId>,
    /// Whose text won; absent when nobody broke the tie.
    pub winner: Option<AgentId>,
    /// Who decided.
    pub decided_by: Decider,
    /// The judge's reason, when it broke a tie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
