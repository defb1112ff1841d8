//! What agents can look things up with while they write: finished rounds, and files of the context directory.
//!
//! A tool is one file with a unit struct that implements [`Tool`] and has a `NAME`, and its line in the registry
//! below. Tools only read. Their file access goes through [`ContextDirectory`] and nothing else, because their
//! arguments are written by a model, which may have been talked into anything by a file it read before. Errors are
//! written for the model: they say what to do instead and never name a path outside the context directory.

mod arguments;
mod context_search;
mod file_read;
mod list_files;
mod outline;
mod platform;
mod sandbox;
mod toolbox;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use dialectic_llm::ToolSpec;
use dialectic_record::debate::Round;

pub use outline::{Excerpt, outline, readme};
pub use sandbox::{AccessError, ContextDirectory};
pub use toolbox::{Toolbox, specs};

/// What tools may look at.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The only directory whose files they can read.
    pub directory: Arc<ContextDirectory>,
    /// The finished rounds of the debate, then what the call was given of the one in progress.
    pub rounds: Arc<[Round]>,
}

/// Something that a model may call by its name.
pub trait Tool: Send + Sync {
    /// Name, description and parameters, as they are offered to the model.
    fn spec(&self) -> ToolSpec;

    /// The result of one call. Blocks on small files; never writes.
    ///
    /// # Errors
    /// When the arguments are not those of the tool, or what they ask for is not there or not to be had.
    fn run(&self, arguments: &Value, context: &ToolContext) -> Result<Value, ToolError>;
}

/// Registers tools: each line gives the name to the configuration and the tool to the registry.
macro_rules! register {
    ($($tool:path),+ $(,)?) => {
        /// The names that an agent's configuration can list.
        pub const TOOL_NAMES: &[&str] = &[$(<$tool>::NAME),+];

        static REGISTRY: &[&dyn Tool] = &[$(&$tool),+];
    };
}

register! {
    context_search::ContextSearch,
    file_read::FileRead,
    list_files::ListFiles,
}

/// The names of the tools that read files.
pub const FILE_TOOLS: &[&str] = &[file_read::FileRead::NAME, list_files::ListFiles::NAME];

/// Every tool there is, in the order of [`TOOL_NAMES`].
pub fn registry() -> &'static [&'static dyn Tool] {
    REGISTRY
}

/// Why a call has no result, told to the model that made it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The tool does not exist, or is not offered to this agent.
    #[error("there is no tool `{name}`; {}", choice(offered))]
    Unknown {
        /// What was called, shortened where it is long.
        name: String,
        /// What could have been called.
        offered: Vec<String>,
    },
    /// The arguments cannot be parsed.
    #[error("the arguments are not valid JSON; expected an object such as {{\"name\": \"value\"}}")]
    NotJson(#[source] serde_json::Error),
    /// The arguments are JSON, but no object.
    #[error("the arguments must be a JSON object, not {found}")]
    NotAnObject {
        /// The JSON type that was given.
        found: &'static str,
    },
    /// An argument is not given.
    #[error("the argument `{name}` is missing; expected {expected}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// An argument is given, but not usable.
    #[error("the argument `{name}` is {found}; expected {expected}")]
    Unusable {
        /// Which.
        name: &'static str,
        /// What is wrong with it.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// An argument is too long.
    #[error("the argument `{name}` is longer than {limit} characters")]
    TooLong {
        /// Which.
        name: &'static str,
        /// The limit, in characters.
        limit: usize,
    },
    /// The path cannot be used.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The file is not UTF-8 text.
    #[error("this is not a text file: it is binary, or not encoded as UTF-8")]
    Binary,
}

fn choice(offered: &[String]) -> String {
    if offered.is_empty() { "no tools are offered".to_owned() } else { format!("the tools are {}", offered.join(", ")) }
}
