//! Every effective value of a configuration, with its source.

use std::collections::BTreeSet;

use serde_json::Value;

use dialectic_base::key_path::KeyPath;
use dialectic_base::provider::calls_models;
use dialectic_engine::access::{Environment, Outline, is_program};

use super::layers::{Layers, ValueSource};
use super::load::Loaded;
use super::rules;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// A path such as `debate.rounds` or `endpoints.openai.baseUrl`.
    pub path: String,
    /// For an API key, only whether it is set.
    pub value: String,
    pub source: ValueSource,
}

pub fn show(loaded: &Loaded, environment: &Environment) -> Vec<SettingRow> {
    let mut settings = rules::with_programs(&loaded.settings);
    settings.sort_all_objects();
    let mut rows = Vec::new();
    for section in ["agents", "judge", "debate", "providers", "prices", "models", "baseDir", "contextDir"] {
        if let Some(value) = settings.get(section) {
            add_leaves(&KeyPath::root().key(section), value, &loaded.layers, &mut rows);
        }
    }
    for (index, command) in loaded.hooks.iter().enumerate() {
        let path = KeyPath::root().key("hooks").key("afterDebate").index(index);
        rows.push(SettingRow { value: command.clone(), source: loaded.layers.source(&path), path: path.to_string() });
    }
    rows.extend(loaded.own.iter().map(|(path, value)| SettingRow {
        path: path.clone(),
        value: value.clone(),
        source: loaded.layers.source(&KeyPath::root().key(path)),
    }));
    let everybody = loaded.settings.everybody();
    let used: BTreeSet<&str> =
        everybody.map(|agent| agent.provider.as_str()).filter(|name| calls_models(name)).collect();
    for provider in used {
        add_endpoint(provider, loaded, environment, &mut rows);
    }
    rows
}

fn add_leaves(path: &KeyPath, value: &Value, layers: &Layers, rows: &mut Vec<SettingRow>) {
    let is_tools = path.split_key().is_some_and(|(_, key)| key == "tools");
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                add_leaves(&path.key(key), value, layers, rows);
            }
        }
        Value::Array(elements) if !is_tools => {
            for (index, element) in elements.iter().enumerate() {
                add_leaves(&path.index(index), element, layers, rows);
            }
        }
        leaf => rows.push(SettingRow { path: path.to_string(), value: shown(leaf), source: layers.source(path) }),
    }
}

fn shown(leaf: &Value) -> String {
    match leaf {
        Value::String(text) => text.clone(),
        Value::Array(tools) => {
            let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        }
        other => other.to_string(),
    }
}

fn add_endpoint(provider: &str, loaded: &Loaded, environment: &Environment, rows: &mut Vec<SettingRow>) {
    if is_program(provider, &loaded.settings.providers) {
        return;
    }
    let Some(outline) = Outline::of(provider, &loaded.settings.providers) else { return };
    let path = KeyPath::root().key("endpoints").key(provider);
    let entry = KeyPath::root().key("providers").key(provider);
    let moved = outline.moved_by().filter(|name| environment.has(name));
    let mut row = |path: KeyPath, value: String, source: ValueSource| {
        rows.push(SettingRow { path: path.to_string(), value, source });
    };
    row(
        path.key("baseUrl"),
        outline.base_url(environment).unwrap_or_default().to_owned(),
        moved
            .map_or_else(|| loaded.layers.source(&entry.key("baseUrl")), |name| ValueSource::Variable(name.to_owned())),
    );
    let (value, source) = match outline.api_key_env() {
        None => ("not needed".to_owned(), ValueSource::BuiltIn),
        Some(name) if outline.key(environment).is_some() => ("set".to_owned(), ValueSource::Variable(name.to_owned())),
        Some(name) => (format!("not set: {name} is missing"), ValueSource::Variable(name.to_owned())),
    };
    row(path.key("apiKey"), value, source);
    for (header, value) in outline.headers() {
        let source = loaded.layers.source(&entry.key("headers").key(header));
        row(path.key("headers").key(header), value.to_owned(), source);
    }
}
