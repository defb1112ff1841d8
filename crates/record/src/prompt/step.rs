//! The prompts of calls, and the values that templates can show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::debate::{Attachment, Question};
use crate::ids::{AgentId, CallKey};
use crate::points::Point;
use dialectic_base::markdown::fenced;

/// A prompt of a protocol: a template that reads [`Values`], or a system text, which has no values.
#[derive(Debug)]
pub struct Prompt {
    /// The file, relative to `prompts/`.
    pub file: &'static str,
    pub text: &'static str,
    pub focus: Focus,
}

/// The section of a role that guides a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    None,
    Propose,
    Critique,
    Refine,
    Summarize,
    Clarify,
}

/// The values that templates can show. Those that do not apply to a call are empty.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Values<'a> {
    pub role: FocusedRole<'a>,
    /// The available texts of the step's inputs, in order. Critiques are omitted if their points are listed.
    pub inputs: Vec<Authored<'a>>,
    /// The texts of the step's inputs, shuffled, with numbers instead of authors.
    #[serde(serialize_with = "labelled")]
    pub candidates: Vec<Titled<'a>>,
    pub own_summary: Option<&'a str>,
    /// The agent's own texts in the finished rounds, and the critiques of them.
    pub rounds: Vec<OwnRound<'a>>,
    /// Texts under headings, such as a transcript or earlier rounds.
    pub entries: Vec<Titled<'a>>,
    pub material: Vec<MaterialPart<'a>>,
    /// Points that were accepted in the last round and whose changes nobody has verified.
    pub claims: String,
    /// Reviewers' remarks that reject whole approaches.
    pub approaches: String,
    pub draft: Option<CheckedDraft>,
    /// The user's question about the finished debate.
    pub question: Option<&'a str>,
    /// What was disputed in the previous round.
    pub dispute: Option<String>,
    #[serde(flatten)]
    pub listing: Listing,
    /// The number of the text on which a solution is built.
    pub base: Option<String>,
    /// The agent's side: `for`, `against` or `neutral`.
    pub side: &'static str,
    /// The display name of the call's target.
    pub target: Option<&'a str>,
    pub max_questions: u32,
    /// The maximum number of words in a summary.
    pub max_words: usize,
    /// The number of characters of debate texts that the prompt would contain if no text were shortened.
    #[serde(skip)]
    pub length: usize,
}

/// What an answer can refer to by a label or number in its prompt.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Listing {
    /// The labels under which the prompt shows the authors of the candidates, or the debaters who are judged.
    #[serde(rename = "debaters")]
    pub labels: Vec<Label>,
    /// The points that a critic rechecks, an author answers or the judge rules on; in a review, the findings.
    pub points: PointList,
    #[serde(skip)]
    pub findings: Vec<String>,
    /// The decisions in the agents' texts, without repeated wordings.
    pub decisions: Vec<String>,
    /// The major requirements found in the problem, if decisions are shown.
    pub requirements: Vec<String>,
    pub criteria: Vec<String>,
    /// The calls whose texts are numbered, in order.
    #[serde(skip)]
    pub numbered: Vec<CallKey>,
}

/// A label that hides an author's name.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Label {
    pub word: String,
    #[serde(skip)]
    pub author: AgentId,
    #[serde(skip)]
    pub name: String,
}

/// A list of points. Templates see only its text.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct PointList {
    /// A line for each point, followed by its history.
    pub text: String,
    /// The points, in the order of their lines in `text`.
    #[serde(skip)]
    pub points: Vec<Point>,
    /// If points were omitted, the number of characters still free below the list's maximum length; otherwise 0.
    #[serde(skip)]
    pub room: usize,
}

/// Serializes titles as `label`, the name that templates use.
fn labelled<S: Serializer>(candidates: &[Titled<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(candidates.iter().map(|one| BTreeMap::from([("label", &*one.title), ("text", &*one.text)])))
}

impl Prompt {
    /// Renders a prompt that has a single value.
    ///
    /// # Errors
    ///
    /// See [`render`](Self::render).
    pub fn with(&self, name: &'static str, value: &impl Serialize) -> Result<String, PromptError> {
        self.render(&BTreeMap::from([(name, value)]))
    }

    /// Renders the prompt, without a final line break. Values are never treated as templates.
    ///
    /// # Errors
    ///
    /// Returns an error if the template is invalid or uses a missing value. Tests render every template to rule this
    /// out.
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

/// The beginning of every prompt: problem, files and clarifications.
pub static BEGINNING: Prompt = prompt!("beginning.md", None);
/// The finished rounds, newest first. Value: `entries`.
pub static HISTORY: Prompt = prompt!("history.md", None);
pub static OWN_HISTORY: Prompt = prompt!("phases/own-history.md", None);
/// Asks the judge to assess a solution that came without an assessment.
pub static ASSESS: Prompt = prompt!("judge/assess.md", None);
/// Asks again after unreadable JSON, as a separate turn. Value: `error`.
pub static SECOND_CHANCE: Prompt = prompt!("second-chance.md", None);
/// Asks again after a critique without readable points, as a separate turn. Value: `texts`, which names the texts that
/// the critique did not cover; empty to ask for all points.
pub static POINTS_AGAIN: Prompt = prompt!("second-chance-points.md", None);
/// Asks again after a text without readable findings, as a separate turn.
pub static FINDINGS_AGAIN: Prompt = prompt!("second-chance-findings.md", None);
/// Asks again after a text without readable opinions on another reviewer's findings, as a separate turn.
pub static OPINIONS_AGAIN: Prompt = prompt!("second-chance-opinions.md", None);
/// Asks again after a judge's answer without a solution, as a separate turn.
pub static SOLUTION_AGAIN: Prompt = prompt!("judge/no-solution.md", None);

/// The values of [`BEGINNING`].
#[derive(Debug, Clone, Serialize)]
pub struct Beginning<'a> {
    pub problem: &'a str,
    pub attachments: &'a [&'a Attachment],
    pub context_dir: Option<&'a str>,
    pub gathered: &'a [Titled<'a>],
    /// The questions that the user answered.
    pub clarifications: &'a [&'a Question<'a>],
}

/// The values of [`ASSESS`]. The answer is JSON with the keys of an assessment.
#[derive(Debug, Clone, Serialize)]
pub struct Assess<'a> {
    /// The texts that the solution merges, if any.
    #[serde(serialize_with = "labelled")]
    pub candidates: &'a [Titled<'a>],
    /// The numbered open points, if any.
    pub points: &'a str,
    /// Whether authors could answer the points.
    pub answered: bool,
    pub solution: &'a str,
    pub role: FocusedRole<'a>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct FocusedRole<'a> {
    pub title: &'a str,
    pub system: &'a str,
    /// The role's section for this kind of call; may be empty.
    pub focus: &'a str,
}

#[derive(Debug, Clone, Serialize)]
pub struct Authored<'a> {
    /// The number under which prompts show the author's own text.
    pub author: String,
    pub text: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Titled<'a> {
    /// The heading, as a single line.
    pub title: String,
    pub text: Cow<'a, str>,
}

impl<'a> Titled<'a> {
    pub fn new(title: impl Into<String>, text: impl Into<Cow<'a, str>>) -> Self {
        Self { title: title.into(), text: text.into() }
    }
}

/// An agent's own texts in a finished round, and the critiques of them.
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
    /// For example, `The final round`.
    pub heading: &'static str,
    pub entries: Vec<Titled<'a>>,
}

/// A draft of the answer for its checkers and its author.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CheckedDraft {
    pub text: String,
    /// The information for the user that accompanies the text.
    pub assessment: String,
    /// The lens of the check: `requirements`, `execute` or `facts`. Empty in the author's prompt.
    pub lens: &'static str,
    /// For the first lens, the accepted points. For the author, the accepted points whose changes the check did not
    /// find.
    pub accepted: PointList,
    /// The checkers' numbered points.
    pub points: String,
    pub may_rethink: bool,
}

/// Joins the parts of a prompt. The parts that several calls have in common come first, because providers discount
/// repeated prefixes.
pub fn compose(beginning: &str, history: Option<&str>, body: &str) -> Arc<str> {
    [Some(beginning), history, Some(body)].into_iter().flatten().collect::<Vec<_>>().join("\n\n").into()
}

/// Texts that templates import or that system texts include. They are not prompts by themselves.
pub(super) const PARTS: [(&str, &str); 6] = [
    ("parts.md", include_str!("../../prompts/parts.md")),
    ("system/evidence.md", include_str!("../../prompts/system/evidence.md")),
    ("system/requirements.md", include_str!("../../prompts/system/requirements.md")),
    ("system/material.md", include_str!("../../prompts/system/material.md")),
    ("system/labels.md", include_str!("../../prompts/system/labels.md")),
    ("system/form.md", include_str!("../../prompts/system/form.md")),
];

/// A template could not be rendered. This is a bug, since templates are compiled in.
#[derive(Debug, Error)]
#[error("prompt template {template} could not be rendered")]
pub struct PromptError {
    pub template: &'static str,
    #[source]
    pub source: minijinja::Error,
}

pub(super) fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_auto_reload(false);
        environment.set_loader(|name| Ok(PARTS.iter().find(|(part, _)| *part == name).map(|(_, text)| *text)));
        environment.add_filter("fence", |text: &str, info: &str| fenced(info, text));
        environment.add_filter("line", line);
        environment
    });
    &ENVIRONMENT
}

/// Returns `text` on one line, so that a name cannot break out of its heading.
pub(super) fn line(text: &str) -> String {
    text.split(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
        .filter(|piece| !piece.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
