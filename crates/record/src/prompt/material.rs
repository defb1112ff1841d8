//! The pieces that the values of templates are made of.

use serde::Serialize;

/// Who speaks, where the template alone says what is to be done.
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

/// A text and the agent that wrote it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Authored<'a> {
    /// The agent, as other agents know it.
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

/// An anonymised text to choose from.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Candidate<'a> {
    /// Its label: `A`, `B`, and so on.
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
    /// The user's answer, `NA` where there is none.
    pub answer: &'a str,
}

/// A question that was put to the user.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Clarification<'a> {
    /// The agent that asked.
    pub agent: &'a str,
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
