//! What the authors of a round made of the points against their texts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::debate::AgentId;

use super::said::is_zero;
use super::{Change, PointId};

/// What an agent changed in a round, and because of whose points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The round.
    pub round: u32,
    /// The agent.
    pub agent_id: AgentId,
    /// The points that it accepted.
    pub accepted: Vec<PointId>,
    /// Those that it accepted in part.
    pub partly: Vec<PointId>,
    /// Those that it rejected.
    pub rejected: Vec<PointId>,
    /// Open ones that it did not answer.
    pub unanswered: Vec<PointId>,
    /// How much of its text is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Move {
    /// Whether it answers a point, or leaves it unanswered.
    pub(super) fn names(&self, point: &PointId) -> bool {
        [&self.accepted, &self.partly, &self.rejected, &self.unanswered].iter().any(|points| points.contains(point))
    }
}

/// How the points of a round stand at its end: the points raised or answered in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Accepted ones.
    pub accepted: usize,
    /// Ones that were accepted in part.
    pub partly: usize,
    /// Rejected ones.
    pub rejected: usize,
    /// Ones of which the author said nothing.
    pub unanswered: usize,
    /// Points that no text came after in this round.
    pub waiting: usize,
    /// Points that nobody answers in this protocol.
    #[serde(skip_serializing_if = "is_zero")]
    pub final_words: usize,
    /// Earlier points that a critic withdrew.
    pub withdrawn: usize,
    /// Earlier points that a critic maintained.
    pub maintained: usize,
    /// Earlier points that their critic found met.
    pub verified: usize,
}

impl fmt::Display for Tally {
    /// `12 points · 7 accepted · 3 rejected · 2 unanswered`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.accepted + self.partly + self.rejected + self.unanswered + self.waiting + self.final_words;
        write!(f, "{points} point{}", if points == 1 { "" } else { "s" })?;
        for (count, what) in [
            (self.accepted, "accepted"),
            (self.partly, "partly"),
            (self.rejected, "rejected"),
            (self.unanswered, "unanswered"),
            (self.waiting, "not answered yet"),
            (self.withdrawn, "withdrawn"),
            (self.maintained, "maintained"),
            (self.verified, "verified"),
        ] {
            if count > 0 {
                write!(f, " · {count} {what}")?;
            }
        }
        Ok(())
    }
}
