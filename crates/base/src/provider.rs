//! Providers of models by name: what settings, records and clients all have to know of them.

mod family;

use serde::{Deserialize, Serialize};

pub use family::family;

/// The provider that calls no model: its answers were prepared beforehand.
pub const OFFLINE: &str = "offline";

/// The model name that debates of the offline provider record.
pub const OFFLINE_MODEL: &str = "rehearsal";

/// The default model of each provider: the first of these providers whose key is there, with this one model of it.
/// Current, affordable, good at many things; looked at whenever the table of models is made anew.
pub const DEFAULT_MODELS: &[(&str, &str)] = &[
    ("openai", "gpt-5.6-luna"),
    ("anthropic", "claude-haiku-5-5"),
    ("google", "gemini-3.8-flash"),
    ("mistral", "mistral-large-2512"),
    ("openrouter", "openai/gpt-5.6-luna"),
];

/// Which API a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApiKind {
    /// Responses first, Chat Completions where the server lacks it.
    #[default]
    Auto,
    /// The Responses API only.
    Responses,
    /// Chat Completions only.
    Chat,
}
