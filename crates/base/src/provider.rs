//! Providers: their names, as settings, records and clients use them, and those that are built in.

mod family;
mod presets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use family::family;
pub use presets::{
    DEFAULT_MODEL, DEFAULT_PROVIDER, OPENROUTER, PRESETS, Preset, ROUTED_MODELS, default_models, preset,
    serves_responses,
};

/// The provider that calls no model: its answers are canned.
pub const OFFLINE: &str = "offline";

/// The model name that debates of the offline provider record.
pub const OFFLINE_MODEL: &str = "rehearsal";

/// The provider whose requests whoever runs the debate answers, and the model's name unless it has another.
pub const HOST: &str = "host";

/// Whether a provider's calls go to a server or a program.
pub fn calls_models(name: &str) -> bool {
    ![OFFLINE, HOST].contains(&name)
}

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApiKind {
    /// Responses first; Chat Completions if the server lacks it.
    #[default]
    Auto,
    /// The Responses API only.
    Responses,
    /// Chat Completions only.
    Chat,
}

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
