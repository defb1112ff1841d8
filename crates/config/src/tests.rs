//! Loading rules, tested on whole configurations.

use std::path::Path;

use serde_json::{Value, json};

use dialectic_base::money::Usd;
use dialectic_base::provider::{ApiKind, OFFLINE_MODEL};
use dialectic_engine::access::{Environment, endpoint, missing_keys};
use dialectic_record::settings::{Position, Settings, SynthesisMethod, TerminationKind, TraceTarget, default_settings};

use super::load::{FileSet, assemble};
use super::read::parse;
use super::*;

mod damage;
mod files;
mod rules;

/// Loads a configuration from bytes, with these command-line values and environment.
fn load_with(bytes: &[u8], overrides: &Overrides, environment: &Environment) -> Result<Loaded, ConfigError> {
    let path = ConfigPath::Named("c.json".into());
    let project = parse(path.as_path(), bytes, &schema::CONFIG)?;
    let files = FileSet { path: &path, project: Some(&project), user: None, is_untrusted: false };
    assemble(&files, environment, overrides, &["skeptic".to_owned()])
}

fn load_text(text: &str) -> Result<Loaded, ConfigError> {
    load_with(text.as_bytes(), &Overrides::default(), &Environment::default())
}

fn load_value(value: &Value) -> Result<Loaded, ConfigError> {
    load_text(&value.to_string())
}

/// A configuration without warnings, overridden by `agent`, `debate` and `more`.
fn minimal(agent: &Value, debate: &Value, more: &Value) -> Value {
    let mut first = json!({"id": "a1", "name": "A", "role": "architect", "model": "m", "provider": "openai"});
    merge(&mut first, agent);
    let mut config = json!({
        "agents": [first, {"id": "a2", "name": "B", "role": "kiss", "model": "m", "provider": "ollama"}],
        "judge": {"id": "j", "name": "J", "role": "generalist", "model": "m", "provider": "openai"},
        "debate": debate
    });
    merge(&mut config, more);
    config
}

fn merge(base: &mut Value, over: &Value) {
    for (key, value) in over.as_object().into_iter().flatten() {
        base[key] = value.clone();
    }
}

fn with_agent(agent: &Value) -> Value {
    minimal(agent, &json!({}), &json!({}))
}

fn with_debate(debate: &Value) -> Value {
    minimal(&json!({}), debate, &json!({}))
}

fn with(more: &Value) -> Value {
    minimal(&json!({}), &json!({}), more)
}

/// The subjects and messages of all problems, without positions.
fn problems(config: &Value) -> Vec<String> {
    match load_value(config) {
        Err(ConfigError::Invalid { problems, .. }) => problems
            .into_iter()
            .map(|problem| match problem {
                ConfigProblem::Key { path, location, message } => {
                    assert!(location.is_some(), "{path} has a position");
                    format!("{path}: {message}")
                }
                ConfigProblem::Variable { name, message } => format!("{name}: {message}"),
            })
            .collect(),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => Vec::new(),
    }
}

fn warnings(config: &Value) -> Vec<String> {
    load_value(config).unwrap().warnings
}

fn ids(settings: &Settings) -> Vec<&str> {
    settings.agents.iter().map(|agent| agent.id.as_str()).collect()
}
