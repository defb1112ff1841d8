//! What a protocol says to a model in one of its calls.

use std::sync::{LazyLock, PoisonError, RwLock};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, environment};
use super::material::{Authored, Candidate, CheckedDraft, FocusedRole, MaterialPart, OwnRound, TitledText};

/// A prompt of a protocol: a template over [`Values`], or its system text, a template over nothing.
#[derive(Debug)]
pub struct Prompt {
    /// Its file, relative to `prompts/`.
    pub file: &'static str,
    /// The template.
    pub text: &'static str,
    /// What of its role is put into it.
    pub focus: Focus,
}

/// The section of a role that guides a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// None: who is called is itself, and no more.
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

/// What a prompt can show. A template takes what it needs; what does not apply to its call is empty.
#[derive(Debug, Clone, Serialize)]
pub struct Values<'a> {
    /// Who is called.
    pub role: FocusedRole<'a>,
    /// The texts of the step's inputs that are there, in their order. Of critiques only those whose points stand in no
    /// list.
    pub inputs: Vec<Authored<'a>>,
    /// The same without their authors, shuffled.
    pub candidates: Vec<Candidate<'a>>,
    /// The agent's own newest summary.
    pub own_summary: Option<&'a str>,
    /// The agent's own part of the finished rounds.
    pub rounds: Vec<OwnRound<'a>>,
    /// Texts under headings of their own: a transcript, earlier rounds.
    pub entries: Vec<TitledText<'a>>,
    /// The texts of the whole debate, in parts.
    pub material: Vec<MaterialPart<'a>>,
    /// Points that critics raised, as a list under their numbers: for a critic those to recheck, for an author those to
    /// answer, for the judge the open ones. Absent where there is none.
    pub points: Option<&'a str>,
    /// Points accepted in the last round whose change nobody has verified in the text.
    pub claims: Option<&'a str>,
    /// What reviewers say of whole approaches that no remedy can mend.
    pub approaches: Option<&'a str>,
    /// A draft of the answer, where it is checked or written anew.
    pub draft: Option<CheckedDraft<'a>>,
    /// Whether answers are to be short.
    pub quick: bool,
    /// What the user asks about the finished debate.
    pub question: Option<&'a str>,
    /// What keeps the texts from agreeing.
    pub dispute: Option<&'a str>,
    /// What the texts decide, each wording once.
    pub decisions: Vec<&'a str>,
    /// The major requirements that the program finds in the problem; only where decisions are shown.
    pub requirements: Vec<String>,
    /// The number of the text that a solution is to be built on.
    pub base: Option<&'a str>,
    /// Which side the agent speaks for: `for`, `against` or `neutral`.
    pub side: &'static str,
    /// What people call whom the call is about.
    pub target: Option<&'a str>,
    /// The labels of the debaters who are judged.
    pub debaters: Vec<&'a str>,
    /// What they are judged on.
    pub criteria: Vec<&'a str>,
    /// How many questions may be asked.
    pub max_questions: u32,
    /// How many words a summary may have.
    pub max_words: usize,
}

impl Prompt {
    /// Of a call that is sent texts and nothing else.
    pub const NONE: Self = Self { file: "", text: "", focus: Focus::None };

    /// The text, without a line end at its end. What a model wrote is never read as a template.
    ///
    /// # Errors
    /// A defect of the template; tests render each of them.
    pub fn render(&self, values: &Values<'_>) -> Result<String, PromptError> {
        self.filled(minijinja::Value::from(Serde(values)))
    }

    /// The text of one that shows nothing of the debate, such as a system text.
    ///
    /// # Errors
    /// As of [`render`](Self::render).
    pub fn render_bare(&self) -> Result<String, PromptError> {
        self.filled(minijinja::Value::from(()))
    }

    fn filled(&self, values: minijinja::Value) -> Result<String, PromptError> {
        static COMPILED: LazyLock<RwLock<Environment<'static>>> = LazyLock::new(|| RwLock::new(environment().clone()));
        let failed = |source| PromptError { template: self.file, source };
        // Two protocols may have files of the same name.
        let name = format!("{}@{:p}", self.file, self.text);
        if let Ok(template) = COMPILED.read().unwrap_or_else(PoisonError::into_inner).get_template(&name) {
            return template.render(values).map_err(failed);
        }
        let mut compiled = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
        compiled.add_template_owned(name.clone(), self.text).map_err(failed)?;
        compiled.get_template(&name).and_then(|template| template.render(values)).map_err(failed)
    }
}
