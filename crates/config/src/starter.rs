//! The file that `config init` writes.

use serde_json::Value;

/// The text of a configuration to start from: who takes part, what most people change, and where the rest is described.
/// `usual` are provider and model that everybody in it asks; absent for one to try.
pub fn starter(usual: Option<&(String, String)>) -> String {
    let text = include_str!("starter.json");
    let Some((provider, model)) = usual else { return text.to_owned() };
    let [provider, model] = [provider, model].map(|name| Value::from(name.as_str()).to_string());
    text.replace(SERVED, &format!(r#""model": {model}, "provider": {provider}"#))
}

/// The model that it names.
const SERVED: &str = r#""model": "gpt-5.6-luna", "provider": "openai""#;
