//! Providers that are programs: their keys.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use dialectic_base::key_path::KeyPath;
use dialectic_base::provider::ProgramSettings;
use dialectic_base::provider::preset;
use dialectic_llm::command::program_preset;
use dialectic_record::debate::{ProviderSettings, Settings};

use super::choice::{OwnProviders, with_provider};
use super::error::Diagnostics;
use super::layers::laid_over;
use super::schema;

/// The value of `type` of a program.
const COMMAND: &str = "command";

/// All keys of a program except `type`.
fn keys() -> Vec<String> {
    let schema = schema::schema_of::<ProgramSettings>();
    schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
}

/// Adds the keys of programs to the schema of a configuration.
pub(super) fn describe(schema: &mut Value) {
    let program = schema::schema_of::<ProgramSettings>();
    for (key, of_program) in program["properties"].as_object().into_iter().flatten() {
        schema["$defs"]["Provider"]["properties"][key] = of_program.clone();
    }
    schema["$defs"]["Provider"]["properties"]["type"] = json!({
        "description": "`command` for a program that replaces a server.",
        "enum": [COMMAND],
    });
    for (name, definition) in program["$defs"].as_object().into_iter().flatten() {
        schema["$defs"][name] = definition.clone();
    }
}

/// Whether an entry of `providers` is a program. An entry named like a built-in program is one, unless it describes a
/// server, as files written before programs existed may do.
fn is_program(name: &str, entry: &Value) -> bool {
    entry["type"] == COMMAND || program_preset(name).is_some() && entry["baseUrl"].is_null()
}

pub(super) fn names(tree: &Value) -> OwnProviders {
    let entries = tree["providers"].as_object().into_iter().flatten();
    entries.map(|(name, entry)| (name.clone(), entry["type"] == COMMAND)).collect()
}

/// Splits models' names into provider and model, if an agent or the judge has a model and no provider.
pub(super) fn named_by_models(mut tree: Value, own: &OwnProviders) -> Value {
    let name = |entry: &mut Value| {
        let meant = entry["model"].as_str().and_then(|model| with_provider(model, own));
        if let Some(served) = meant.filter(|_| entry["provider"].is_null()) {
            (entry["provider"], entry["model"]) = (served.provider.into(), served.model.into());
        }
    };
    let agents = tree.get_mut("agents").and_then(Value::as_array_mut);
    agents.into_iter().flatten().filter(|entry| entry.is_object()).for_each(name);
    tree.get_mut("judge").into_iter().filter(|entry| entry.is_object()).for_each(name);
    tree
}

/// The program that an entry describes; `None` for a server.
pub(super) fn program(
    name: &str,
    entry: &Value,
    path: &KeyPath,
    findings: &mut Diagnostics,
) -> Option<ProviderSettings> {
    let of_programs = keys();
    let (own, other): (Map<String, Value>, Map<String, Value>) = entry
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != "type")
        .map(|(key, value)| (key.clone(), value.clone()))
        .partition(|(key, _)| of_programs.contains(key));
    if !is_program(name, entry) {
        for key in own.keys() {
            findings.problem(
                path.key(key),
                "only applies to command providers; add `\"type\": \"command\"` to make this one",
            );
        }
        return None;
    }
    if preset(name).is_some() {
        findings.problem(path.key("type"), format!("cannot be a program: `{name}` is a built-in server"));
    }
    for key in other.keys() {
        findings.problem(path.key(key), "only applies to servers, and this is a program");
    }
    let program: ProgramSettings = laid_over(&ProgramSettings::default(), &own.into(), path, findings);
    check(name, &program, path, findings);
    Some(ProviderSettings { program: Some(Arc::new(program)), ..ProviderSettings::default() })
}

fn check(name: &str, program: &ProgramSettings, path: &KeyPath, findings: &mut Diagnostics) {
    if program_preset(name).is_none() && program.argv.is_empty() {
        findings.problem(path.key("argv"), "is missing: the program and its arguments");
    }
}

/// The configuration file that leads to these settings, including programs.
pub(super) fn with_programs(settings: &Settings) -> Value {
    let mut all = serde_json::to_value(settings).unwrap_or_default();
    for (name, entry) in &settings.providers {
        if let Some(program) = entry.program.as_deref() {
            let mut entry = serde_json::to_value(program).unwrap_or_default();
            entry["type"] = COMMAND.into();
            all["providers"][name] = entry;
        }
    }
    all
}
