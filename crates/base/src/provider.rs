//! Providers: their names, as settings, records and clients use them, and those that are built in.

mod family;
mod presets;

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
