//! The JSON Schema of the configuration file, made from its types, the defaults and the vocabulary.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use dialectic_base::key_path::{KeyPath, Segment};
use dialectic_llm::presets::PRESETS;
use dialectic_record::debate::Settings;
use dialectic_record::debate::defaults::default_settings;

use super::file::ConfigFile;
use super::overrides::Vocabulary;

/// The JSON Schema (2020-12) of the configuration file, for `config schema` and editors.
#[must_use]
pub fn schema(vocabulary: &Vocabulary) -> Value {
    let mut schema = plain_schema::<ConfigFile>();
    open(&mut schema);
    add_defaults(&mut schema, &default_settings());
    let providers: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let mut annotate = |definition: &str, key: &str, keyword: &str, names: &[&str]| {
        if let Some(property) = property_mut(&mut schema, definition, key) {
            let mut names: Vec<Value> = names.iter().map(|name| json!(name)).collect();
            if keyword == "enum" {
                names.push(Value::Null);
            }
            property.insert(keyword.to_owned(), Value::Array(names));
        }
    };
    annotate("Agent", "role", "examples", vocabulary.roles);
    annotate("Agent", "provider", "examples", &providers);
    annotate("Tool", "name", "examples", vocabulary.tools);
    annotate("Debate", "protocol", "enum", vocabulary.protocols);
    annotate("Summarization", "method", "enum", vocabulary.summarization_methods);
    schema.sort_all_objects();
    schema
}

/// The schema as derived, without anything that is only for readers.
pub(super) fn plain_schema<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    // Keys are listed for people, who look them up by their names.
    schema.sort_all_objects();
    schema
}

/// The keys that mean something in the object at `path`.
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

/// The definition behind a reference, also where the value may be null as well.
fn follow<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let node = node
        .get("anyOf")
        .and_then(Value::as_array)
        .and_then(|choices| choices.iter().find(|choice| choice.get("$ref").is_some()))
        .unwrap_or(node);
    node.get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| schema.pointer(reference.trim_start_matches('#')))
        .unwrap_or(node)
}

/// Says that unknown keys are allowed: they are warned of, not refused.
fn open(schema: &mut Value) {
    let Some(root) = schema.as_object_mut() else { return };
    root.insert("additionalProperties".to_owned(), Value::Bool(true));
    let definitions = root.get_mut("$defs").and_then(Value::as_object_mut);
    for definition in definitions.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        if definition.contains_key("properties") {
            definition.insert("additionalProperties".to_owned(), Value::Bool(true));
        }
    }
}

fn add_defaults(schema: &mut Value, settings: &Settings) {
    let as_json = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
    let debate = as_json(serde_json::to_value(&settings.debate));
    let agent = as_json(serde_json::to_value(&settings.agents[0]));
    for (definition, values, keys) in [
        ("Debate", &debate, None),
        ("Termination", &debate["terminationCondition"], None),
        ("Agent", &agent, Some(["provider", "enabled", "tools", "toolCallLimit"])),
    ] {
        for (key, value) in values.as_object().into_iter().flatten() {
            let wanted = keys.is_none_or(|keys| keys.contains(&key.as_str())) && !value.is_null();
            if let Some(property) = property_mut(schema, definition, key).filter(|_| wanted) {
                property.insert("default".to_owned(), value.clone());
            }
        }
    }
    let sections = [
        ("agents", as_json(serde_json::to_value(&settings.agents))),
        ("judge", as_json(serde_json::to_value(&settings.judge))),
        ("debate", debate),
    ];
    for (section, value) in sections {
        let property = schema.pointer_mut(&format!("/properties/{section}")).and_then(Value::as_object_mut);
        if let Some(property) = property {
            property.insert("default".to_owned(), value);
        }
    }
}

fn property_mut<'a>(schema: &'a mut Value, definition: &str, key: &str) -> Option<&'a mut Map<String, Value>> {
    schema.pointer_mut(&format!("/$defs/{definition}/properties/{key}")).and_then(Value::as_object_mut)
}
