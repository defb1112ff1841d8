//! What an agent does in a phase, in the forms that sentences need.

use crate::debate::Phase;

/// The verb of a phase and its object, where that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Activity {
    /// `proposing`
    pub(super) progressive: &'static str,
    /// `proposes`
    pub(super) present: &'static str,
    /// `proposed`
    pub(super) past: &'static str,
    /// `propose`
    pub(super) infinitive: &'static str,
}

/// What an agent does in `phase`.
pub(super) fn activity(phase: Phase) -> Activity {
    let [progressive, present, past, infinitive] = match phase {
        Phase::Clarification => {
            ["looking for questions", "looks for questions", "looked for questions", "look for questions"]
        }
        Phase::Summarization => ["summarizing", "summarizes", "summarized", "summarize"],
        Phase::Proposal => ["proposing", "proposes", "proposed", "propose"],
        Phase::Critique => ["critiquing", "critiques", "critiqued", "critique"],
        Phase::Refinement => ["refining", "refines", "refined", "refine"],
        Phase::Evaluation => ["evaluating", "evaluates", "evaluated", "evaluate"],
        Phase::Vote => ["voting", "votes", "voted", "vote"],
        Phase::JudgeSummary => [
            "summarizing earlier rounds",
            "summarizes earlier rounds",
            "summarized earlier rounds",
            "summarize earlier rounds",
        ],
        Phase::Synthesis => ["synthesizing", "synthesizes", "synthesized", "synthesize"],
    };
    Activity { progressive, present, past, infinitive }
}
