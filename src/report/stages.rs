//! What a report knows of the stages of a debate: their order, words, letters and colours. Where a report names a stage
//! outside of this file, it makes a picture for that stage alone.

use crate::debate::{Contribution, ContributionType, Phase};

/// How the calls of a stage are marked on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// What a legend says.
    pub(super) name: &'static str,
    /// What stands in a bar that is wide enough.
    pub(super) letter: &'static str,
    /// The class that gives the colour.
    pub(super) colour: &'static str,
}

/// When in the debate something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Period {
    /// Before the first round.
    Before,
    /// In a round.
    Round(u32),
    /// After the last round.
    Closing,
}

/// The contributions of one kind in a round.
pub(super) struct Section {
    /// Which these are.
    pub(super) kind: ContributionType,
    /// Its heading.
    pub(super) title: &'static str,
    /// What is said of one that is empty; a section without that is left out then.
    pub(super) empty: Option<&'static str>,
}

/// The sections of a round in their order.
pub(super) const SECTIONS: [Section; 8] = [
    section(ContributionType::Proposal, "Proposals", Some("No proposals in this round.")),
    section(ContributionType::Critique, "Critiques", Some("No critiques in this round.")),
    section(ContributionType::Refinement, "Refinements", Some("No refinements in this round.")),
    section(ContributionType::Opening, "Openings", None),
    section(ContributionType::Rebuttal, "Rebuttals", None),
    section(ContributionType::Closing, "Closings", None),
    section(ContributionType::Revision, "Revisions", None),
    section(ContributionType::Vote, "Votes", None),
];

const fn section(kind: ContributionType, title: &'static str, empty: Option<&'static str>) -> Section {
    Section { kind, title, empty }
}

/// The phases in the order in which a legend explains their marks; the judge's summary has that of the agents'.
const LEGEND: [Phase; 8] = [
    Phase::Clarification,
    Phase::Summarization,
    Phase::Proposal,
    Phase::Critique,
    Phase::Refinement,
    Phase::Evaluation,
    Phase::Vote,
    Phase::Synthesis,
];

/// The marks of `phases` in the order of a legend, each once.
pub(super) fn legend(phases: impl Iterator<Item = Phase> + Clone) -> impl Iterator<Item = Mark> {
    LEGEND.into_iter().map(mark).filter(move |shown| phases.clone().any(|phase| mark(phase) == *shown))
}

/// How the calls of a phase are marked.
pub(super) fn mark(phase: Phase) -> Mark {
    let (name, letter, colour) = match phase {
        Phase::Clarification => ("clarification", "?", "p1"),
        Phase::Summarization | Phase::JudgeSummary => ("summary", "S", "p2"),
        Phase::Proposal => ("proposal", "P", "p3"),
        Phase::Critique => ("critique", "C", "p4"),
        Phase::Refinement => ("refinement", "R", "p5"),
        Phase::Vote => ("vote", "V", "p6"),
        Phase::Evaluation => ("evaluation", "E", "p7"),
        Phase::Synthesis => ("synthesis", "A", "p8"),
    };
    Mark { name, letter, colour }
}

/// What joins a call of a phase to whom it is about: a critique *of*, a vote *for* somebody.
pub(super) fn preposition(phase: Phase) -> &'static str {
    if phase == Phase::Vote { "for" } else { "of" }
}

impl Period {
    /// When calls of a phase are made.
    pub(super) fn of(phase: Phase, round: u32) -> Self {
        match phase {
            Phase::Clarification => Self::Before,
            Phase::Summarization | Phase::Proposal | Phase::Critique | Phase::Refinement | Phase::Evaluation => {
                Self::Round(round)
            }
            Phase::Vote | Phase::JudgeSummary | Phase::Synthesis => Self::Closing,
        }
    }
}

/// The phase in which contributions of a kind are made.
pub(super) fn phase(kind: ContributionType) -> Phase {
    match kind {
        ContributionType::Proposal | ContributionType::Opening => Phase::Proposal,
        ContributionType::Critique | ContributionType::Rebuttal => Phase::Critique,
        ContributionType::Refinement | ContributionType::Revision | ContributionType::Closing => Phase::Refinement,
        ContributionType::Vote => Phase::Vote,
    }
}

/// What a contribution is called.
pub(super) fn noun(kind: ContributionType) -> &'static str {
    match kind {
        ContributionType::Proposal => "proposal",
        ContributionType::Critique => "critique",
        ContributionType::Refinement => "refinement",
        ContributionType::Opening => "opening",
        ContributionType::Rebuttal => "rebuttal",
        ContributionType::Closing => "closing",
        ContributionType::Revision => "revision",
        ContributionType::Vote => "vote",
    }
}

/// Whether a contribution is about somebody, known or not.
pub(super) fn has_target(kind: ContributionType) -> bool {
    matches!(kind, ContributionType::Critique | ContributionType::Vote)
}

/// Whether a contribution is a position of its author's own.
pub(super) fn is_position(contribution: &Contribution) -> bool {
    !has_target(contribution.kind)
}

/// Whether a contribution takes the place of its author's position before it. Speeches of a motion debate follow each
/// other.
pub(super) fn replaces_position(contribution: &Contribution) -> bool {
    matches!(contribution.kind, ContributionType::Proposal | ContributionType::Refinement | ContributionType::Revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_in_the_order_of_the_debate() {
        let periods = [Period::Before, Period::Round(1), Period::Round(2), Period::Round(10), Period::Closing];
        assert!(periods.is_sorted());
        assert_eq!(Period::of(Phase::Vote, 3), Period::Closing);
        assert_eq!(Period::of(Phase::Evaluation, 3), Period::Round(3));
    }
}
