//! The user's own configuration: a file in the platform's configuration directory, and a layer below the project's
//! file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use dialectic_base::key_path::KeyPath;
use dialectic_base::money::Usd;
use dialectic_engine::access::{Environment, provider_names};
use dialectic_record::settings::{ProviderSettings, Settings};

use super::agents::role_files;
use super::choice::{ModelPreference, ResolveContext, ServedModel};
use super::error::ConfigError;
use super::layers::{Layers, Overrides, ValueSource};
use super::read::{ConfigDocument, parent, read};
use super::resolve::resolve;
use super::{rules, schema};

const FILE: &str = "config.json";
/// Keys of the user's own configuration that are not settings of a debate.
const OWN: [&str; 5] = ["provider", "model", "directory", "color", "confirmAbove"];
/// Keys that are ignored if the project has a configuration.
const OF_ONE_DEBATE: [&str; 2] = ["agents", "judge"];
/// The default cost, in dollars, above which a debate needs confirmation.
const CONFIRM_ABOVE: f64 = 1.0;
const DIRECTORY: &str = "./debates";

/// The user's own configuration, validated without the project's file.
#[derive(Debug, Clone)]
pub(super) struct UserConfig {
    pub(super) usual: ModelPreference,
    pub(super) document: ConfigDocument,
    pub(super) settings: Settings,
    pub(super) warnings: Vec<String>,
}

/// The path of the user's own configuration, which need not exist. `None` if the platform has no place for it.
pub fn user_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.user_directory()?.join(FILE))
}

/// The directory for debates: `./debates`, unless the user's own configuration sets a different one.
///
/// # Errors
///
/// Returns an error if the user's own configuration cannot be used.
pub fn debates_directory(environment: &Environment) -> Result<PathBuf, ConfigError> {
    let document = document(environment)?;
    let directory = document.as_ref().and_then(|document| document.tree["directory"].as_str());
    let Some(directory) = directory.filter(|directory| !directory.trim().is_empty()) else {
        return Ok(DIRECTORY.into());
    };
    // `~/x` is relative to the home directory.
    let home = directory.strip_prefix("~/").and_then(|rest| Some((environment.home()?, rest)));
    Ok(home.map_or_else(|| PathBuf::from(directory), |(home, rest)| home.join(rest)))
}

/// The user's preference for colour: `auto`, `always` or `never`. `None` if it is not set, or if the configuration
/// cannot be read, which the loader reports.
pub fn usual_color(environment: &Environment) -> Option<String> {
    document(environment).ok()??.tree["color"].as_str().map(str::to_owned)
}

/// The provider in the user's own configuration, with its model or else the provider's default model. `None` if the
/// configuration names no provider, or if it cannot be read, which the loader reports.
pub fn usual_model(environment: &Environment) -> Option<(String, String)> {
    let document = document(environment).ok()??;
    let preference = ModelPreference::of_document(&document);
    let ModelPreference { provider, model, .. } = preference.with_provider_named(&rules::own_providers(&document.tree));
    let provider = provider?;
    let model = model.or_else(|| Some(ServedModel::by(&provider)?.model))?;
    Some((provider, model))
}

/// Returns the providers in the user's configuration, and the raw JSON entries of those that are programs. Both are
/// empty if the configuration is missing or invalid.
pub fn user_programs(environment: &Environment) -> (BTreeMap<String, ProviderSettings>, Map<String, Value>) {
    let Ok(Some(user)) = read_user(environment) else { return Default::default() };
    let providers = user.settings.providers;
    let is_program = |name: &String| providers.get(name).is_some_and(|entry| entry.program.is_some());
    let entries = user.document.tree["providers"].as_object().cloned().unwrap_or_default();
    let entries = entries.into_iter().filter(|(name, _)| is_program(name)).collect();
    (providers, entries)
}

/// The cost above which a debate without a limit needs confirmation on a terminal: $1, unless the user's own
/// configuration sets a different amount.
///
/// # Errors
///
/// Returns an error if the user's own configuration cannot be used.
pub fn confirm_above(environment: &Environment) -> Result<Usd, ConfigError> {
    let own = document(environment)?.and_then(|document| document.tree["confirmAbove"].as_f64());
    Ok(Usd::from_dollars(own.filter(|dollars| *dollars >= 0.0).unwrap_or(CONFIRM_ABOVE)))
}

fn document(environment: &Environment) -> Result<Option<ConfigDocument>, ConfigError> {
    user_path(environment).map_or(Ok(None), |path| read(&path, &schema::OF_USER))
}

/// Reads and validates the user's own configuration; `None` if the file does not exist.
pub(super) fn read_user(environment: &Environment) -> Result<Option<UserConfig>, ConfigError> {
    let Some(document) = document(environment)? else { return Ok(None) };
    let path = document.path.clone();
    let own = rules::own_providers(&document.tree);
    let usual = ModelPreference::of_document(&document).with_provider_named(&own);
    let context = ResolveContext {
        // Validation must not depend on the current environment.
        environment: &Environment::default(),
        overrides: &Overrides::default(),
        own_roles: &role_files(&parent(&path)),
        usual: &ModelPreference::default(),
        programs: &|_| Vec::new(),
        is_expected: false,
    };
    let mut layers = Layers::default();
    layers.push(ValueSource::File(path.clone()), rules::named_by_models(document.tree.clone(), &own));
    let mut resolved = resolve(layers, &context, document.findings());
    let names = provider_names(&resolved.settings.providers);
    let provider = usual.provider.as_deref();
    resolved.findings.check_name(KeyPath::root().key("provider"), provider, "provider", &names);
    document.refuse(resolved.findings)?;
    let shown = path.display();
    let warnings = document.warnings.iter().map(|warning| format!("{warning} ({shown})")).collect();
    Ok(Some(UserConfig { settings: resolved.settings, usual, document, warnings }))
}

impl UserConfig {
    /// The part that applies below a project's configuration: everything but agents and judge, with absolute paths.
    pub(super) fn tree_for_project(&self) -> Value {
        let mut tree = self.document.tree.clone();
        if let Some(keys) = tree.as_object_mut() {
            keys.retain(|key, _| !OF_ONE_DEBATE.contains(&key.as_str()));
        }
        if let Some(Value::String(path)) = tree.pointer_mut("/debate/summarization/promptPath") {
            *path = parent(&self.document.path).join(&*path).display().to_string();
        }
        tree
    }

    pub(super) fn own(&self) -> Vec<(String, String)> {
        let shown = |key: &str| {
            let value = match &self.document.tree[key] {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((key.to_owned(), value))
        };
        OWN.into_iter().filter_map(shown).collect()
    }

    pub(super) fn summary_prompt(&self) -> Option<PathBuf> {
        let path = self.settings.debate.summarization.prompt_path.as_ref()?;
        Some(parent(&self.document.path).join(path))
    }
}
