//! The tools that agents may use while they write. The tools read the finished rounds, and files of the context
//! directory or of the repository under review.
//!
//! Each tool has a file that defines its [`Tool`]. Tools never write, and read files only through [`Source`], because a
//! model writes their arguments and may have been manipulated by a file that it read. Errors are written for the model:
//! they say what to do, and never name a path outside the context directory.

mod context_search;
mod file_read;
mod file_search;
mod list_files;
mod platform;
mod sandbox;
mod source;
mod toolbox;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use dialectic_llm::ToolSpec;
use dialectic_record::debate::Round;

pub use list_files::{outline, readme};
pub use sandbox::{AccessError, ContextDirectory};
pub use source::Source;
use toolbox::{Arguments, TextArgument, parameters};
pub use toolbox::{Toolbox, specs};

#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The only files that tools can read.
    pub source: Arc<Source>,
    /// The finished rounds of the debate, followed by the call's texts from the current round.
    pub rounds: Arc<[Round]>,
}

pub struct Tool {
    name: &'static str,
    /// Shown to the model.
    description: &'static str,
    arguments: &'static [TextArgument],
    /// Runs one call. May block to read files; never writes.
    run: fn(&Arguments<'_>, &ToolContext) -> Result<Value, ToolError>,
}

impl Tool {
    pub fn spec(&self) -> ToolSpec {
        let (name, description) = (self.name.to_owned(), self.description.to_owned());
        ToolSpec { name, description, parameters: parameters(self.arguments) }
    }
}

static TOOLS: [Tool; 4] = [context_search::TOOL, file_read::TOOL, file_search::TOOL, list_files::TOOL];

pub const TOOL_NAMES: &[&str] =
    &[context_search::TOOL.name, file_read::TOOL.name, file_search::TOOL.name, list_files::TOOL.name];

pub const FILE_TOOLS: &[&str] = &[file_read::TOOL.name, file_search::TOOL.name, list_files::TOOL.name];

/// The messages are for the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The tool does not exist, or the agent may not use the tool.
    #[error("there is no tool `{name}`; {}", choice(offered))]
    Unknown {
        /// The requested name, shortened if it is long.
        name: String,
        offered: Vec<String>,
    },
    #[error("the arguments are not valid JSON; expected an object such as {{\"name\": \"value\"}}")]
    NotJson(#[source] serde_json::Error),
    #[error("the arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    #[error("the argument `{name}` is missing; expected {expected}")]
    Missing { name: &'static str, expected: &'static str },
    #[error("the argument `{name}` is {found}; expected {expected}")]
    Unusable { name: &'static str, found: &'static str, expected: &'static str },
    #[error("the argument `{name}` is longer than {limit} characters")]
    TooLong { name: &'static str, limit: usize },
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A pattern, glob or range is invalid.
    #[error("the argument `{name}` is invalid: {reason}")]
    Malformed { name: &'static str, reason: String },
    #[error("this is not a text file: it is binary, or not encoded as UTF-8")]
    Binary,
}

fn choice(offered: &[String]) -> String {
    if offered.is_empty() {
        "no tools are available".to_owned()
    } else {
        format!("available tools: {}", offered.join(", "))
    }
}
