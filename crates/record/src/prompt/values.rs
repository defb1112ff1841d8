//! The prompts that protocols share, and the values of each. A test compares their fields with the prompt's variables.

use serde::Serialize;

use super::Prompt;
use super::material::{AnsweredQuestion, Asker, Attached, Candidate, FocusedRole, OwnRound, TitledText};

/// Problem, files, clarifications: the beginning of every prompt.
pub static BEGINNING: Prompt = prompt!("beginning.md", None);
/// The finished rounds.
pub static HISTORY: Prompt = prompt!("history.md", None);
/// An agent's own history for its summary prompt.
pub static OWN_HISTORY: Prompt = prompt!("phases/own-history.md", None);
/// The judge assesses a solution without an assessment.
pub static ASSESS: Prompt = prompt!("judge/assess.md", None);
/// The message after an unreadable answer, sent as a separate turn.
pub static SECOND_CHANCE: Prompt = prompt!("second-chance.md", None);
/// The message after a critique without readable points, sent as a separate turn.
pub static POINTS_AGAIN: Prompt = prompt!("second-chance-points.md", None);
/// The message after a reader's text without readable findings, sent as a separate turn.
pub static FINDINGS_AGAIN: Prompt = prompt!("second-chance-findings.md", None);
/// The message after a text without readable opinions on another reader's findings, sent as a separate turn.
pub static OPINIONS_AGAIN: Prompt = prompt!("second-chance-opinions.md", None);
/// The message after a judge's answer without a solution, sent as a separate turn.
pub static SOLUTION_AGAIN: Prompt = prompt!("judge/no-solution.md", None);
/// The user's answers for an evaluator.
pub static EVALUATOR_CLARIFICATIONS: Prompt = prompt!("evaluator/clarifications.md", None);
/// The same for a user's own prompt file.
pub static PLAIN_CLARIFICATIONS: Prompt = prompt!("evaluator/clarifications-plain.md", None);

/// The prompts of all protocols.
pub(super) const TEMPLATES: [&Prompt; 11] = [
    &BEGINNING,
    &HISTORY,
    &OWN_HISTORY,
    &ASSESS,
    &SECOND_CHANCE,
    &POINTS_AGAIN,
    &FINDINGS_AGAIN,
    &OPINIONS_AGAIN,
    &SOLUTION_AGAIN,
    &EVALUATOR_CLARIFICATIONS,
    &PLAIN_CLARIFICATIONS,
];

/// The beginning of every prompt of a debate.
#[derive(Debug, Clone, Serialize)]
pub struct Beginning<'a> {
    /// The whole problem.
    pub problem: &'a str,
    pub attachments: &'a [Attached<'a>],
    /// The directory for file tools.
    pub context_dir: Option<&'a str>,
    /// The collected material.
    pub gathered: &'a [TitledText<'a>],
    /// The user's answered questions.
    pub clarifications: &'a [AnsweredQuestion<'a>],
}

/// A request for the points of a critique.
#[derive(Debug, Clone, Serialize)]
pub struct PointsAgain<'a> {
    /// The texts whose sections are missing, if a review has others.
    pub texts: Option<&'a str>,
}

/// An agent's history in the finished rounds.
#[derive(Debug, Clone, Serialize)]
pub struct History<'a> {
    /// The texts, newest first, at least one.
    pub entries: &'a [TitledText<'a>],
}

/// The texts of an agent's own history, for a user's summary prompt with a placeholder.
#[derive(Debug, Clone, Serialize)]
pub struct OwnHistory<'a> {
    /// The agent's own part of the finished rounds.
    pub rounds: &'a [OwnRound<'a>],
    /// The summary that the new one replaces.
    pub own_summary: Option<&'a str>,
}

/// Body: assess a solution without an assessment. Answers are JSON with the keys of an assessment.
#[derive(Debug, Clone, Serialize)]
pub struct Assess<'a> {
    /// The texts that it merges, if any.
    pub candidates: &'a [Candidate<'a>],
    /// The numbered open points, if any.
    pub points: Option<&'a str>,
    /// Whether authors could answer them.
    pub answered: bool,
    pub solution: &'a str,
    pub role: FocusedRole<'a>,
}

/// The message after unreadable JSON, sent as a separate turn.
#[derive(Debug, Clone, Serialize)]
pub struct SecondChance<'a> {
    pub error: &'a str,
}

/// The user's answers, for `{clarifications}` in an evaluator's prompts.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluatorClarifications<'a> {
    /// All questions, answered or not.
    pub clarifications: &'a [AnsweredQuestion<'a>],
}

/// The user's answers, for `{clarifications}` in the user's own prompt files.
#[derive(Debug, Clone, Serialize)]
pub struct PlainClarifications<'a> {
    /// The agents that asked questions.
    pub groups: &'a [Asker<'a>],
}
