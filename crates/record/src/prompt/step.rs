//! The prompts of a protocol's calls, and the values that they show.

use std::sync::{LazyLock, PoisonError, RwLock};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, environment};

/// A prompt of a protocol: a template over [`Values`], or its system text, a template without values.
#[derive(Debug)]
pub struct Prompt {
    /// The file, relative to `prompts/`.
    pub file: &'static str,
    pub text: &'static str,
    /// The section of the role that it includes.
    pub focus: Focus,
}

/// The section of a role that guides a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// None: the model speaks without a role.
    None,
    /// `Propose`.
    Propose,
    /// `Critique`.
    Critique,
    /// `Refine`.
    Refine,
    /// `Summarize`.
    Summarize,
    /// `Clarify`.
    Clarify,
}

/// The possible contents of a prompt. Values that do not apply are empty.
#[derive(Debug, Clone, Serialize)]
pub struct Values<'a> {
    /// The called agent's role.
    pub role: FocusedRole<'a>,
    /// The available texts of the step's inputs, in order. Critiques only if their points are not listed.
    pub inputs: Vec<Authored<'a>>,
    /// The same texts without authors, shuffled.
    pub candidates: Vec<Candidate<'a>>,
    /// The agent's own newest summary.
    pub own_summary: Option<&'a str>,
    /// The agent's own part of the finished rounds.
    pub rounds: Vec<OwnRound<'a>>,
    /// Texts under their own headings: a transcript, earlier rounds.
    pub entries: Vec<TitledText<'a>>,
    /// The texts of the whole debate in parts.
    pub material: Vec<MaterialPart<'a>>,
    /// Critics' points as a numbered list: for a critic those to recheck, for an author those to answer, for the judge
    /// the open ones. `None` without any.
    pub points: Option<&'a str>,
    /// Points accepted in the last round whose changes were not verified.
    pub claims: Option<&'a str>,
    /// Reviewers' remarks that reject whole approaches.
    pub approaches: Option<&'a str>,
    /// A draft of the answer to check or rewrite.
    pub draft: Option<CheckedDraft<'a>>,
    /// The user's question about the finished debate.
    pub question: Option<&'a str>,
    /// The disputed matters.
    pub dispute: Option<&'a str>,
    /// The decisions of the texts, each wording once.
    pub decisions: Vec<&'a str>,
    /// The major requirements found in the problem, if decisions are shown.
    pub requirements: Vec<String>,
    /// The number of the text on which a solution is built.
    pub base: Option<&'a str>,
    /// The agent's side: `for`, `against` or `neutral`.
    pub side: &'static str,
    /// The display name of the call's target.
    pub target: Option<&'a str>,
    /// The labels of the debaters who are judged.
    pub debaters: Vec<&'a str>,
    /// The judge's criteria.
    pub criteria: Vec<&'a str>,
    pub max_questions: u32,
    /// The maximum number of words in a summary.
    pub max_words: usize,
}

impl Prompt {
    /// The prompt of a call that only sends texts.
    pub const NONE: Self = Self { file: "", text: "", focus: Focus::None };

    /// The rendered text without a final line end. Model output is never treated as a template.
    ///
    /// # Errors
    /// The template is defective; tests render each of them.
    pub fn render(&self, values: &impl Serialize) -> Result<String, PromptError> {
        static COMPILED: LazyLock<RwLock<Environment<'static>>> = LazyLock::new(|| RwLock::new(environment().clone()));
        let values = minijinja::Value::from(Serde(values));
        let failed = |source| PromptError { template: self.file, source };
        // Two protocols may have files with the same name.
        let name = format!("{}@{:p}", self.file, self.text);
        if let Ok(template) = COMPILED.read().unwrap_or_else(PoisonError::into_inner).get_template(&name) {
            return template.render(values).map_err(failed);
        }
        let mut compiled = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
        compiled.add_template_owned(name.clone(), self.text).map_err(failed)?;
        compiled.get_template(&name).and_then(|template| template.render(values)).map_err(failed)
    }
}

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

/// The speaker and its focus in this phase.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FocusedRole<'a> {
    pub title: &'a str,
    /// The role's concerns and way of thinking.
    pub system: &'a str,
    /// The focus in this phase.
    pub focus: &'a str,
}

/// A text with its author's number.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Authored<'a> {
    /// The number of the author's own text in prompts.
    pub author: &'a str,
    pub text: &'a str,
}

/// A file that the user attached to the problem.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Attached<'a> {
    /// The user's name for it.
    pub name: &'a str,
    /// The digest of its bytes.
    pub sha256: &'a str,
    pub text: &'a str,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct TitledText<'a> {
    /// The title, one line.
    pub title: &'a str,
    pub text: &'a str,
}

/// A text to choose from.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Candidate<'a> {
    /// The number in prompts.
    pub label: &'a str,
    pub text: &'a str,
}

/// An agent and its questions to the user.
#[derive(Debug, Clone, Serialize)]
pub struct Asker<'a> {
    pub agent: &'a str,
    pub role: &'a str,
    pub items: Vec<AskedItem<'a>>,
}

/// An agent's question and its id.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AskedItem<'a> {
    /// The recorded id.
    pub id: &'a str,
    pub question: &'a str,
    /// The user's answer, `NA` if there is none.
    pub answer: &'a str,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct AnsweredQuestion<'a> {
    pub question: &'a str,
    /// The user's answer, or `NA`.
    pub answer: &'a str,
}

/// An agent's own part of a finished round.
#[derive(Debug, Clone, Serialize)]
pub struct OwnRound<'a> {
    /// The proposal; `None` if it repeats the previous refinement.
    pub proposal: Option<Authored<'a>>,
    pub critiques: Vec<Authored<'a>>,
    pub refinement: Option<Authored<'a>>,
}

/// A part of the material for the judge's synthesis.
#[derive(Debug, Clone, Serialize)]
pub struct MaterialPart<'a> {
    /// The heading, such as `The final round`.
    pub heading: &'a str,
    pub entries: Vec<TitledText<'a>>,
}

/// A draft of the answer for its checkers and its author.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CheckedDraft<'a> {
    pub text: &'a str,
    /// The information for the user that accompanies the text.
    pub assessment: Option<&'a str>,
    /// The lens of the check: `requirements`, `execute` or `facts`; empty for its author.
    pub lens: &'static str,
    /// For the first lens, the accepted points; for the author, those that the check did not find.
    pub accepted: Option<&'a str>,
    /// The numbered points of its checkers.
    pub points: Option<&'a str>,
    /// Whether its author may abandon its approach.
    pub may_rethink: bool,
}
