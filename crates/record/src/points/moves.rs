//! The authors' reactions to the points of a round.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::debate::AgentId;

use super::{Change, PointId};

/// An agent's changes in a round, and the points that caused them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    pub round: u32,
    pub agent_id: AgentId,
    pub accepted: Vec<PointId>,
    pub partly: Vec<PointId>,
    pub rejected: Vec<PointId>,
    /// The open points without an answer.
    pub unanswered: Vec<PointId>,
    /// The size of the change to its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Move {
    /// Whether it answers a point or leaves it unanswered.
    pub(super) fn names(&self, point: &PointId) -> bool {
        [&self.accepted, &self.partly, &self.rejected, &self.unanswered].iter().any(|points| points.contains(point))
    }
}

/// The state of the points raised or answered in a round, at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    pub accepted: usize,
    pub partly: usize,
    pub rejected: usize,
    /// The points that the author ignored.
    pub unanswered: usize,
    /// The points without a later text in this round.
    pub waiting: usize,
    /// The points that the protocol does not answer.
    #[serde(skip_serializing_if = "dialectic_base::call::is_default")]
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
