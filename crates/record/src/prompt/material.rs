//! The pieces that the values of templates are made of.

use serde::Serialize;

/// The role, for templates that state the task themselves.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Persona<'a> {
    /// The role's title.
    pub title: &'a str,
    /// What the role cares about and how it thinks.
    pub system: &'a str,
}

/// Who speaks, and what this role looks at in the phase at hand.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FocusedRole<'a> {
    /// The role's title.
    pub title: &'a str,
    /// What the role cares about and how it thinks.
    pub system: &'a str,
    /// What it looks at in this phase.
    pub focus: &'a str,
}

/// A text and its author's number.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Authored<'a> {
    /// The number of the author's own text, as prompts show it.
    pub author: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A file that the user put beside the problem.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Attached<'a> {
    /// What the user calls it.
    pub name: &'a str,
    /// The digest of its bytes.
    pub sha256: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A text under a title.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TitledText<'a> {
    /// The title, one line.
    pub title: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A text to choose from.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Candidate<'a> {
    /// Its number, as prompts show it.
    pub label: &'a str,
    /// The text.
    pub text: &'a str,
}

/// An agent and the questions that it put to the user.
#[derive(Debug, Clone, Serialize)]
pub struct Asker<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// Its role.
    pub role: &'a str,
    /// Its questions.
    pub items: Vec<AskedItem<'a>>,
}

/// A question of an agent, with its id.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AskedItem<'a> {
    /// As the record has it.
    pub id: &'a str,
    /// The question.
    pub question: &'a str,
    /// The user's answer, `NA` if there is none.
    pub answer: &'a str,
}

/// A question that was put to the user.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AnsweredQuestion<'a> {
    /// The question.
    pub question: &'a str,
    /// The user's answer, `NA` where there is none.
    pub answer: &'a str,
}

/// An agent's own part of a finished round.
#[derive(Debug, Clone, Serialize)]
pub struct OwnRound<'a> {
    /// Its proposal; `None` where it repeats the refinement of the round before.
    pub proposal: Option<Authored<'a>>,
    /// The critiques of it.
    pub critiques: Vec<Authored<'a>>,
    /// Its refinement.
    pub refinement: Option<Authored<'a>>,
}

/// A part of what the judge's synthesis rests on.
#[derive(Debug, Clone, Serialize)]
pub struct MaterialPart<'a> {
    /// Its heading, such as `The final round`.
    pub heading: &'a str,
    /// Its texts.
    pub entries: Vec<TitledText<'a>>,
}

/// A draft of the answer, as its checkers see it, and who writes it anew.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CheckedDraft<'a> {
    /// Its text.
    pub text: &'a str,
    /// What the user is told beside it.
    pub assessment: Option<&'a str>,
    /// Through which lens it is read: `requirements`, `execute` or `facts`; empty where it is written anew.
    pub lens: &'static str,
    /// For the first lens the points that were accepted on the way to it; for its author, those that the check did not
    /// find in it.
    pub accepted: Option<&'a str>,
    /// The points of its checkers, under their numbers.
    pub points: Option<&'a str>,
    /// Whether its writer may give up its approach.
    pub may_rethink: bool,
    /// The sections of its text that changed since somebody else read it.
    pub changed: &'a [String],
}
