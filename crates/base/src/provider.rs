//! The names of providers in settings and records, and the built-in providers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OFFLINE: &str = "offline";

pub const OFFLINE_MODEL: &str = "rehearsal";

/// The provider that represents the host: the person or agent that runs the debate and answers its calls. Also the
/// host's default model name.
pub const HOST: &str = "host";

pub fn calls_models(name: &str) -> bool {
    ![OFFLINE, HOST].contains(&name)
}

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApiKind {
    /// The Responses API, or Chat Completions if the server lacks it.
    #[default]
    Auto,
    /// The Responses API only.
    Responses,
    /// Chat Completions only.
    Chat,
}

const FAMILIES: &[(&str, &[&str])] = &[
    ("GPT", &["gpt", "chatgpt", "o1", "o3", "o4", "codex"]),
    ("Claude", &["claude"]),
    ("Gemini", &["gemini", "gemma"]),
    ("Mistral", &["mistral", "ministral", "magistral", "mixtral", "codestral", "devstral", "pixtral", "open-mistral"]),
    ("Llama", &["llama", "meta-llama"]),
    ("Qwen", &["qwen", "qwq"]),
    ("DeepSeek", &["deepseek"]),
    ("GLM", &["glm", "zai-glm"]),
    ("Grok", &["grok"]),
    ("Kimi", &["kimi"]),
];

/// The family of a model, judging by its name without a router's `vendor/`; `None` if unknown.
pub fn family(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model).trim_start_matches('~').to_ascii_lowercase();
    let is_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    FAMILIES.iter().find(|(_, beginnings)| is_of(beginnings)).map(|(family, _)| *family)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    /// Empty if the provider has no server.
    pub base_url: &'static str,
    /// The environment variable that overrides the base URL, named as in the provider's SDK.
    pub base_url_env: Option<&'static str>,
    /// The environment variable for the key; `None` if the provider needs none.
    pub api_key_env: Option<&'static str>,
    pub api: ApiKind,
    pub headers: &'static [(&'static str, &'static str)],
    /// Headers that identify an account, each with the environment variable from which the provider's SDK reads the
    /// value.
    pub account_headers: &'static [(&'static str, &'static str)],
    /// The model for agents and judges without a configured one: current, affordable and general-purpose. `None` if
    /// this provider is never selected automatically. Review these choices whenever the model table is updated.
    pub model: Option<&'static str>,
}

/// The default provider for agents and judges when no API key is set.
pub const DEFAULT_PROVIDER: &str = "openai";

pub const DEFAULT_MODEL: &str = "gpt-5.6-luna";

pub const OPENROUTER: &str = "openrouter";

const PROJECT_URL: &str = env!("CARGO_PKG_REPOSITORY");

const BARE: Preset = Preset {
    name: "",
    base_url: "",
    base_url_env: None,
    api_key_env: None,
    api: ApiKind::Auto,
    headers: &[],
    account_headers: &[],
    model: None,
};

/// All built-in providers, with the documented base URLs of their OpenAI-compatible APIs. By default, all agents use
/// the first one that has a model and whose key is set.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: DEFAULT_PROVIDER,
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        api_key_env: Some("OPENAI_API_KEY"),
        account_headers: &[("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")],
        model: Some(DEFAULT_MODEL),
        ..BARE
    },
    Preset {
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        api_key_env: Some("ANTHROPIC_API_KEY"),
        api: ApiKind::Chat,
        model: Some("claude-haiku-5-5"),
        ..BARE
    },
    Preset {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        api_key_env: Some("GEMINI_API_KEY"),
        api: ApiKind::Chat,
        model: Some("gemini-3.8-flash"),
        ..BARE
    },
    Preset {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        api_key_env: Some("MISTRAL_API_KEY"),
        api: ApiKind::Chat,
        model: Some("mistral-large-2512"),
        ..BARE
    },
    Preset {
        name: OPENROUTER,
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: Some("OPENROUTER_BASE_URL"),
        api_key_env: Some("OPENROUTER_API_KEY"),
        headers: &[("HTTP-Referer", PROJECT_URL), ("X-Title", "dialectic")],
        model: Some("openai/gpt-5.6-luna"),
        ..BARE
    },
    Preset { name: "ollama", base_url: "http://localhost:11434/v1", ..BARE },
    Preset { name: OFFLINE, ..BARE },
    Preset { name: HOST, ..BARE },
];

/// The models that `--mixed` uses through a router.
pub const ROUTED_MODELS: &[(&str, &str)] = &[
    ("openrouter", "openai/gpt-5.6-luna"),
    ("openrouter", "anthropic/claude-haiku-5.5"),
    ("openrouter", "google/gemini-3.8-flash"),
    ("openrouter", "mistralai/mistral-large-2512"),
];

/// Whether `base_url` belongs to a provider known to serve the Responses API. A single failure of such a server does
/// not mean that it lacks the API.
pub fn serves_responses(name: &str, base_url: &str) -> bool {
    let same = |preset: &Preset| preset.base_url == base_url.trim().trim_end_matches('/');
    matches!(name, "openai" | "openrouter") && preset(name).is_some_and(same)
}

pub fn default_models() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    PRESETS.iter().filter_map(|preset| Some((preset.name, preset.model?)))
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_the_same_wherever_it_is_served() {
        for (model, expected) in [
            ("gpt-5.6-luna", "GPT"),
            ("openai/o3", "GPT"),
            ("anthropic/claude-sonnet-5.5", "Claude"),
            ("models/gemini-3.8-flash", "Gemini"),
            ("ministral-8b-2512", "Mistral"),
            ("meta-llama/llama-3.3-70b-instruct", "Llama"),
            ("llama3.3", "Llama"),
            ("~x-ai/grok-latest", "Grok"),
        ] {
            assert_eq!(family(model), Some(expected), "{model}");
        }
        assert_eq!(family("my-own-gpt"), None);
    }
}
