//! The values of each template: its fields are exactly the template's variables, which a test compares.

use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::catalog::{PromptError, Template, render};
use super::material::{Authored, Candidate, Clarification, Entry, FocusedRole, MaterialPart, OwnRound, Persona};

/// Values that render into the text of one template.
pub trait Prompt: Serialize {
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
macro_rules! prompt {
    ($(#[$doc:meta])+ $name:ident, $template:ident { $($(#[$field_doc:meta])+ $field:ident: $type:ty,)+ }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Serialize)]
        pub struct $name<'a> {
            $($(#[$field_doc])+ pub $field: $type,)+
        }

        impl Prompt for $name<'_> {
            const TEMPLATE: Template = Template::$template;
        }
    };
}

prompt! {
    /// The beginning of every prompt of a debate.
    Foundation, Foundation {
        /// The problem, whole.
        problem: &'a str,
        /// The directory that file tools read.
        context_dir: Option<&'a str>,
        /// Questions that the user answered.
        clarifications: &'a [Clarification<'a>],
    }
}

prompt! {
    /// What concerns an agent in the finished rounds.
    History, History {
        /// The texts, newest first, at least one.
        entries: &'a [Entry<'a>],
    }
}

prompt! {
    /// Body: write a proposal.
    Propose, Propose {
        /// The agent's newest summary of its own history.
        own_summary: Option<&'a str>,
        /// The agent's role; see [`Role::proposing`](super::Role::proposing).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// Body: criticise a proposal of another agent.
    Critique, Critique {
        /// The proposal.
        proposal: Authored<'a>,
        /// The critic's newest summary of its own history.
        own_summary: Option<&'a str>,
        /// The critic's role; see [`Role::critiquing`](super::Role::critiquing).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// Body: rework one's own proposal.
    Refine, Refine {
        /// The agent's own proposal.
        proposal: Authored<'a>,
        /// Every critique of it.
        critiques: &'a [Authored<'a>],
        /// The agent's newest summary of its own history.
        own_summary: Option<&'a str>,
        /// The agent's role; see [`Role::refining`](super::Role::refining).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// The texts of an agent's own history, for a summary prompt of the user's that says where they belong.
    OwnHistory, OwnHistory {
        /// The agent's own part of the finished rounds.
        rounds: &'a [OwnRound<'a>],
        /// The summary that the new one takes the place of.
        own_summary: Option<&'a str>,
    }
}

prompt! {
    /// Body: condense one's own history.
    Summarize, Summarize {
        /// The agent's own part of the finished rounds; none where the role's text holds it.
        rounds: &'a [OwnRound<'a>],
        /// The summary that the new one takes the place of.
        own_summary: Option<&'a str>,
        /// The limit, in characters.
        max_length: usize,
        /// The agent's role; see [`Role::summarizing`](super::Role::summarizing).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// Body: ask the user what is unclear. Answers are read as JSON with the key `questions`.
    Clarify, Clarify {
        /// How many questions are allowed.
        max_questions: u32,
        /// The agent's role; see [`Role::clarifying`](super::Role::clarifying).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// Body: choose among candidates. Answers are JSON with the keys `choice`, `confidence`, `reason`.
    Vote, Vote {
        /// The candidates, anonymised and shuffled.
        candidates: &'a [Candidate<'a>],
        /// The voter.
        role: Persona<'a>,
    }
}

prompt! {
    /// Body: score the consensus. Answers are JSON with the key `confidence`.
    EvaluateConvergence, EvaluateConvergence {
        /// The latest refinements, anonymised and shuffled.
        candidates: &'a [Candidate<'a>],
        /// The judge.
        role: Persona<'a>,
    }
}

prompt! {
    /// Body: score the best candidate. Answers are JSON with the key `confidence`.
    EvaluateQuality, EvaluateQuality {
        /// The latest refinements, anonymised and shuffled.
        candidates: &'a [Candidate<'a>],
        /// The judge.
        role: Persona<'a>,
    }
}

prompt! {
    /// Body: condense the rounds before the final one for the synthesis.
    JudgeSummarize, JudgeSummarize {
        /// Their texts in the order in which they were written, anonymised; none where the role's text holds them.
        entries: &'a [Entry<'a>],
        /// The limit, in characters.
        max_length: usize,
        /// The judge; see [`Role::summarizing`](super::Role::summarizing).
        role: FocusedRole<'a>,
    }
}

prompt! {
    /// Body: write the solution. Answers are Markdown with a JSON block at the end.
    Synthesize, Synthesize {
        /// What it rests on, anonymised: the earlier rounds or a summary of them, and the final round.
        material: &'a [MaterialPart<'a>],
        /// The judge.
        role: Persona<'a>,
    }
}

prompt! {
    /// Body: assess a solution that came without an assessment. Answers are JSON with the keys of an assessment.
    Assess, Assess {
        /// What it was merged from, if it was.
        candidates: &'a [Candidate<'a>],
        /// The solution.
        solution: &'a str,
        /// The judge.
        role: Persona<'a>,
    }
}

prompt! {
    /// Body: amend the strongest candidate. Answers are Markdown with a JSON block at the end, which names the base.
    Merge, Merge {
        /// The refinements, anonymised and shuffled.
        candidates: &'a [Candidate<'a>],
        /// The judge.
        role: Persona<'a>,
    }
}

prompt! {
    /// What is said after an answer that could not be read as JSON. A turn of its own, not a body.
    SecondChance, SecondChance {
        /// Why it could not be read.
        error: &'a str,
    }
}

/// What is said after an answer of the judge without a solution. A turn of its own, not a body.
#[derive(Debug, Clone, Serialize)]
pub struct NoSolution {}

impl Prompt for NoSolution {
    const TEMPLATE: Template = Template::NoSolution;
}

prompt! {
    /// The user's answers, in place of `{clarifications}` in an evaluator's prompts.
    EvaluatorClarifications, EvaluatorClarifications {
        /// All questions, answered or not.
        clarifications: &'a [Clarification<'a>],
    }
}
