//! Providers: their names, as settings, records and clients use them, and those that are built in.

mod presets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Prefixes of names that identify families on any server.
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

/// The family of a model, by its name without a router's `vendor/`; `None` if unknown.
pub fn family(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model).trim_start_matches('~').to_ascii_lowercase();
    let is_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    FAMILIES.iter().find(|(_, beginnings)| is_of(beginnings)).map(|(family, _)| *family)
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
