//! What is said to models: the files of `prompts/`, compiled in, and their rendering.
//!
//! A request's prompt is put together by [`compose`] from a beginning that all calls of a debate share, a [`History`]
//! where there is one, and the rendered [`Prompt`] of the step.
//! What calls share comes first and byte for byte the same, since providers bill a repeated beginning at a fraction.
//!
//! Rendering is one pass: values are never read as templates, and text of models and users stands in fences that it
//! cannot leave. Nothing here knows providers, reads answers, or holds prompt text of its own.

mod catalog;
mod evaluator;
mod lift;
mod material;
mod role;
mod source;
mod step;
mod values;
mod version;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use catalog::{PromptError, Template};
pub use evaluator::{EvaluatorValues, SOLUTION_PLACEHOLDER, evaluator_system, evaluator_user};
pub use lift::{lift_checklist, lift_ruling, lift_system};
pub use material::{
    AnsweredQuestion, AskedItem, Asker, Attached, Authored, Candidate, CheckedDraft, FocusedRole, MaterialPart,
    OwnRound, Persona, TitledText,
};
pub use role::{Role, RoleError};
pub use source::{PromptFileError, read_prompt, read_whole_prompt};
pub use step::{Focus, Prompt, Values};
pub use values::{
    Assess, Beginning, EvaluatorClarifications, Fill, History, NoPoints, NoSolution, OwnHistory, PlainClarifications,
    SecondChance,
};
pub use version::version;

/// A request's prompt: the rendered foundation, the history where there is one, and the call's body, in this order
/// and with a blank line between them.
pub fn compose(beginning: &str, history: Option<&str>, body: &str) -> Arc<str> {
    match history {
        Some(history) => [beginning, history, body].join("\n\n"),
        None => [beginning, body].join("\n\n"),
    }
    .into()
}
