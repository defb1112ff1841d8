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
mod material;
mod role;
mod source;
mod step;
mod values;
mod version;

#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

pub use catalog::{PromptError, Template};
pub use evaluator::{EvaluatorValues, SOLUTION_PLACEHOLDER, evaluator_system, evaluator_user};
pub use material::{
    AskedItem, Asker, Attached, Authored, Candidate, Clarification, TitledText, FocusedRole, MaterialPart, OwnRound, Persona,
};
pub use role::{Role, RoleError};
pub use source::{PromptFileError, read_prompt, read_whole_prompt};
pub use step::{Focus, Prompt, Values};
pub use values::{
    Assess, Beginning, EvaluatorClarifications, Fill, History, NoSolution, OwnHistory, PlainClarifications,
    SecondChance,
};
pub use version::version;

/// The system text: one for all agents, the judge and all calls.
#[must_use]
pub fn system() -> Arc<str> {
    static SYSTEM: LazyLock<Arc<str>> =
        LazyLock::new(|| Arc::from(include_str!("../../../../prompts/system.md").trim_end()));
    Arc::clone(&SYSTEM)
}

/// A request's prompt: the rendered foundation, the history where there is one, and the call's body, in this order
/// and with a blank line between them.
#[must_use]
pub fn compose(beginning: &str, history: Option<&str>, body: &str) -> Arc<str> {
    match history {
        Some(history) => [beginning, history, body].join("\n\n"),
        None => [beginning, body].join("\n\n"),
    }
    .into()
}
