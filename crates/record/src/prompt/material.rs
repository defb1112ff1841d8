//! Parts of template values.

use serde::Serialize;

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

/// A question of an agent, with its id.
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
