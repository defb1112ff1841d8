//! What a bar of the timeline stands for: its name, letter and colour.

use crate::debate::Phase;

/// What a bar stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Question,
    Summary,
    Proposal,
    Critique,
    Refinement,
    Vote,
    Evaluation,
    Synthesis,
}

impl Kind {
    /// All, in the order of the legend.
    pub(super) const ALL: [Self; 8] = [
        Self::Question,
        Self::Summary,
        Self::Proposal,
        Self::Critique,
        Self::Refinement,
        Self::Evaluation,
        Self::Vote,
        Self::Synthesis,
    ];

    /// The kind of a call.
    pub(super) fn of(phase: Phase) -> Self {
        match phase {
            Phase::Clarification => Self::Question,
            Phase::Summarization | Phase::JudgeSummary => Self::Summary,
            Phase::Proposal => Self::Proposal,
            Phase::Critique => Self::Critique,
            Phase::Refinement => Self::Refinement,
            Phase::Evaluation => Self::Evaluation,
            Phase::Vote => Self::Vote,
            Phase::Synthesis => Self::Synthesis,
        }
    }

    /// What the legend says.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Question => "clarification",
            Self::Summary => "summary",
            Self::Proposal => "proposal",
            Self::Critique => "critique",
            Self::Refinement => "refinement",
            Self::Vote => "vote",
            Self::Evaluation => "evaluation",
            Self::Synthesis => "synthesis",
        }
    }

    /// What stands in a bar that is wide enough.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Question => "?",
            Self::Summary => "S",
            Self::Proposal => "P",
            Self::Critique => "C",
            Self::Refinement => "R",
            Self::Vote => "V",
            Self::Evaluation => "E",
            Self::Synthesis => "A",
        }
    }

    /// The class that gives its colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Question => "p1",
            Self::Summary => "p2",
            Self::Proposal => "p3",
            Self::Critique => "p4",
            Self::Refinement => "p5",
            Self::Vote => "p6",
            Self::Evaluation => "p7",
            Self::Synthesis => "p8",
        }
    }
}
