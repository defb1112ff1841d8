//! The configuration of `dialectic eval`: the evaluators and their providers.
//!
//! Evaluators are configured in a separate file, with keys and checks like those of a debate's configuration. A missing
//! file or an empty list is an error, because a user who passes the file wants evaluators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use dialectic_base::key_path::KeyPath;
use dialectic_base::price::Price;
use dialectic_base::provider::{DEFAULT_PROVIDER, OFFLINE, OFFLINE_MODEL};
use dialectic_engine::access::{Environment, provider_names};
use dialectic_record::ids::AgentId;
use dialectic_record::settings::{ProviderSettings, Settings};

use super::error::{ConfigError, Diagnostics};
use super::read::{ConfigDocument, parent, read};
use super::{rules, schema};

/// The default time limit for the first token, in milliseconds.
const DEFAULT_TIMEOUT: u64 = 600_000;
/// The TypeScript version wrote this default but never enforced it. Enforcing it would cut off evaluators that used to
/// work.
const OLD_DEFAULT_TIMEOUT: u64 = 30_000;
/// The temperature of all evaluators, low so that scores are reproducible.
pub const EVALUATOR_TEMPERATURE: f64 = 0.1;

#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationSettings {
    /// The enabled evaluators in file order; at least one.
    pub evaluators: Vec<EvaluatorSettings>,
    /// Custom providers, and changes to built-in ones.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model, which override the built-in table.
    pub prices: BTreeMap<String, Price>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatorSettings {
    /// Unique among the enabled evaluators.
    pub id: AgentId,
    pub name: String,
    pub model: String,
    pub provider: String,
    /// The absolute path of a file that replaces the built-in system prompt.
    pub system_prompt_path: Option<PathBuf>,
    /// The absolute path of a file that replaces the built-in user prompt.
    pub user_prompt_path: Option<PathBuf>,
    /// The time limit for the first token, or for the whole answer if it is not streamed.
    pub timeout: Duration,
    /// The output limit in tokens; `None` for the provider's default.
    pub max_tokens: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum EvaluatorsError {
    #[error("evaluator configuration `{}` not found", .0.display())]
    Missing(PathBuf),
    #[error("the evaluator configuration `{}` {fault}", path.display())]
    Nobody { path: PathBuf, fault: &'static str },
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// An evaluator's entry in the file. Every key is optional, and `null` counts as absent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct EvaluatorEntry {
    id: Option<EvaluatorId>,
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// Accepted but ignored, for entries copied from a debate's configuration.
    role: Option<String>,
    #[schemars(length(min = 1))]
    model: Option<String>,
    provider: Option<String>,
    temperature: Option<f64>,
    system_prompt_path: Option<PathBuf>,
    user_prompt_path: Option<PathBuf>,
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    enabled: Option<bool>,
}

/// An id, possibly written as a number: `7` means `"7"`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum EvaluatorId {
    Text(#[schemars(length(min = 1))] String),
    Number(f64),
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schema::CONFIG.clone();
    let entries = schema::schema_of::<Vec<EvaluatorEntry>>();
    schema["properties"]["agents"] = json!({ "type": "array", "items": entries["items"] });
    let definitions = entries["$defs"].as_object().into_iter().flatten();
    for (name, definition) in definitions {
        schema["$defs"][name] = definition.clone();
    }
    if let Some(keys) = schema["properties"].as_object_mut() {
        keys.retain(|key, _| matches!(key.as_str(), "agents" | "providers" | "prices"));
    }
    schema
});

/// Reads the evaluators from a file. If `offline` is set, they all use the offline provider. Does not check API keys;
/// [`missing_keys_of`](dialectic_engine::access::missing_keys_of) does.
///
/// # Errors
///
/// Returns an error if the file is missing, names no evaluators, or cannot be used. One error lists all problems of the
/// file.
pub fn load_evaluators(
    path: &Path,
    environment: &Environment,
    offline: bool,
) -> Result<EvaluationSettings, EvaluatorsError> {
    let missing = || EvaluatorsError::Missing(path.to_owned());
    let mut document = read(path, &SCHEMA)?.ok_or_else(missing)?;
    let own = rules::own_providers(&document.tree);
    document.tree = rules::named_by_models(document.tree, &own);
    let mut settings = resolved(path, document)?;
    if offline {
        for evaluator in &mut settings.evaluators {
            OFFLINE.clone_into(&mut evaluator.provider);
            OFFLINE_MODEL.clone_into(&mut evaluator.model);
        }
    }
    settings.warnings.splice(0..0, environment.warnings().iter().cloned());
    Ok(settings)
}

/// Makes the judge the only evaluator, for users without an evaluator configuration.
pub fn judge_as_evaluator(settings: Settings, warnings: Vec<String>) -> EvaluationSettings {
    let Settings { judge, providers, prices, .. } = settings;
    let evaluator = EvaluatorSettings {
        id: judge.id,
        name: judge.name,
        model: judge.model,
        provider: judge.provider,
        // The judge's prompts are written for debates, so use the built-in ones.
        system_prompt_path: None,
        user_prompt_path: None,
        timeout: Duration::from_millis(DEFAULT_TIMEOUT),
        max_tokens: None,
    };
    EvaluationSettings { evaluators: vec![evaluator], providers, prices, warnings }
}

fn resolved(path: &Path, document: ConfigDocument) -> Result<EvaluationSettings, EvaluatorsError> {
    let nobody = |fault| EvaluatorsError::Nobody { path: path.to_owned(), fault };
    let entries = document.tree["agents"].as_array().ok_or_else(|| nobody("has no `agents`"))?;
    let entries: Vec<(usize, &Value)> = entries.iter().enumerate().filter(|(_, entry)| !entry.is_null()).collect();
    if entries.is_empty() {
        return Err(nobody("has an empty list of `agents`"));
    }
    let enabled: Vec<_> = entries.into_iter().filter(|(_, entry)| entry["enabled"] != false).collect();
    if enabled.is_empty() {
        return Err(nobody("disables all of its agents (`enabled: false`)"));
    }
    let mut findings = document.findings();
    let providers = rules::providers(&document.tree["providers"], &mut findings);
    let prices = rules::prices(&document.tree["prices"], &mut findings);
    let names = provider_names(&providers);
    let base = parent(path);
    let evaluators: Vec<(usize, EvaluatorSettings)> = enabled
        .into_iter()
        .map(|(index, entry)| (index, evaluator(entry, index, &base, &names, &mut findings)))
        .collect();
    check_ids(&evaluators, &mut findings);
    let of_values = document.refuse(findings)?;
    let warnings = [document.warnings, of_values].concat();
    let evaluators = evaluators.into_iter().map(|(_, evaluator)| evaluator).collect();
    Ok(EvaluationSettings { evaluators, providers, prices, warnings })
}

fn evaluator(
    entry: &Value,
    index: usize,
    base: &Path,
    providers: &[&str],
    findings: &mut Diagnostics,
) -> EvaluatorSettings {
    let path = KeyPath::root().key("agents").index(index);
    let entry = EvaluatorEntry::deserialize(entry).unwrap_or_else(|error| {
        findings.problem(path.clone(), error.to_string());
        EvaluatorEntry::default()
    });
    // The offline provider has only one model.
    let names_model = entry.model.is_some() || entry.provider.as_deref() == Some(OFFLINE);
    for (key, is_there) in [("id", entry.id.is_some()), ("model", names_model)] {
        if !is_there {
            findings.problem(path.key(key), "is missing");
        }
    }
    let id = match entry.id {
        Some(EvaluatorId::Text(text)) => text,
        Some(EvaluatorId::Number(number)) => number.to_string(),
        None => path.to_string(),
    };
    let provider = entry.provider.unwrap_or_else(|| DEFAULT_PROVIDER.to_owned());
    findings.check_name(path.key("provider"), Some(&provider), "provider", providers);
    if entry.temperature.is_some_and(|temperature| temperature.to_bits() != EVALUATOR_TEMPERATURE.to_bits()) {
        findings.warn(format!("`{path}.temperature` has no effect: evaluators always use {EVALUATOR_TEMPERATURE}"));
    }
    let mut timeout = entry.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if timeout <= OLD_DEFAULT_TIMEOUT {
        findings.warn(format!(
            "`{path}.timeout` is {timeout} ms, too short for a model to think; allowing {DEFAULT_TIMEOUT} ms \
             until the first token"
        ));
        timeout = DEFAULT_TIMEOUT;
    }
    let below_base = |configured: Option<PathBuf>| configured.map(|path| base.join(path));
    EvaluatorSettings {
        name: entry.name.unwrap_or_else(|| id.clone()),
        id: AgentId::new(id),
        model: entry.model.filter(|_| provider != OFFLINE).unwrap_or_else(|| OFFLINE_MODEL.to_owned()),
        provider,
        system_prompt_path: below_base(entry.system_prompt_path),
        user_prompt_path: below_base(entry.user_prompt_path),
        timeout: Duration::from_millis(timeout),
        max_tokens: entry.max_tokens,
    }
}

fn check_ids(evaluators: &[(usize, EvaluatorSettings)], findings: &mut Diagnostics) {
    let agents = KeyPath::root().key("agents");
    for (position, (index, evaluator)) in evaluators.iter().enumerate() {
        let first = evaluators.iter().take(position).find(|(_, earlier)| earlier.id == evaluator.id);
        if let Some((first, _)) = first {
            let message = format!("`{}` is already the id of `{}`", evaluator.id, agents.index(*first));
            findings.problem(agents.index(*index).key("id"), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<EvaluationSettings, EvaluatorsError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eval.json");
        std::fs::write(&path, text).unwrap();
        let loaded = load_evaluators(&path, &Environment::default(), false);
        if let Ok(settings) = &loaded {
            for path in settings.evaluators.iter().filter_map(|one| one.system_prompt_path.as_ref()) {
                assert!(path.starts_with(directory.path()), "{}", path.display());
            }
        }
        loaded
    }

    #[test]
    fn the_smallest_file_has_the_defaults() {
        let loaded = load(r#"{"agents":[{"id":"one","model":"gpt-4.1"}]}"#).unwrap();
        let [one] = <[EvaluatorSettings; 1]>::try_from(loaded.evaluators).unwrap();
        assert_eq!((one.name.as_str(), one.provider.as_str()), ("one", "openai"));
        assert_eq!((one.timeout, one.max_tokens), (Duration::from_mins(10), None));
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }

    #[test]
    fn those_switched_off_are_left_out_and_never_checked() {
        let loaded = load(
            r#"{"agents":[{"enabled":false},{"id":"a","model":"m","role":"judge","temperature":0.1,
                "provider":"local","timeout":5e4,"systemPromptPath":"p/s.md"},{"id":7,"provider":"offline"}],
                "providers":{"local":{"baseUrl":"http://127.0.0.1:1/v1"}},
                "prices":{"m":{"inputPerMTok":1,"outputPerMTok":2}}}"#,
        )
        .unwrap();
        let ids: Vec<&str> = loaded.evaluators.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["a", "7"]);
        assert_eq!(loaded.evaluators[0].timeout, Duration::from_secs(50));
        assert_eq!(loaded.evaluators[1].model, OFFLINE_MODEL);
        assert!(loaded.prices.contains_key("m") && loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    }

    #[test]
    fn a_file_without_evaluators_is_a_wrong_argument() {
        for (text, fault) in [
            ("{}", "has no `agents`"),
            (r#"{"agents":null}"#, "has no `agents`"),
            (r#"{"agents":[]}"#, "empty list"),
            (r#"{"agents":[null]}"#, "empty list"),
            (r#"{"agents":[{"id":"a","model":"m","enabled":false}]}"#, "disables all of its agents"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.to_string().contains(fault), "{error}");
        }
        let missing = load_evaluators(Path::new("none.json"), &Environment::default(), false);
        assert!(matches!(missing, Err(EvaluatorsError::Missing(_))));
    }

    #[test]
    fn all_problems_are_told_with_their_places() {
        let error = load(
            "{\"agents\":[\n{\"id\":\"a\",\"model\":\"m\"},\n{\"id\":\"a\",\"model\":\" \",\"timeout\":0,\"maxTokens\":0.5},\n{\"provider\":\"opnai\"}]}",
        )
        .unwrap_err();
        let said = error.to_string();
        for part in [
            "agents[1].id (line 3, column 7): `a` is already the id of `agents[0]`",
            "agents[1].model (line 3, column 19): is empty",
            "agents[1].timeout (line 3, column 33): must be a whole number of at least 1, not 0",
            "agents[1].maxTokens (line 3, column 47): must be a whole number of at least 1, not 0.5",
            "agents[2].id (line 4, column 1): is missing",
            "agents[2].model (line 4, column 1): is missing",
            "did you mean `openai`?",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }

    #[test]
    fn what_has_no_effect_is_a_warning() {
        let loaded = load(r#"{"agents":[{"id":"a","model":"m","temperature":0.7,"timeOut":1}]}"#).unwrap();
        assert_eq!(
            loaded.warnings,
            [
                "unknown key `agents[0].timeOut` is ignored (did you mean `timeout`?)",
                "`agents[0].temperature` has no effect: evaluators always use 0.1"
            ]
        );
        for old in [1, 30_000] {
            let loaded = load(&format!(r#"{{"agents":[{{"id":"a","model":"m","timeout":{old}}}]}}"#)).unwrap();
            assert_eq!(loaded.evaluators[0].timeout, Duration::from_mins(10));
            assert!(loaded.warnings[0].contains("`agents[0].timeout`"), "{:?}", loaded.warnings);
        }
    }
}
