//! What a user wants everywhere: the configuration in the platform's configuration directory, below that of a project.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use dialectic_base::key_path::KeyPath;
use dialectic_engine::access::{Environment, provider_names};
use dialectic_record::debate::Settings;

use super::choice::ModelPreference;
use super::error::ConfigError;
use super::file::{AgentEntry, ConfigFile, DebateSection, HooksSection, ModelEntry, PriceEntry, ProviderEntry};
use super::findings::Diagnostics;
use super::overrides::{Overrides, PanelName, Vocabulary};
use super::read::{Document, read};
use super::resolve::{Layers, Usual, resolve};
use super::shapes::{Named, Object};

/// The file, in the user's directory.
const FILE: &str = "config.json";
/// Keys that a project's configuration has not.
const OWN: [&str; 5] = ["provider", "model", "panel", "directory", "color"];
/// What a project's configuration says for itself or not at all.
const OF_ONE_DEBATE: [&str; 2] = ["agents", "judge"];
/// Where debates are kept when nothing is said.
const DIRECTORY: &str = "./debates";

/// A user's own configuration, for all directories.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserFile {
    agents: Option<Vec<Option<Object<AgentEntry>>>>,
    judge: Option<Object<AgentEntry>>,
    debate: Option<Object<DebateSection>>,
    providers: Option<Named<Object<ProviderEntry>>>,
    prices: Option<Named<Object<PriceEntry>>>,
    models: Option<Named<Object<ModelEntry>>>,
    hooks: Option<Object<HooksSection>>,
    /// Who is asked where nothing else says it.
    provider: Option<String>,
    /// Which model is asked where nothing else says it.
    model: Option<String>,
    /// Which ready panel debates where nothing else says it.
    panel: Option<PanelEntry>,
    /// Where debates are kept.
    directory: Option<String>,
    /// When to use colour.
    color: Option<ColorEntry>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PanelEntry {
    Cheap,
    Strong,
    Mixed,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ColorEntry {
    Auto,
    Always,
    Never,
}

/// A user's own configuration that was read and is sound by itself.
#[derive(Debug, Clone)]
pub(super) struct UserConfig {
    pub(super) path: PathBuf,
    pub(super) usual: Usual,
    pub(super) document: Document<ConfigFile>,
    /// What it comes to by itself.
    pub(super) settings: Settings,
    pub(super) warnings: Vec<String>,
    directory: Option<String>,
    color: Option<&'static str>,
}

/// Where a user's own configuration lies, whether or not it is there; nothing where the platform has no such place.
#[must_use]
pub fn user_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.user_directory()?.join(FILE))
}

/// Where debates are kept: `./debates`, unless the user's own configuration says otherwise.
///
/// # Errors
/// That configuration cannot be used.
pub fn debates_directory(environment: &Environment) -> Result<PathBuf, ConfigError> {
    let Some(document) = document(environment)? else { return Ok(DIRECTORY.into()) };
    let directory = document.1.content.directory.filter(|directory| !directory.trim().is_empty());
    Ok(directory.map_or_else(|| DIRECTORY.into(), |directory| at_home(&directory, environment)))
}

/// When the user's own configuration wants colour: `auto`, `always` or `never`. One that cannot be read wants nothing;
/// whoever needs it says what is wrong with it.
#[must_use]
pub fn usual_color(environment: &Environment) -> Option<&'static str> {
    document(environment).ok()??.1.content.color.map(color_name)
}

/// The settings of the user's own configuration by itself: what it says of providers is the user's word.
///
/// # Errors
/// It cannot be used.
pub fn user_settings(environment: &Environment, vocabulary: &Vocabulary) -> Result<Option<Settings>, ConfigError> {
    Ok(read_user(environment, vocabulary)?.map(|user| user.settings))
}

fn document(environment: &Environment) -> Result<Option<(PathBuf, Document<UserFile>)>, ConfigError> {
    let Some(path) = user_path(environment) else { return Ok(None) };
    Ok(read::<UserFile>(&path)?.map(|document| (path, document)))
}

fn color_name(color: ColorEntry) -> &'static str {
    match color {
        ColorEntry::Auto => "auto",
        ColorEntry::Always => "always",
        ColorEntry::Never => "never",
    }
}

/// `~/x` as a path below the home directory.
fn at_home(directory: &str, environment: &Environment) -> PathBuf {
    let home = directory.strip_prefix("~/").and_then(|rest| Some((environment.home()?, rest)));
    home.map_or_else(|| PathBuf::from(directory), |(home, rest)| home.join(rest))
}

/// Reads and checks a user's own configuration. Nothing when there is none.
pub(super) fn read_user(environment: &Environment, vocabulary: &Vocabulary) -> Result<Option<UserConfig>, ConfigError> {
    let Some((path, document)) = document(environment)? else { return Ok(None) };
    let mut value = document.value.clone();
    absolute_summary_prompt(&mut value, &path);
    let Document { content: file, warnings, text, .. } = document;
    let panel = file.panel.map(|panel| match panel {
        PanelEntry::Cheap => PanelName::Cheap,
        PanelEntry::Strong => PanelName::Strong,
        PanelEntry::Mixed => PanelName::Mixed,
    });
    let wish = ModelPreference { provider: file.provider.clone(), model: file.model.clone() };
    let content = ConfigFile {
        agents: file.agents,
        judge: file.judge,
        debate: file.debate,
        providers: file.providers,
        prices: file.prices,
        models: file.models,
        hooks: file.hooks,
    };
    let document = Document { content, warnings: Vec::new(), text, value };
    let usual = Usual { wish, panel, path: Some(path.clone()) };
    let own_roles = super::load::role_files(&super::load::parent(&path));
    let layers = Layers {
        // What the environment of the day says is no matter of the file's.
        environment: &Environment::default(),
        overrides: &Overrides::default(),
        vocabulary,
        own_roles: &own_roles,
        panel: None,
        usual: &Usual::default(),
        has_project: false,
    };
    let mut resolved = resolve(Some(document.content.clone()), &layers);
    check_wish(&usual.wish, &resolved.settings, &mut resolved.findings);
    if !resolved.findings.problems.is_empty() {
        resolved.findings.locate(|key| document.locate(key));
        return Err(ConfigError::Invalid { path, problems: resolved.findings.problems });
    }
    let shown = path.display();
    let warnings = warnings.into_iter().map(|warning| format!("{warning} ({shown})")).collect();
    let (directory, color) = (file.directory, file.color.map(color_name));
    Ok(Some(UserConfig { settings: resolved.settings, usual, document, warnings, directory, color, path }))
}

fn check_wish(wish: &ModelPreference, settings: &Settings, findings: &mut Diagnostics) {
    let at = |key: &str| KeyPath::root().key(key);
    let names = provider_names(&settings.providers);
    if let Some(provider) = wish.provider.as_ref().filter(|name| !names.contains(&name.as_str())) {
        findings.problem(at("provider"), super::findings::unknown("provider", provider, &names));
    }
    if wish.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        findings.problem(at("model"), "is empty");
    }
}

impl UserConfig {
    /// The file's values that hold beside a project's configuration as well.
    pub(super) fn defaults(&self) -> Value {
        let mut value = self.document.value.clone();
        if let Some(keys) = value.as_object_mut() {
            keys.retain(|key, _| !OWN.contains(&key.as_str()) && !OF_ONE_DEBATE.contains(&key.as_str()));
        }
        value
    }

    /// Its own keys as they are shown: the path, the value.
    pub(super) fn own_rows(&self) -> Vec<(&'static str, String)> {
        let Usual { wish, panel, .. } = &self.usual;
        let values = [
            wish.provider.clone(),
            wish.model.clone(),
            panel.map(|panel| panel.name().to_owned()),
            self.directory.clone(),
            self.color.map(str::to_owned),
        ];
        OWN.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The prompt file that it names for every debate.
    pub(super) fn summary_prompt(&self) -> Option<PathBuf> {
        let path = self.settings.debate.summarization.prompt_path.as_ref()?;
        Some(super::load::parent(&self.path).join(path))
    }
}

/// A project's configuration over the user's: objects key by key in `debate`, the others entry by entry.
pub(super) fn merged(user: Value, project: &Value) -> Value {
    let (Value::Object(mut all), Value::Object(project)) = (user, project) else { return project.clone() };
    for (key, value) in project {
        let below = all.remove(key);
        let value = match (key.as_str(), below) {
            ("debate", Some(below)) => laid_over(below, value, usize::MAX),
            ("providers" | "prices" | "models", Some(below)) => laid_over(below, value, 1),
            _ => value.clone(),
        };
        all.insert(key.clone(), value);
    }
    Value::Object(all)
}

/// `over` on `below`, so many levels deep. `null` says nothing.
fn laid_over(below: Value, over: &Value, levels: usize) -> Value {
    match (below, over) {
        (below, Value::Null) => below,
        (Value::Object(mut below), Value::Object(over)) if levels > 0 => {
            for (key, value) in over {
                let old = below.remove(key).unwrap_or(Value::Null);
                below.insert(key.clone(), laid_over(old, value, levels - 1));
            }
            Value::Object(below)
        }
        (_, over) => over.clone(),
    }
}

/// A path in the user's file is relative to that file, wherever the rest of the settings comes from.
fn absolute_summary_prompt(value: &mut Value, file: &Path) {
    let path = value.pointer_mut("/debate/summarization/promptPath");
    if let Some(Value::String(path)) = path
        && !path.trim().is_empty()
    {
        *path = super::load::parent(file).join(&*path).display().to_string();
    }
}
