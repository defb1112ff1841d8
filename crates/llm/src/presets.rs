//! The providers that are known without being configured.

use dialectic_base::provider::{ApiKind, OFFLINE};

/// A provider that is known by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name in configurations.
    pub name: &'static str,
    /// Where its API is; empty for the offline provider, which has none.
    pub base_url: &'static str,
    /// The environment variable that moves the endpoint, where users of its SDK expect one.
    pub base_url_env: Option<&'static str>,
    /// The environment variable that holds its key; absent when it needs none.
    pub api_key_env: Option<&'static str>,
    /// Which API it speaks. `Auto` tries the Responses API first.
    pub api: ApiKind,
    /// Headers that it wants.
    pub headers: &'static [(&'static str, &'static str)],
    /// Headers that say for whom a key is used, and the environment variables that hold their values, where users of
    /// its SDK expect them.
    pub account_headers: &'static [(&'static str, &'static str)],
}

/// The name of the provider that passes requests on to others, at their prices.
pub const OPENROUTER: &str = "openrouter";

const PROJECT_URL: &str = env!("CARGO_PKG_REPOSITORY");

/// All known providers. The endpoints are those of the providers' own documentation of their OpenAI-compatible APIs.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        api_key_env: Some("OPENAI_API_KEY"),
        api: ApiKind::Auto,
        headers: &[],
        account_headers: &[("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")],
    },
    Preset {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: Some("OPENROUTER_BASE_URL"),
        api_key_env: Some("OPENROUTER_API_KEY"),
        api: ApiKind::Auto,
        headers: &[("HTTP-Referer", PROJECT_URL), ("X-Title", "dialectic")],
        account_headers: &[],
    },
    Preset {
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        base_url_env: None,
        api_key_env: Some("ANTHROPIC_API_KEY"),
        api: ApiKind::Chat,
        headers: &[],
        account_headers: &[],
    },
    Preset {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_env: None,
        api_key_env: Some("GEMINI_API_KEY"),
        api: ApiKind::Chat,
        headers: &[],
        account_headers: &[],
    },
    Preset {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        base_url_env: None,
        api_key_env: Some("MISTRAL_API_KEY"),
        api: ApiKind::Chat,
        headers: &[],
        account_headers: &[],
    },
    Preset {
        name: "ollama",
        base_url: "http://localhost:11434/v1",
        base_url_env: None,
        api_key_env: None,
        api: ApiKind::Auto,
        headers: &[],
        account_headers: &[],
    },
    Preset {
        name: OFFLINE,
        base_url: "",
        base_url_env: None,
        api_key_env: None,
        api: ApiKind::Auto,
        headers: &[],
        account_headers: &[],
    },
];

/// The model that `--panel cheap` takes of a provider: the least expensive one that holds its own in a debate.
pub const CHEAP_MODELS: &[(&str, &str)] = &[
    ("openai", "gpt-6-luna"),
    ("anthropic", "claude-haiku-5-5"),
    ("google", "gemini-3.5-flash-lite"),
    ("mistral", "mistral-small-2603"),
    ("openrouter", "openai/gpt-6-luna"),
];

/// The model that `--panel strong` takes of a provider.
pub const STRONG_MODELS: &[(&str, &str)] = &[
    ("openai", "gpt-6.1-sol"),
    ("anthropic", "claude-opus-5-5"),
    ("google", "gemini-4-argon"),
    ("mistral", "mistral-large-4"),
    ("openrouter", "anthropic/claude-opus-5.5"),
];

/// The models of `--panel mixed` where one router serves several families.
pub const ROUTED_MODELS: &[(&str, &str)] = &[
    ("openrouter", "openai/gpt-5.6-luna"),
    ("openrouter", "anthropic/claude-haiku-5.5"),
    ("openrouter", "google/gemini-3.8-flash"),
    ("openrouter", "mistralai/mistral-large-2512"),
];

/// Whether `base_url` is that of a known provider which is known to serve the Responses API: a single failure there
/// says nothing about its features.
pub fn serves_responses(name: &str, base_url: &str) -> bool {
    let same = |preset: &Preset| preset.base_url == base_url.trim().trim_end_matches('/');
    matches!(name, "openai" | "openrouter") && preset(name).is_some_and(same)
}

/// The known provider of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
