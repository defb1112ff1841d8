//! Turns a request into the text for a program.

use std::fmt::Write as _;

use crate::{ModelError, Request, Turn};

/// The beginning of every text. Programs treat a leading `/` as their own command and `!` as a shell command.
const OPENING: &str = "Answer what follows.";

/// The text of a request; `with_system` is whether it includes the system text.
pub(super) fn text(request: &Request, with_system: bool) -> String {
    let mut text = format!("{OPENING}\n\n");
    if with_system && !request.system.trim().is_empty() {
        let _ = write!(text, "{}\n\n", request.system);
    }
    text.push_str(&request.prompt);
    for turn in &request.turns {
        let _ = match turn {
            Turn::Assistant { text: said, .. } => write!(text, "\n\n# Your answer so far\n\n{said}"),
            Turn::ToolResults(results) => results.iter().try_for_each(|result| {
                write!(text, "\n\n# The result of `{}`\n\n{}", result.tool_call_id, result.content)
            }),
            Turn::User(said) => write!(text, "\n\n# On that answer\n\n{said}"),
        };
    }
    text
}

/// Checks that a model's name cannot be read as an option.
///
/// # Errors
/// It can, or it contains invalid characters.
pub(super) fn check_model(model: &str) -> Result<(), ModelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+[]-".contains(c);
    if model.starts_with(|c: char| c.is_ascii_alphanumeric()) && model.chars().all(is_plain) {
        return Ok(());
    }
    Err(ModelError::Unsendable { message: format!("`{model}` is not a valid model name for a program") })
}
