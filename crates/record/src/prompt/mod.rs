//! Prompts: the files of `prompts/`, compiled in, and their rendering.
//!
//! [`compose`] builds a request's prompt from a beginning shared by all calls of a debate, an optional [`History`], and
//! the rendered [`Prompt`] of the step. Shared parts come first, byte for byte, since providers discount repeated
//! beginnings.
//!
//! Rendering is one pass: values are never treated as templates, and foreign text is in fences that it cannot leave.
//! Nothing here knows providers, reads answers, or contains prompt text.

/// A prompt in `prompts`, and the section of the role that it uses.
macro_rules! prompt {
    ($file:literal, $focus:ident) => {
        $crate::prompt::Prompt {
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts/", $file)),
            focus: $crate::prompt::Focus::$focus,
        }
    };
}

mod catalog;
mod evaluator;
mod role;
mod step;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use catalog::{PromptError, PromptFileError, read_prompt, read_whole_prompt, version};
pub use evaluator::{
    EvaluatorValues, SOLUTION_PLACEHOLDER, evaluator_system, evaluator_user, pairwise_checklist, pairwise_ruling,
    pairwise_system,
};
pub use role::{Role, RoleError};
pub use step::{
    ASSESS, AnsweredQuestion, AskedItem, Asker, Assess, Attached, Authored, BEGINNING, Beginning, Candidate,
    CheckedDraft, EVALUATOR_CLARIFICATIONS, EvaluatorClarifications, FINDINGS_AGAIN, Focus, FocusedRole, HISTORY,
    History, MaterialPart, OPINIONS_AGAIN, OWN_HISTORY, OwnHistory, OwnRound, PLAIN_CLARIFICATIONS, POINTS_AGAIN,
    PlainClarifications, PointsAgain, Prompt, SECOND_CHANCE, SOLUTION_AGAIN, SecondChance, TitledText, Values,
};

/// A request's prompt: the shared beginning, the history if any, and the call's body, separated by blank lines.
pub fn compose(beginning: &str, history: Option<&str>, body: &str) -> Arc<str> {
    match history {
        Some(history) => [beginning, history, body].join("\n\n"),
        None => [beginning, body].join("\n\n"),
    }
    .into()
}
