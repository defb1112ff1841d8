//! The history of a point in order.

use std::fmt;
use std::sync::Arc;

use crate::debate::{AgentId, Found, RecheckStanding, Response};

use super::{Objection, Ruling};

/// An event in a point's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub at: Occasion,
    /// The author; absent for the judge's ruling.
    pub by: Option<AgentId>,
    pub what: Happened,
    pub section: Option<String>,
    pub reason: Option<Arc<str>>,
}

/// The time of an event in a point's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    Round(u32),
    /// In the check of the draft with this number, from 1.
    Check(u32),
    /// In the text after the check.
    Final,
    /// In the judge's rulings.
    Ruling,
}

/// The kind of an event in a point's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// A critic or a checker raised it.
    Raised,
    Answered(Response),
    Rechecked(RecheckStanding),
    /// It was marked as verified although the text is unchanged.
    Unchanged,
    /// A checker looked for the accepted change.
    Checked(Found),
    Ruled(Box<Ruling>),
}

impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Round(round) => write!(f, "r{round}"),
            Self::Check(1) => f.write_str("check:"),
            Self::Check(draft) => write!(f, "check {draft}:"),
            Self::Final => f.write_str("final:"),
            Self::Ruling => f.write_str("ruled:"),
        }
    }
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raised => "raised",
            Self::Answered(response) => response.name(),
            Self::Rechecked(standing) => standing.name(),
            Self::Unchanged => "verified in an unchanged text",
            Self::Checked(found) => found.name(),
            Self::Ruled(ruling) => ruling.in_words(),
        })
    }
}

impl fmt::Display for Incident {
    /// `r2 rejected`, `check: not found`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.what)
    }
}

impl Objection {
    /// The history on one line: `r1 raised → r1 rejected → r2 maintained → r2 accepted → check: verified → ruled: met`.
    pub fn story_in_words(&self) -> String {
        self.story.iter().map(Incident::to_string).collect::<Vec<_>>().join(" → ")
    }
}
