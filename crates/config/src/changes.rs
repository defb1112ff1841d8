//! Changes to individual settings, such as those of `--set`.

use std::str::FromStr;

use serde_json::{Map, Value};

use dialectic_base::key_path::{KeyPath, Segment};
use dialectic_engine::access::Environment;
use dialectic_record::prompt::Role;
use dialectic_record::settings::Settings;

use super::agents::role_files;
use super::choice::{ModelPreference, ResolveContext};
use super::error::{ConfigError, ConfigProblem, Diagnostics, suggestion};
use super::layers::{Layers, Overrides, ValueSource, at};
use super::read::check;
use super::resolve::{Resolved, resolve};
use super::rules;
use super::schema::{self, keys_at};

#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    path: KeyPath,
    value: Value,
}

impl SettingChange {
    pub fn path(&self) -> &KeyPath {
        &self.path
    }
}

/// Parses `<key>=<value>`. An agent's key is, for example, `agents[1].model` or `agents.<id>.model`. A value that is
/// not JSON becomes a string.
impl FromStr for SettingChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected `<key>=<value>`, such as `debate.rounds=4`")?;
        let path = KeyPath::parse(key.trim())
            .ok_or_else(|| format!("`{key}` is not a valid key; expected a path such as `debate.rounds`"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { path, value })
    }
}

/// Changes settings, with the same checks as for a configuration file. A change to the debate's summarization also
/// applies to the agents that inherit it. Returns the new settings, and the warnings that the changes cause.
///
/// # Errors
///
/// Returns an error if a key is unknown, or a value cannot be used or has no effect.
pub fn change_settings(
    settings: &Settings,
    changes: &[SettingChange],
    overrides: &Overrides,
    environment: &Environment,
) -> Result<(Settings, Vec<String>), ConfigError> {
    let mut own_roles = settings.base_dir.as_deref().map(role_files).unwrap_or_default();
    for agent in settings.everybody() {
        // Keep a role whose file is missing; building the panel reports the missing file.
        if !Role::built_in_names().contains(&agent.role.as_str()) && !own_roles.contains(&agent.role) {
            own_roles.push(agent.role.clone());
        }
    }
    let usual = ModelPreference::default();
    let context = ResolveContext {
        environment,
        overrides,
        own_roles: &own_roles,
        usual: &usual,
        programs: &|_| Vec::new(),
        is_expected: true,
    };
    let before = as_file(settings);
    let mut file = before.clone();
    let mut paths = Vec::new();
    for change in changes {
        let path = known_path(&file, &change.path)?;
        put(&mut file, &path, &change.value)?;
        paths.push((path, &change.value));
    }
    let before = resolved(&before, &context);
    let (new, warnings) = resolved(&file, &context).map_err(|error| match (&before, error) {
        // The settings were already invalid, so do not blame the changes.
        (Err(_), ConfigError::Argument { message, .. }) => ConfigError::Unmet(message),
        (_, error) => error,
    })?;
    let known = before.map(|(_, warnings)| warnings).unwrap_or_default();
    let warnings: Vec<String> = warnings.into_iter().filter(|warning| !known.contains(warning)).collect();
    let effective = rules::with_programs(&new);
    for (path, value) in paths {
        if has_no_effect(&effective, &file, &path, value) {
            let why = if warnings.is_empty() { String::new() } else { format!(": {}", warnings.join("; ")) };
            return Err(fault(format!("{path}={value} has no effect{why}")));
        }
    }
    let settings = Settings { base_dir: settings.base_dir.clone(), context_dir: settings.context_dir.clone(), ..new };
    Ok((settings, warnings))
}

/// Checks that the changes change something.
///
/// # Errors
///
/// Returns an error if a change sets a key to its current value.
pub fn check_changes(settings: &Settings, changes: &[SettingChange]) -> Result<(), ConfigError> {
    // A new protocol brings its own defaults, so even setting a key to its current value can make a difference.
    if changes.iter().any(|change| change.path.to_string() == "debate.protocol") {
        return Ok(());
    }
    let file = as_file(settings);
    for change in changes {
        let path = known_path(&file, &change.path)?;
        if at(&file, &path).is_some_and(|now| is_equal(now, &change.value)) {
            return Err(fault(format!("{path} is already {}", change.value)));
        }
    }
    Ok(())
}

fn fault(message: String) -> ConfigError {
    ConfigError::Argument { option: "--set", message }
}

fn as_file(settings: &Settings) -> Value {
    let mut file = rules::with_programs(settings);
    if let Some(keys) = file.as_object_mut() {
        keys.remove("baseDir");
        keys.remove("contextDir");
    }
    let inherited = file["debate"]["summarization"].clone();
    let inherit = |agent: &mut Value| {
        let own = agent.get_mut("summarization").and_then(Value::as_object_mut);
        if let Some(own) = own {
            own.retain(|key, value| inherited.get(key) != Some(value));
        }
    };
    file.get_mut("agents").and_then(Value::as_array_mut).into_iter().flatten().for_each(inherit);
    file.get_mut("judge").into_iter().for_each(inherit);
    file
}

/// Replaces agents' ids with indices. Fails if a key does not exist.
fn known_path(file: &Value, path: &KeyPath) -> Result<KeyPath, ConfigError> {
    let mut known = KeyPath::root();
    for segment in &path.0 {
        known = match (segment, at(file, &known)) {
            (Segment::Key(id), Some(Value::Array(agents))) if known.to_string() == "agents" => {
                let ids: Vec<&str> = agents.iter().filter_map(|agent| agent["id"].as_str()).collect();
                let place = ids.iter().position(|known| known == id);
                known.index(place.ok_or_else(|| {
                    fault(format!("{path}: unknown agent `{id}` {}", suggestion(id, ids.iter().copied())))
                })?)
            }
            (Segment::Key(key), _) => {
                let keys = keys_at(&schema::CONFIG, &known);
                if !keys.is_empty() && !keys.contains(key) {
                    let near = suggestion(key, keys.iter().map(String::as_str));
                    return Err(fault(format!("{path}: unknown key `{key}` {near}")));
                }
                known.key(key)
            }
            (Segment::Index(index), Some(Value::Array(elements))) if *index < elements.len() => known.index(*index),
            (Segment::Index(index), _) => return Err(fault(format!("{path}: {known} has no element {index}"))),
        };
    }
    Ok(known)
}

fn put(file: &mut Value, path: &KeyPath, new: &Value) -> Result<(), ConfigError> {
    let mut place = file;
    for segment in &path.0 {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let next = match (segment, place) {
            (Segment::Key(key), Value::Object(entries)) => Some(entries.entry(key).or_insert(Value::Null)),
            (Segment::Index(index), Value::Array(elements)) => elements.get_mut(*index),
            _ => None,
        };
        place = next.ok_or_else(|| fault(format!("{path}: unknown key")))?;
    }
    *place = new.clone();
    Ok(())
}

fn resolved(file: &Value, context: &ResolveContext) -> Result<(Settings, Vec<String>), ConfigError> {
    let checked = check(&schema::CONFIG, file, |_| false)
        .map_err(|wrong| fault(format!("{}: expected {}, found {}", wrong.path, wrong.expected, wrong.found)))?;
    if !checked.unknown.is_empty() {
        let unknown = checked.unknown.iter().map(|(path, near)| format!("unknown key `{path}` {near}"));
        return Err(fault(unknown.collect::<Vec<_>>().join("; ")));
    }
    let mut findings = Diagnostics::default();
    for (path, problem) in checked.problems {
        findings.problem(path, problem);
    }
    let mut layers = Layers::default();
    layers.push(ValueSource::Option("--set"), checked.tree);
    let Resolved { settings, findings, .. } = resolve(layers, context, findings);
    if let Some(refusal) = findings.refusal {
        return Err(refusal);
    }
    if findings.problems.is_empty() {
        return Ok((settings, findings.warnings));
    }
    Err(fault(findings.problems.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("; ")))
}

/// Compares numbers by value, so that `1` equals `1.0`.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        (Some(_), None) | (None, _) => one == other,
    }
}

/// Whether the settings ignore a new value, such as an unknown role, or a model for a provider that has only one.
fn has_no_effect(effective: &Value, file: &Value, path: &KeyPath, value: &Value) -> bool {
    let mut path = path.clone();
    if let [Segment::Key(section), Segment::Index(index), ..] = path.0.as_mut_slice()
        && section == "agents"
    {
        let id = &file["agents"][*index]["id"];
        let agents = effective["agents"].as_array();
        // Disabled agents may be changed, but the settings omit them.
        let Some(place) = agents.into_iter().flatten().position(|agent| agent["id"] == *id) else { return false };
        *index = place;
    }
    match (value, at(effective, &path)) {
        (Value::Null | Value::Array(_) | Value::Object(_), _) => false,
        (Value::Number(set), Some(Value::Number(effective))) => set.as_f64() != effective.as_f64(),
        (Value::String(set), Some(Value::String(effective))) => !set.trim().eq_ignore_ascii_case(effective),
        (set, effective) => effective != Some(set),
    }
}

#[cfg(test)]
mod tests {
    use dialectic_base::figures::backquoted;
    use dialectic_record::settings::default_settings;

    use super::*;

    fn changed(changes: &[&str]) -> Result<(Settings, Vec<String>), String> {
        let changes: Result<Vec<SettingChange>, String> = changes.iter().map(|text| text.parse()).collect();
        let (overrides, environment) = (Overrides::default(), Environment::default());
        change_settings(&default_settings(), &changes?, &overrides, &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn without_changes_nothing_changes() {
        assert_eq!(changed(&[]).unwrap(), (default_settings(), Vec::new()));
    }

    #[test]
    fn values_are_set_by_their_path_and_what_inherits_follows() {
        let mut expected = default_settings();
        expected.debate.rounds = 4;
        expected.debate.summarization.threshold = 99;
        for agent in expected.agents.iter_mut().chain([&mut expected.judge]) {
            agent.summarization.threshold = 99;
        }
        expected.agents[1].temperature = 0.2;
        expected.agents[2].model = "4".to_owned();
        expected.judge.model = "gpt-4o".to_owned();
        let changes = [
            "debate.rounds=4",
            "debate.summarization.threshold=99",
            "agents[1].temperature=0.2",
            "agents.agent-kiss.model=\"4\"",
            "judge.model=gpt-4o",
        ];
        assert_eq!(changed(&changes).unwrap().0, expected);
        let priced = changed(&["prices[\"m.1\"]={\"inputPerMTok\": 1, \"outputPerMTok\": 2}"]).unwrap().0;
        assert_eq!(priced.prices.len(), 1);
        assert_eq!(changed(&["agents.agent-kiss.enabled=false"]).unwrap().0.agents.len(), 2);
        assert_eq!(changed(&["agents.agent-kiss.temperature=1.5"]).unwrap().1.len(), 1);
    }

    #[test]
    fn a_key_that_records_omit_is_changed_like_any_other() {
        let off: SettingChange = "debate.memory=false".parse().unwrap();
        let mut settings = default_settings();
        assert_eq!(
            check_changes(&settings, std::slice::from_ref(&off)).unwrap_err().to_string(),
            "--set debate.memory is already false"
        );
        settings.debate.memory = true;
        check_changes(&settings, std::slice::from_ref(&off)).unwrap();
        let (overrides, environment) = (Overrides::default(), Environment::default());
        assert!(!change_settings(&settings, &[off], &overrides, &environment).unwrap().0.debate.memory);
    }

    #[test]
    fn what_cannot_be_set_is_said_with_its_place() {
        let said = [
            "debate.round=4",
            "debates.rounds=4",
            "debate.rounds=many",
            "debate.rounds=0",
            "debate.rounds.x=1",
            "debate.terminationCondition={\"typ\": \"fixed\"}",
            "debate.terminationCondition.type=sometimes",
            "agents.agent-kis.model=x",
            "agents[9].model=x",
            "agents.agent-kiss.temperature=3",
            "agents.agent-kiss.role=alchemist",
            "agents.agent-kiss.id=agent-architect",
            "judge.model=4",
            "baseDir=/",
            "debate.rounds",
            "=4",
        ];
        let known = backquoted(Role::built_in_names());
        let said = said.map(|text| changed(&[text]).unwrap_err().replace(&known, "roles"));
        insta::assert_snapshot!(said.join("\n"), @r#"
        --set debate.round: unknown key `round` (did you mean `rounds`?)
        --set debates.rounds: unknown key `debates` (did you mean `debate`?)
        --set debate.rounds: expected a number, found a string
        --set debate.rounds: must be a whole number of at least 1, not 0
        --set debate.rounds.x: unknown key
        --set unknown key `debate.terminationCondition.typ` (did you mean `type`?)
        --set debate.terminationCondition.type: expected one of `fixed`, `convergence`, `quality`, `resolved`, found `sometimes`
        --set agents.agent-kis.model: unknown agent `agent-kis` (did you mean `agent-kiss`?)
        --set agents[9].model: agents has no element 9
        --set agents[2].temperature: must be from 0 to 2, not 3
        --set agents[2].role="alchemist" has no effect: unknown role `alchemist` (known: roles) at `agents[2].role`; using architect
        --set agents[2].id: `agent-architect` is already the id of `agents[0]`
        --set judge.model: expected a string, found a number
        --set baseDir: unknown key `baseDir` (known: `agents`, `debate`, `hooks`, `judge`, `model`, `models`, `prices`, `provider`, `providers`)
        expected `<key>=<value>`, such as `debate.rounds=4`
        `` is not a valid key; expected a path such as `debate.rounds`
        "#);
    }
}
