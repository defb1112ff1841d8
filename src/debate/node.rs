//! The places of the protocols.

use serde::{Deserialize, Serialize};

/// A place in a protocol. Part of the record, because a debate is resumed at the node it entered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Node {
    /// The state is created and saved.
    Initialization,
    /// Agents are asked what is unclear.
    Clarification,
    /// The user answers.
    ClarificationInput,
    /// The next round is begun, or none.
    RoundManager,
    /// Agents condense their history.
    Summarization,
    /// Agents propose.
    Proposal,
    /// Agents criticise each other.
    Critique,
    /// Agents refine.
    Refinement,
    /// The judge says whether to go on.
    Evaluation,
    /// The solution is made.
    Synthesis,
}

impl Node {
    /// The name on the wire, in messages and in diagrams.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialization => "initialization",
            Self::Clarification => "clarification",
            Self::ClarificationInput => "clarification-input",
            Self::RoundManager => "round-manager",
            Self::Summarization => "summarization",
            Self::Proposal => "proposal",
            Self::Critique => "critique",
            Self::Refinement => "refinement",
            Self::Evaluation => "evaluation",
            Self::Synthesis => "synthesis",
        }
    }
}
