//! The story of a point, in order.

use std::fmt;

use crate::debate::{AgentId, Found, RecheckStanding, Response};

use super::{Objection, Ruling};

/// Something that happened to a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub at: Occasion,
    /// Who did it; absent for the ruling of the judge.
    pub by: Option<AgentId>,
    /// What.
    pub what: Happened,
    /// The section that was named.
    pub section: Option<String>,
    /// Why, word for word.
    pub reason: Option<String>,
}

/// When something happened to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// In a round.
    Round(u32),
    /// When a draft was checked: which one, counted from 1.
    Check(u32),
    /// When the text after the check was written.
    Final,
    /// When the judge ruled.
    Ruling,
}

/// What happened to a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// A critic or a checker raised it.
    Raised,
    /// The author answered it.
    Answered(Response),
    /// A critic looked at it again.
    Rechecked(RecheckStanding),
    /// A critic or a checker called it verified, but the text is the same as before.
    Unchanged,
    /// A checker looked for the accepted change.
    Checked(Found),
    /// The judge ruled on it.
    Ruled(Ruling),
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
    /// All that happened to it, in order.
    pub fn story(&self) -> &[Incident] {
        &self.story
    }

    /// The story on one line: `r1 raised → r1 rejected → r2 maintained → r2 accepted → check: verified → ruled: met`.
    pub fn story_in_words(&self) -> String {
        self.story.iter().map(Incident::to_string).collect::<Vec<_>>().join(" → ")
    }
}
