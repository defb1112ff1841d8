//! The JSON Schema of a configuration file, generated from the settings types. It validates files, and documents
//! defaults and names for people and editors.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use dialectic_base::key_path::{KeyPath, Segment};
use dialectic_base::provider::PRESETS;
use dialectic_engine::agent::SUMMARIZATION_METHODS;
use dialectic_engine::tools::TOOL_NAMES;
use dialectic_llm::command::PROGRAMS;
use dialectic_record::prompt::Role;
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{Settings, default_settings};

use super::read::follow;

/// The `type` of a provider that is a program.
pub(super) const COMMAND: &str = "command";

/// The schema of a project's configuration.
pub(super) static CONFIG: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schema_of::<Settings>();
    // Keys that the settings types require have defaults, so files may omit them. Prices are the exception.
    let required = schema["$defs"]["Price"]["required"].clone();
    strip(&mut schema, &["default", "required"]);
    schema["$defs"]["Price"]["required"] = required;
    add_program_keys(&mut schema);
    strip(&mut schema, &["default"]);
    for key in ["provider", "model"] {
        schema["properties"][key] = json!({
            "description": format!("The {key} for agents and judges that do not set one."),
            "type": "string",
            "minLength": 1,
        });
    }
    schema["properties"]["hooks"] = json!({
        "description":
            "Commands to run. Only a file that you name or trust may set them.",
        "type": "object",
        "properties": { "afterDebate": {
            "description":
                "Commands that run after a debate, one after another; each receives the state as JSON on \
                     its standard input.",
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
        } },
    });
    schema.sort_all_objects();
    schema
});

fn add_program_keys(schema: &mut Value) {
    let keys = &mut schema["$defs"]["Provider"]["properties"];
    keys["argv"] = json!({
        "description":
            "The program and its arguments; the prompt goes to its standard input. `{model}` in an argument is \
             replaced with the agent's model. For a built-in program: its path, and arguments to put before the \
             built-in ones.",
        "type": "array",
        "items": { "type": "string", "minLength": 1 },
    });
    keys["type"] = json!({
        "description": "`command` if the provider is a program, not a server.",
        "enum": [COMMAND],
    });
}

pub(super) static OF_USER: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = CONFIG.clone();
    let keys = &mut schema["properties"];
    keys["directory"] = json!({ "type": "string" });
    keys["confirmAbove"] = json!({ "type": "number", "minimum": 0 });
    keys["color"] = json!({ "enum": ["auto", "always", "never"] });
    schema.sort_all_objects();
    schema
});

pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    schema.sort_all_objects();
    schema
}

/// The JSON Schema (2020-12) of the configuration file, for `config schema` and editors.
pub fn schema() -> Value {
    let mut schema = CONFIG.clone();
    strip(&mut schema, &["format", "required"]);
    open(&mut schema);
    for definition in schema["$defs"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        open(definition);
    }
    add_defaults(&mut schema, &default_settings());
    let programs = PROGRAMS.iter().map(|program| program.name);
    let providers: Vec<&str> = PRESETS.iter().map(|preset| preset.name).chain(programs).collect();
    for (definition, key, keyword, names) in [
        ("Agent", "role", "examples", Role::built_in_names().as_slice()),
        ("Agent", "provider", "examples", providers.as_slice()),
        ("Tool", "name", "examples", TOOL_NAMES),
        ("Debate", "protocol", "enum", Protocol::names().as_slice()),
        ("Summarization", "method", "enum", SUMMARIZATION_METHODS),
    ] {
        let null = (keyword == "enum").then_some(Value::Null);
        schema["$defs"][definition]["properties"][key][keyword] =
            names.iter().map(|name| json!(name)).chain(null).collect();
    }
    schema.sort_all_objects();
    schema
}

/// The schema of a definition, limited to `keys`, each of which may be null. References are resolved, so the result is
/// complete without the definitions.
pub fn part_of(definition: &str, keys: &[&str]) -> Value {
    let mut part = inlined(&CONFIG["$defs"][definition]);
    if let Some(properties) = part["properties"].as_object_mut() {
        properties.retain(|key, _| keys.contains(&key.as_str()));
        properties.values_mut().for_each(or_null);
    }
    part
}

fn inlined(node: &Value) -> Value {
    match node {
        Value::Object(keywords) => {
            let mut all = match follow(&CONFIG, node) {
                definition if std::ptr::eq(definition, node) => Map::new(),
                definition => inlined(definition).as_object().cloned().unwrap_or_default(),
            };
            let own = keywords.iter().filter(|(keyword, _)| *keyword != "$ref");
            all.extend(own.map(|(keyword, value)| (keyword.clone(), inlined(value))));
            all.into()
        }
        Value::Array(elements) => elements.iter().map(inlined).collect(),
        other => other.clone(),
    }
}

fn strip(node: &mut Value, keywords: &[&str]) {
    match node {
        Value::Object(all) => {
            all.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
            all.values_mut().for_each(|value| strip(value, keywords));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| strip(element, keywords)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Allows null for every key, and allows unknown keys, which only cause warnings.
fn open(node: &mut Value) {
    let Some(object) = node.as_object_mut() else { return };
    if let Some(entry) = object.get_mut("additionalProperties").filter(|entry| entry.is_object()) {
        or_null(entry);
        object.insert("patternProperties".to_owned(), json!({ r"^(\$schema$|\$comment|//)": true }));
    } else if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            open(property);
            or_null(property);
        }
        object.insert("additionalProperties".to_owned(), true.into());
    }
    if let Some(items) = object.get_mut("items").filter(|items| items.get("$ref").is_some()) {
        or_null(items);
    }
}

fn or_null(node: &mut Value) {
    let null = json!({ "type": "null" });
    if let Some(Value::String(kind)) = node.get("type").cloned() {
        node["type"] = json!([kind, "null"]);
        if let Some(names) = node.get_mut("enum").and_then(Value::as_array_mut) {
            names.push(Value::Null);
        }
    } else if let Some(choices) = node.get_mut("anyOf").and_then(Value::as_array_mut) {
        if !choices.contains(&null) {
            choices.push(null);
        }
    } else if let Some(object) = node.as_object_mut() {
        for keyword in ["$ref", "oneOf"] {
            if let Some(value) = object.remove(keyword) {
                object.insert("anyOf".to_owned(), vec![json!({ keyword: value }), null.clone()].into());
            }
        }
    }
}

pub(super) fn keys_at(schema: &Value, path: &KeyPath) -> Vec<String> {
    let node = path.0.iter().try_fold(schema, |node, segment| {
        let node = follow(schema, node);
        match segment {
            Segment::Key(key) => {
                node.pointer("/properties").and_then(|keys| keys.get(key)).or(node.get("additionalProperties"))
            }
            Segment::Index(_) => node.get("items"),
        }
    });
    let properties = node.and_then(|node| follow(schema, node).get("properties")).and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

fn add_defaults(schema: &mut Value, settings: &Settings) {
    let settings = serde_json::to_value(settings).unwrap_or_default();
    for (definition, values, keys) in [
        ("Debate", &settings["debate"], None),
        ("Termination", &settings["debate"]["terminationCondition"], None),
        ("Agent", &settings["agents"][0], Some(["provider", "enabled", "tools", "toolCallLimit"])),
    ] {
        for (key, value) in values.as_object().into_iter().flatten() {
            if keys.is_none_or(|keys| keys.contains(&key.as_str())) && !value.is_null() {
                schema["$defs"][definition]["properties"][key]["default"] = value.clone();
            }
        }
    }
    for section in ["agents", "judge", "debate"] {
        schema["properties"][section]["default"] = settings[section].clone();
    }
}
