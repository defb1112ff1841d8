//! Loads the files for the pure resolution.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use dialectic_base::key_path::KeyPath;
use dialectic_engine::access::{Environment, Trust, programs_there, provider_names};
use dialectic_engine::runner::{Hooks, remembered_prices};
use dialectic_engine::tools::FILE_TOOLS;
use dialectic_record::debate::{AgentSettings, BudgetSettings, Settings};
use dialectic_record::prompt::Role;
use dialectic_record::protocol::Protocol;

use super::choice::{ModelChoice, ModelPreference, OwnProviders};
use super::error::ConfigError;
use super::findings::{Diagnostics, unknown};
use super::layers::{Layers, ValueSource};
use super::overrides::Overrides;
use super::read::{ConfigDocument, read};
use super::resolve::{ResolveContext, Resolved, Usual, resolve};
use super::user::{UserConfig, read_user};
use super::{programs, schema};

/// The default configuration file.
pub const DEFAULT_PATH: &str = "./debate-config.json";

/// The configuration file to read. The default one may be absent, without a warning: the user's own or the built-in
/// defaults apply then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigPath {
    /// [`DEFAULT_PATH`].
    Default,
    /// A named file, which must exist.
    Named(PathBuf),
    /// A file that was found elsewhere than at [`DEFAULT_PATH`], such as one of an earlier revision.
    Found(PathBuf),
    /// No file of the directory.
    None,
}

impl ConfigPath {
    /// The path, as given or by default.
    pub fn as_path(&self) -> &Path {
        match self {
            Self::Default | Self::None => Path::new(DEFAULT_PATH),
            Self::Named(path) | Self::Found(path) => path,
        }
    }
}

/// A valid configuration.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings, complete.
    pub settings: Settings,
    /// Warnings in the order found: environment file, unknown keys, values.
    pub warnings: Vec<String>,
    /// The layers of all sources.
    pub(super) layers: Layers,
    /// The keys that only the user's own configuration has.
    pub(super) own: Vec<(String, String)>,
    /// The file, as given; `None` if there was none.
    pub file: Option<PathBuf>,
    /// Whether the settings are the user's or were found.
    pub provenance: Trust,
    /// The models chosen for agents that name none; `None` if all do.
    pub choice: Option<ModelChoice>,
    /// The commands that may run after the debate.
    pub hooks: Hooks,
}

/// The configuration files of a run. Each is read once, when it is first needed.
pub struct ConfigFiles<'a> {
    path: ConfigPath,
    environment: &'a Environment,
    project: OnceCell<Option<ConfigDocument>>,
    user: OnceCell<Option<UserConfig>>,
}

impl<'a> ConfigFiles<'a> {
    /// The files that apply in this environment.
    pub fn new(path: ConfigPath, environment: &'a Environment) -> Self {
        Self { path, environment, project: OnceCell::new(), user: OnceCell::new() }
    }

    /// The project's file.
    pub fn path(&self) -> &ConfigPath {
        &self.path
    }

    fn user(&self) -> Result<Option<&UserConfig>, ConfigError> {
        if self.user.get().is_none() {
            let _ = self.user.set(read_user(self.environment)?);
        }
        Ok(self.user.get().and_then(Option::as_ref))
    }

    fn project(&self) -> Result<Option<&ConfigDocument>, ConfigError> {
        if self.project.get().is_none() {
            let project = match self.path {
                ConfigPath::None => None,
                ConfigPath::Default | ConfigPath::Named(_) | ConfigPath::Found(_) => {
                    read(self.path.as_path(), &schema::CONFIG)?
                }
            };
            if let (ConfigPath::Named(path), None) = (&self.path, &project) {
                return Err(ConfigError::Missing(path.clone()));
            }
            let _ = self.project.set(project);
        }
        Ok(self.project.get().and_then(Option::as_ref))
    }

    /// Reads and resolves all layers. API keys are checked separately by
    /// [`missing_keys`](dialectic_engine::access::missing_keys()), so that a configuration can be shown without them.
    ///
    /// # Errors
    /// The file cannot be used (all its problems in one error), or a command-line value cannot:
    /// [`Diagnostic::blame`](dialectic_base::diagnostic::Diagnostic::blame) tells which.
    pub fn load(&self, overrides: &Overrides) -> Result<Loaded, ConfigError> {
        check_arguments(overrides)?;
        let context_dir = overrides.context_dir.as_deref().map(open_directory).transpose()?;
        let (project, user) = (self.project()?, self.user()?);
        let path = &self.path;
        let base_dir = match (project, user) {
            (None, Some(user)) => parent(&user.document.path),
            (Some(_), _) | (None, None) => parent(path.as_path()),
        };
        let files = FileSet { path, project, user };
        let own_roles = if files.are_none() { Vec::new() } else { role_files(&base_dir) };
        let mut loaded = assemble(&files, self.environment, overrides, &own_roles)?;
        if let ConfigPath::Named(_) = path {
            let shown = base_dir.display().to_string().into();
            loaded.layers.set(ValueSource::Option("--config"), &KeyPath::root().key("baseDir"), shown);
        }
        loaded.settings.base_dir = Some(base_dir);
        // Without a context directory, file tools read the working directory, and prompts must say so.
        let reads_files =
            |agent: &AgentSettings| agent.tools.iter().any(|tool| FILE_TOOLS.contains(&tool.name.as_str()));
        let working_dir =
            || loaded.settings.agents.iter().any(reads_files).then(|| open_directory(Path::new(".")).ok()).flatten();
        loaded.settings.context_dir = context_dir.or_else(working_dir);
        Ok(loaded)
    }

    /// The commands that may run after a saved debate: those of a named configuration, else the user's own.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn hooks(&self) -> Result<Hooks, ConfigError> {
        match self.path {
            ConfigPath::Named(_) => Ok(self.load(&Overrides::default())?.hooks),
            ConfigPath::Default | ConfigPath::Found(_) | ConfigPath::None => {
                Ok(self.user()?.and_then(|user| commands(&user.document.tree)).unwrap_or_default())
            }
        }
    }

    /// Extends a record's trust by the user's own configuration and by one that the user named.
    ///
    /// # Errors
    /// A configuration cannot be used.
    pub fn vouch(&self, provenance: Trust) -> Result<Trust, ConfigError> {
        let mut provenance = provenance.and_remembered(remembered_prices(self.environment));
        if let Some(user) = self.user()? {
            provenance = provenance.and_own(&user.settings);
        }
        if let ConfigPath::Named(_) = self.path {
            provenance = provenance.and_config(&self.load(&Overrides::default())?.settings);
        }
        Ok(provenance)
    }
}

pub(super) struct FileSet<'a> {
    pub(super) path: &'a ConfigPath,
    /// The project's file.
    pub(super) project: Option<&'a ConfigDocument>,
    pub(super) user: Option<&'a UserConfig>,
}

impl FileSet<'_> {
    fn are_none(&self) -> bool {
        self.project.is_none() && self.user.is_none()
    }

    /// The contents of the files, lowest layer first. `own` are their providers.
    fn layers(&self, own: &OwnProviders) -> Layers {
        let mut layers = Layers::default();
        let named = |tree: &Value| programs::named_by_models(tree.clone(), own);
        if let Some(user) = &self.user {
            let tree = if self.project.is_some() { user.tree_for_project() } else { named(&user.document.tree) };
            layers.push(ValueSource::File(user.document.path.clone()), tree);
        }
        if let Some(project) = &self.project {
            layers.push(ValueSource::File(project.path.clone()), named(&project.tree));
        }
        layers
    }

    /// Fails if there are problems, each with its position. Returns the warnings.
    fn refuse(&self, findings: Diagnostics) -> Result<Vec<String>, ConfigError> {
        match self.project.or(self.user.map(|user| &user.document)) {
            Some(document) => document.refuse(findings),
            None if findings.problems.is_empty() => Ok(findings.warnings),
            None => {
                Err(ConfigError::Invalid { path: self.path.as_path().to_owned(), problems: findings.located(|_| None) })
            }
        }
    }
}

/// [`ConfigFiles::load`] without the file system.
pub(super) fn assemble(
    files: &FileSet,
    environment: &Environment,
    overrides: &Overrides,
    own_roles: &[String],
) -> Result<Loaded, ConfigError> {
    let &FileSet { path, project, user } = files;
    let mut warnings = environment.warnings().to_vec();
    let is_found = !matches!(path, ConfigPath::Named(_)) && project.is_some();
    let documents = [user.map(|user| &user.document), project].into_iter().flatten();
    let own: OwnProviders = documents.flat_map(|document| programs::names(&document.tree)).collect();
    let of_project = project.map(|project| ModelPreference::of_file(&project.tree).with_provider_named(&own));
    let of_project = of_project.filter(|named| !named.is_none());
    // A project that selects models leaves the agents open, as the user's own configuration does.
    let is_expected = project.is_some() && of_project.is_none();
    let usual = usual(files, of_project.clone());
    let none = BTreeMap::new();
    let there = |providers: &_| {
        // Ignores programs in found files: they are refused, but only later.
        let own = user.map_or(&none, |user| &user.settings.providers);
        programs_there(if is_found { own } else { providers }, environment)
    };
    let context = ResolveContext { environment, overrides, own_roles, usual: &usual, programs: &there, is_expected };
    let mut findings = Diagnostics::default();
    findings.problems.extend(project.map(ConfigDocument::findings).into_iter().flat_map(|of| of.problems));
    if let Some(project) = project.filter(|_| is_found) {
        programs::refuse_found(&project.tree, user.map(|user| &user.settings), &mut findings);
    }
    let Resolved { mut settings, mut layers, mut findings, choice } = resolve(files.layers(&own), &context, findings);
    if let Some(refusal) = findings.refusal.take() {
        return Err(refusal);
    }
    if let Some(provider) = of_project.as_ref().and_then(|named| named.provider.as_deref()).filter(|_| choice.is_none())
    {
        let names = provider_names(&settings.providers);
        findings.check_name(KeyPath::root().key("provider"), Some(provider), "provider", &names);
    }
    let of_values = files.refuse(findings)?;
    let hooks = allowed_hooks(files, &mut warnings);
    warnings.extend(project.into_iter().flat_map(|project| project.warnings.clone()));
    warnings.extend(user.into_iter().flat_map(|user| user.warnings.clone()));
    warnings.extend(of_values);
    let mut provenance = if is_found { Trust::of_found_config(path.as_path()) } else { Trust::of_user() };
    if let Some(user) = user {
        provenance = provenance.and_own(&user.settings);
        if let Some(prompt) = user.summary_prompt() {
            provenance = provenance.and_directory(&prompt);
        }
    }
    if is_found {
        tighten(&mut settings.debate.budget, &provenance, overrides, &mut layers);
    } else if matches!(path, ConfigPath::Named(_)) {
        provenance = provenance.and_own(&settings);
    }
    provenance.set_terms(&mut settings, environment);
    warnings.extend(provenance.overruled_prices(&settings));
    let mut own = user.map(UserConfig::own).unwrap_or_default();
    if let Some(ModelPreference { provider, model }) = of_project {
        own.retain(|(key, _)| !matches!(&**key, "provider" | "model"));
        let named = [("provider", provider), ("model", model)];
        own.extend(named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    let file = project.map(|project| project.path.clone());
    Ok(Loaded { settings, warnings, layers, own, file, provenance, choice, hooks })
}

/// The default model: the project's preference, else the user's. The user's provider serves a model named without a
/// provider.
fn usual(files: &FileSet, of_project: Option<ModelPreference>) -> Usual {
    let own = files.user.map(|user| user.usual.clone()).unwrap_or_default();
    let (Some(ModelPreference { provider, model }), Some(project)) = (of_project, files.project) else { return own };
    let is_same = provider == own.preference.provider;
    let preference = ModelPreference {
        model: model.or_else(|| own.preference.model.filter(|_| is_same)),
        provider: provider.or(own.preference.provider),
    };
    Usual { preference, path: Some(project.path.clone()) }
}

/// The commands of a file that the user named, else the user's own. Ignores those of a found file, with a warning:
/// working in a stranger's directory must not run the stranger's commands.
fn allowed_hooks(files: &FileSet, warnings: &mut Vec<String>) -> Hooks {
    let of_file = files.project.and_then(|project| commands(&project.tree));
    match (files.path, of_file) {
        (ConfigPath::Named(_), Some(hooks)) => return hooks,
        (ConfigPath::Default | ConfigPath::Found(_) | ConfigPath::None, Some(hooks))
            if !hooks.after_debate.is_empty() =>
        {
            let path = files.path.as_path().display();
            warnings.push(format!(
                "the commands in `hooks` are skipped: {path} was found, not named; to run them: -c {path}"
            ));
        }
        (ConfigPath::Named(_) | ConfigPath::Default | ConfigPath::Found(_) | ConfigPath::None, _) => {}
    }
    files.user.and_then(|user| commands(&user.document.tree)).unwrap_or_default()
}

fn commands(tree: &Value) -> Option<Hooks> {
    let commands = tree["hooks"]["afterDebate"].as_array()?;
    Some(Hooks { after_debate: commands.iter().filter_map(Value::as_str).map(str::to_owned).collect() })
}

/// Lets a found configuration lower the user's limits, but not raise them. The command line may do both.
fn tighten(budget: &mut BudgetSettings, provenance: &Trust, overrides: &Overrides, layers: &mut Layers) {
    let mut tight = *budget;
    provenance.tighten(&mut tight);
    let path = KeyPath::root().key("debate").key("budget");
    let mut tighten = |key, is_changed: bool| {
        if is_changed {
            layers.forget(&path.key(key));
        }
    };
    for (key, limit, tight, by_option) in [
        ("maxCostUsd", &mut budget.max_cost_usd, tight.max_cost_usd, overrides.max_cost),
        ("warnCostUsd", &mut budget.warn_cost_usd, tight.warn_cost_usd, None),
    ] {
        tighten(key, replace(limit, by_option, tight));
    }
    tighten("maxCalls", replace(&mut budget.max_calls, overrides.max_calls, tight.max_calls));
}

/// Replaces a limit that no option sets with the tighter one. Returns whether it changed.
fn replace<T: Copy + PartialEq>(limit: &mut Option<T>, by_option: Option<T>, tight: Option<T>) -> bool {
    let is_changed = by_option.is_none() && *limit != tight;
    if is_changed {
        *limit = tight;
    }
    is_changed
}

/// Checks the values of the command line.
fn check_arguments(overrides: &Overrides) -> Result<(), ConfigError> {
    let fault = |option, message: String| Err(ConfigError::Argument { option, message });
    if overrides.rounds == Some(0) {
        return fault("--rounds", "must be a whole number of at least 1".to_owned());
    }
    if overrides.agents.as_ref().is_some_and(|roles| roles.iter().all(|role| role.trim().is_empty())) {
        return fault("--agents", "names no role".to_owned());
    }
    match &overrides.protocol {
        Some(name) if Protocol::named(name).is_none() => {
            fault("--protocol", format!("names an {}", unknown("protocol", name, &Protocol::names())))
        }
        _ => Ok(()),
    }
}

fn open_directory(path: &Path) -> Result<PathBuf, ConfigError> {
    let failed = |source| ConfigError::ContextDir { path: path.to_owned(), source };
    let absolute = path.canonicalize().map_err(failed)?;
    // Listing it also checks the permission to read it.
    std::fs::read_dir(&absolute).map_err(failed)?;
    Ok(absolute)
}

/// The absolute directory of a file that may not exist.
pub(super) fn parent(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map_or_else(|| absolute.clone(), Path::to_owned)
}

/// The available roles: the built-in ones, and files next to a configuration.
pub fn role_names(base_dir: Option<&Path>) -> Vec<String> {
    let built_in = Role::built_in_names().into_iter().map(str::to_owned);
    built_in.chain(base_dir.map(role_files).unwrap_or_default()).collect()
}

/// The roles with a prompt file of the user's. An unreadable directory has none.
pub(super) fn role_files(base_dir: &Path) -> Vec<String> {
    let role = |entry: io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        let is_role = path.extension().is_some_and(|extension| extension == "md") && path.is_file();
        is_role.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
    };
    let entries = std::fs::read_dir(base_dir.join("prompts").join("roles")).into_iter().flatten();
    let mut roles: Vec<String> = entries.filter_map(role).collect();
    roles.sort();
    roles
}
