//! Model families. Models of one family are trained alike and make similar mistakes.

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
