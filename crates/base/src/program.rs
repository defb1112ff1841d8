//! A program that answers in place of a server, as the user configures it.

use std::collections::BTreeMap;

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
    /// Changes to the program's environment.
    #[serde(skip_serializing_if = "ProgramEnvironment::is_empty")]
    pub env: ProgramEnvironment,
    /// The maximum number of its processes that run at once. Default: 2.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// Changes to the environment of a program, which receives no keys or addresses of providers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ProgramEnvironment")]
pub struct ProgramEnvironment {
    /// Variables to set. `${NAME}` in a value is read from your environment; credentials must be given that way.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Variables to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

impl ProgramEnvironment {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }
}
