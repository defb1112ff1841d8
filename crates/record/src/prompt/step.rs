//! The prompts of a protocol's calls.

use std::sync::{LazyLock, PoisonError, RwLock};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, environment};
use super::material::{Authored, Candidate, CheckedDraft, FocusedRole, MaterialPart, OwnRound, TitledText};

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
