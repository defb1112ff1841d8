//! The values of each template. A test compares their fields with the template's variables.

use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, Template, render};
use super::material::{AnsweredQuestion, Asker, Attached, Candidate, OwnRound, Persona, TitledText};

/// Values that render one template.
pub trait Fill: Serialize {
    /// The template.
    const TEMPLATE: Template;

    /// The rendered text without a final line end.
    ///
    /// # Errors
    /// The template is defective; tests render each of them.
    fn render(&self) -> Result<String, PromptError>
    where
        Self: Sized,
    {
        render(Self::TEMPLATE, Value::from(Serde(self)))
    }
}

/// Declares a type of values and its template.
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
        /// The whole problem.
        problem: &'a str,
        /// The user's attachments.
        attachments: &'a [Attached<'a>],
        /// The directory for file tools.
        context_dir: Option<&'a str>,
        /// The collected material.
        gathered: &'a [TitledText<'a>],
        /// The user's answered questions.
        clarifications: &'a [AnsweredQuestion<'a>],
    }
}

values! {
    /// An agent's history in the finished rounds.
    History, History {
        /// The texts, newest first, at least one.
        entries: &'a [TitledText<'a>],
    }
}

values! {
    /// The texts of an agent's own history, for a user's summary prompt with a placeholder.
    OwnHistory, OwnHistory {
        /// The agent's own part of the finished rounds.
        rounds: &'a [OwnRound<'a>],
        /// The summary that the new one replaces.
        own_summary: Option<&'a str>,
    }
}

values! {
    /// Body: assess a solution without an assessment. Answers are JSON with the keys of an assessment.
    Assess, Assess {
        /// The texts that it merges, if any.
        candidates: &'a [Candidate<'a>],
        /// The numbered open points, if any.
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
    /// The message after unreadable JSON, sent as a separate turn.
    SecondChance, SecondChance {
        /// The reading error.
        error: &'a str,
    }
}

/// The message after a critique without readable points, sent as a separate turn.
#[derive(Debug, Clone, Serialize)]
pub struct NoPoints {}

impl Fill for NoPoints {
    const TEMPLATE: Template = Template::NoPoints;
}

/// The message after a reader's text without readable findings, sent as a separate turn.
#[derive(Debug, Clone, Serialize)]
pub struct NoFindings {}

impl Fill for NoFindings {
    const TEMPLATE: Template = Template::NoFindings;
}

/// The message after a text without readable opinions on another reader's findings, sent as a separate turn.
#[derive(Debug, Clone, Serialize)]
pub struct NoOpinions {}

impl Fill for NoOpinions {
    const TEMPLATE: Template = Template::NoOpinions;
}

/// The message after a judge's answer without a solution, sent as a separate turn.
#[derive(Debug, Clone, Serialize)]
pub struct NoSolution {}

impl Fill for NoSolution {
    const TEMPLATE: Template = Template::NoSolution;
}

values! {
    /// The user's answers, for `{clarifications}` in an evaluator's prompts.
    EvaluatorClarifications, EvaluatorClarifications {
        /// All questions, answered or not.
        clarifications: &'a [AnsweredQuestion<'a>],
    }
}

values! {
    /// The user's answers, for `{clarifications}` in the user's own prompt files.
    PlainClarifications, PlainClarifications {
        /// The agents that asked questions.
        groups: &'a [Asker<'a>],
    }
}
