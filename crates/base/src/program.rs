//! A program configured to answer instead of a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to call a program, which prints its answer. Only the user's configuration has this: a record keeps only the
/// provider's name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Program")]
pub struct ProgramSettings {
    /// The program and its arguments; the prompt goes to its standard input. `{model}` in an argument stands for the
    /// agent's model. For a built-in program: its path, and arguments that come before its own.
    #[schemars(inner(length(min = 1)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
}
