//! Names of providers, as settings, records and clients use them.

mod family;

use serde::{Deserialize, Serialize};

pub use family::family;

/// The provider that calls no model: its answers are canned.
pub const OFFLINE: &str = "offline";

/// The model name that debates of the offline provider record.
pub const OFFLINE_MODEL: &str = "rehearsal";

/// Each provider's default model. The first provider with a key serves all agents. The models are current, affordable
/// and general; they are reviewed whenever the table of models is updated.
pub const DEFAULT_MODELS: &[(&str, &str)] = &[
    ("openai", "gpt-5.6-luna"),
    ("anthropic", "claude-haiku-5-5"),
    ("google", "gemini-3.8-flash"),
    ("mistral", "mistral-large-2512"),
    ("openrouter", "openai/gpt-5.6-luna"),
];

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
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
