//! The file that `config init` writes.

use serde_json::Value;

/// The text of a starter configuration: the agents, the most changed keys, and a pointer to the others.
/// `usual` is the provider and model of all agents; without it the file is for trying.
pub fn starter(usual: Option<&(String, String)>) -> String {
    let text = include_str!("starter.json");
    let Some((provider, model)) = usual else { return text.to_owned() };
    let [provider, model] = [provider, model].map(|name| Value::from(name.as_str()).to_string());
    text.replace(SERVED, &format!(r#""model": {model}, "provider": {provider}"#))
}

/// The model in the template.
const SERVED: &str = r#""model": "gpt-5.6-luna", "provider": "openai""#;
