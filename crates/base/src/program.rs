//! A program that answers in place of a server, as the user configures it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to call a program and read its output. Only the user's configuration has this: a record keeps only the
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
    /// The output format: the answer (`text`), or JSON that contains the answer (`json`). Only for your own programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<ProgramOutput>,
    /// The JSON pointer to the answer.
    #[schemars(regex(pattern = r"^(/.*)?$"), example = &"/result")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The JSON pointer to the error: any value but `false`, `null` and `""` is a failure.
    #[schemars(regex(pattern = r"^(/.*)?$"), example = &"/is_error")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The JSON pointers to the counts of input tokens, which are added up.
    #[schemars(inner(regex(pattern = r"^(/.*)?$")))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_tokens: Vec<String>,
    /// The JSON pointers to the counts of output tokens, which are added up.
    #[schemars(inner(regex(pattern = r"^(/.*)?$")))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_tokens: Vec<String>,
    /// The JSON pointer to the cost in US dollars.
    #[schemars(regex(pattern = r"^(/.*)?$"), example = &"/cost")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Changes to the program's environment.
    #[serde(skip_serializing_if = "ProgramEnvironment::is_empty")]
    pub env: ProgramEnvironment,
    /// The argument that precedes the output limit of a call, if the program has one.
    #[schemars(length(min = 1), example = &"--max-tokens")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_arg: Option<String>,
    /// Versions of a built-in program that may be called although they were not tested: `2.1.331`, `2.1.*` or `*`.
    #[schemars(inner(length(min = 1)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_versions: Vec<String>,
    /// The maximum number of its processes that run at once. Default: 2.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// The format of a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProgramOutput {
    /// Only the answer.
    Text,
    /// One JSON value.
    Json,
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
