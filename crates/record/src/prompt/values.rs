//! The values of each template: its fields are exactly the template's variables, which a test compares.

use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, Template, render};
use super::material::{AnsweredQuestion, Asker, Attached, Candidate, OwnRound, Persona, TitledText};

/// Values that render into the text of one template.
pub trait Fill: Serialize {
    /// The template.
    const TEMPLATE: Template;

    /// The text, without a line end at its end.
    ///
    /// # Errors
    /// A defect of the template; tests render each of them.
    fn render(&self) -> Result<String, PromptError>
    where
        Self: Sized,
    {
        render(Self::TEMPLATE, Value::from(Serde(self)))
    }
}

/// Declares a type of values and the template they belong to.
macro_rules! values {
    ($(#[$doc:meta])+ $name:ident, $template:ident { $($(#[$field_doc:meta])+ $field:ident: $type:ty,)+ }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Serialize)]
        pub struct $name<'a> {
            $($(#[$field_doc])+ pub $field: $type,)+
        }

        impl Fill for $name<'_> {
            const TEMPLATE: Template = Template::$template;
        }
    };
}

values! {
    /// The beginning of every prompt of a debate.
    Beginning, Beginning {
        /// The problem, whole.
        problem: &'a str,
        /// Files that the user put beside it.
        attachments: &'a [Attached<'a>],
        /// The directory that file tools read.
        context_dir: Option<&'a str>,
        /// What was collected for the debate.
        gathered: &'a [TitledText<'a>],
        /// Questions that the user answered.
        clarifications: &'a [AnsweredQuestion<'a>],
    }
}

values! {
    /// What concerns an agent in the finished rounds.
    History, History {
        /// The texts, newest first, at least one.
        entries: &'a [TitledText<'a>],
    }
}

values! {
    /// The texts of an agent's own history, for a summary prompt of the user's that says where they belong.
    OwnHistory, OwnHistory {
        /// The agent's own part of the finished rounds.
        rounds: &'a [OwnRound<'a>],
        /// The summary that the new one takes the place of.
        own_summary: Option<&'a str>,
    }
}

values! {
    /// Body: assess a solution that came without an assessment. Answers are JSON with the keys of an assessment.
    Assess, Assess {
        /// What it was merged from, if it was.
        candidates: &'a [Candidate<'a>],
        /// Points of critics that are open, numbered, where there are any.
        points: Option<&'a str>,
        /// Whether authors could answer them.
        answered: bool,
        /// The solution.
        solution: &'a str,
        /// The judge.
        role: Persona<'a>,
    }
}

values! {
    /// What is said after an answer that could not be read as JSON. A turn of its own, not a body.
    SecondChance, SecondChance {
        /// Why it could not be read.
        error: &'a str,
    }
}

/// The message after a critique without readable points. A turn of its own, not a body.
#[derive(Debug, Clone, Serialize)]
pub struct NoPoints {}

impl Fill for NoPoints {
    const TEMPLATE: Template = Template::NoPoints;
}

/// The message after a reader's text without readable findings. A turn of its own, not a body.
#[derive(Debug, Clone, Serialize)]
pub struct NoFindings {}

impl Fill for NoFindings {
    const TEMPLATE: Template = Template::NoFindings;
}

/// The message after a text that says nothing readable of another one's findings. A turn of its own, not a body.
#[derive(Debug, Clone, Serialize)]
pub struct NoOpinions {}

impl Fill for NoOpinions {
    const TEMPLATE: Template = Template::NoOpinions;
}

/// What is said after an answer of the judge without a solution. A turn of its own, not a body.
#[derive(Debug, Clone, Serialize)]
pub struct NoSolution {}

impl Fill for NoSolution {
    const TEMPLATE: Template = Template::NoSolution;
}

values! {
    /// The user's answers, in place of `{clarifications}` in an evaluator's prompts.
    EvaluatorClarifications, EvaluatorClarifications {
        /// All questions, answered or not.
        clarifications: &'a [AnsweredQuestion<'a>],
    }
}

values! {
    /// The user's answers, in place of `{clarifications}` in the user's own prompt files.
    PlainClarifications, PlainClarifications {
        /// The agents that asked; each asked something.
        groups: &'a [Asker<'a>],
    }
}
