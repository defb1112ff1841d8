//! Loads configuration files and resolves them to settings.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

use dialectic_base::key_path::KeyPath;
use dialectic_base::money::BudgetLimit;
use dialectic_engine::access::{
    Environment, PROMPT_FAULT, UserSettings, is_trusted, programs_there, provider_names, refused, stray_prompt,
};
use dialectic_engine::tools::FILE_TOOLS;
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{AgentSettings, Settings};

use super::agents::role_files;
use super::choice::{ModelChoice, ModelPreference, OwnProviders, ResolveContext};
use super::env::cache_directory;
use super::error::{ConfigError, Diagnostics, unknown};
use super::layers::{Layers, Overrides, ValueSource};
use super::read::{ConfigDocument, parent, read};
use super::resolve::{Resolved, resolve};
use super::user::{UserConfig, read_user};
use super::{rules, schema};

pub const DEFAULT_PATH: &str = "./debate-config.json";

/// Which configuration file to read. The default file may be missing without a warning; the user's own configuration or
/// the built-in defaults then apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigPath {
    /// The file at [`DEFAULT_PATH`], if it exists.
    Default,
    /// A file that the user named. It must exist, and is trusted.
    Named(PathBuf),
    /// A file that the program found in another place, such as an earlier revision.
    Found(PathBuf),
    /// Do not read the project's file.
    None,
}

impl ConfigPath {
    /// The path of the file; [`DEFAULT_PATH`] for `Default` and `None`.
    pub fn as_path(&self) -> &Path {
        match self {
            Self::Default | Self::None => Path::new(DEFAULT_PATH),
            Self::Named(path) | Self::Found(path) => path,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Loaded {
    pub settings: Settings,
    /// Warnings about the environment file, then unknown keys, then values.
    pub warnings: Vec<String>,
    pub(super) layers: Layers,
    /// Keys of the user's own configuration that are not settings of a debate, each with its displayed value.
    pub(super) own: Vec<(String, String)>,
    /// The path of the project's file, as given; `None` if there is no such file.
    pub file: Option<PathBuf>,
    /// The models chosen for agents and judges that do not name one; `None` if no model had to be chosen.
    pub choice: Option<ModelChoice>,
    /// Commands to run after the debate.
    pub hooks: Vec<String>,
}

/// Each file is read once, when first needed.
pub struct ConfigFiles<'a> {
    path: ConfigPath,
    environment: &'a Environment,
    project: OnceCell<Option<ConfigDocument>>,
    user: OnceCell<Option<UserConfig>>,
}

impl<'a> ConfigFiles<'a> {
    pub fn new(path: ConfigPath, environment: &'a Environment) -> Self {
        Self { path, environment, project: OnceCell::new(), user: OnceCell::new() }
    }

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

    /// Reads and resolves all layers. Does not check API keys, so that a configuration can be shown without them;
    /// [`missing_keys`](dialectic_engine::access::missing_keys()) does.
    ///
    /// # Errors
    ///
    /// Returns an error if a file or a command-line value cannot be used. One error lists all problems of a file.
    pub fn load(&self, overrides: &Overrides) -> Result<Loaded, ConfigError> {
        check_arguments(overrides)?;
        let context_dir = overrides.context_dir.as_deref().map(open_directory).transpose()?;
        let (project, user) = (self.project()?, self.user()?);
        let path = &self.path;
        let base_dir = match (project, user) {
            (None, Some(user)) => parent(&user.document.path),
            (Some(_), _) | (None, None) => parent(path.as_path()),
        };
        let is_untrusted = project.is_some_and(|project| !self.trusts(project));
        let has_file = project.is_some() || user.is_some();
        let files = FileSet { path, project, user, is_untrusted };
        let own_roles = if has_file { role_files(&base_dir) } else { Vec::new() };
        let mut loaded = assemble(&files, self.environment, overrides, &own_roles)?;
        if let ConfigPath::Named(_) = path {
            let shown = base_dir.display().to_string().into();
            loaded.layers.set(ValueSource::Option("--config"), &KeyPath::root().key("baseDir"), shown);
        }
        loaded.settings.base_dir = Some(base_dir);
        if let Some(project) = files.untrusted() {
            let directories =
                loaded.settings.base_dir.clone().into_iter().chain(user.and_then(UserConfig::summary_prompt));
            if let Some(prompt) = stray_prompt(&loaded.settings, &directories.collect::<Vec<_>>()) {
                let fault = format!("its agents may not use the prompt `{}`, which {PROMPT_FAULT}", prompt.display());
                return Err(ConfigError::Untrusted { path: project.path.clone(), fault });
            }
        }
        // Without a context directory, file tools read the working directory, which prompts must mention.
        let reads_files =
            |agent: &AgentSettings| agent.tools.iter().any(|tool| FILE_TOOLS.contains(&tool.name.as_str()));
        let working_dir =
            || loaded.settings.agents.iter().any(reads_files).then(|| open_directory(Path::new(".")).ok()).flatten();
        loaded.settings.context_dir = context_dir.or_else(working_dir);
        Ok(loaded)
    }

    fn trusts(&self, file: &ConfigDocument) -> bool {
        matches!(self.path, ConfigPath::Named(_)) || is_trusted(&file.path, &file.text, self.environment)
    }

    fn trusted(&self) -> Result<Option<&ConfigDocument>, ConfigError> {
        match self.path {
            ConfigPath::Named(_) => self.project(),
            // A broken file must not prevent a saved debate from continuing.
            ConfigPath::Default | ConfigPath::Found(_) | ConfigPath::None => {
                Ok(self.project().ok().flatten().filter(|project| self.trusts(project)))
            }
        }
    }

    /// Like [`Loaded::hooks`], for a saved debate: ignores a file that the user neither named nor trusts.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration cannot be used.
    pub fn hooks(&self) -> Result<Vec<String>, ConfigError> {
        Ok(hooks(self.trusted()?, self.user()?))
    }

    /// The settings that a saved debate takes from the user's files: the user's own configuration, and the project's if
    /// the user named or trusts it.
    ///
    /// # Errors
    ///
    /// Returns an error if a configuration cannot be used.
    pub fn own(&self) -> Result<UserSettings, ConfigError> {
        let (project, user) = (self.trusted()?, self.user()?);
        let files = FileSet { path: &self.path, project, user, is_untrusted: false };
        let layers = files.layers(&OwnProviders::default());
        let mut findings = project.map(ConfigDocument::findings).unwrap_or_default();
        let debate = rules::debate(&layers.section("debate"), &mut findings);
        let documents = project.into_iter().chain(user.map(|user| &user.document));
        // Reviews store the prompts of the base revision in this directory.
        let reviews = cache_directory().map(|cache| cache.join("review"));
        let prompt = user.and_then(UserConfig::summary_prompt);
        let own = UserSettings {
            providers: rules::providers(&layers.section("providers"), &mut findings),
            prices: rules::prices(&layers.section("prices"), &mut findings),
            models: rules::models(&layers.section("models"), &mut findings),
            budget: debate.budget,
            context_commands: debate.arena.context_commands,
            limit: BudgetLimit::default(),
            directories: documents.map(|document| parent(&document.path)).chain(reviews).chain(prompt).collect(),
        };
        files.refuse(findings)?;
        Ok(own)
    }
}

pub(super) struct FileSet<'a> {
    pub(super) path: &'a ConfigPath,
    pub(super) project: Option<&'a ConfigDocument>,
    pub(super) user: Option<&'a UserConfig>,
    /// Whether the project's file was found rather than named, and the user does not trust it.
    pub(super) is_untrusted: bool,
}

impl FileSet<'_> {
    fn untrusted(&self) -> Option<&ConfigDocument> {
        self.project.filter(|_| self.is_untrusted)
    }

    /// The layers of the files, lowest first. `own` lists the providers that the files define.
    fn layers(&self, own: &OwnProviders) -> Layers {
        let mut layers = Layers::default();
        let named = |tree: &Value| rules::named_by_models(tree.clone(), own);
        if let Some(user) = &self.user {
            let tree = if self.project.is_some() { user.tree_for_project() } else { named(&user.document.tree) };
            layers.push(ValueSource::File(user.document.path.clone()), tree);
        }
        if let Some(project) = &self.project {
            let mut tree = named(&project.tree);
            if let Some(user) = self.user.filter(|_| self.is_untrusted) {
                remove_higher_limits(&mut tree, &user.document.tree);
            }
            layers.push(ValueSource::File(project.path.clone()), tree);
        }
        layers
    }

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

/// Like [`ConfigFiles::load`], for files that were already read.
pub(super) fn assemble(
    files: &FileSet,
    environment: &Environment,
    overrides: &Overrides,
    own_roles: &[String],
) -> Result<Loaded, ConfigError> {
    let &FileSet { project, user, .. } = files;
    let mut warnings = environment.warnings().to_vec();
    if let Some(untrusted) = files.untrusted() {
        let refused = refused(&untrusted.tree);
        if !refused.is_empty() {
            let fault = format!("it may not set {}", refused.join(", "));
            return Err(ConfigError::Untrusted { path: untrusted.path.clone(), fault });
        }
    }
    let documents = [user.map(|user| &user.document), project].into_iter().flatten();
    let own: OwnProviders = documents.flat_map(|document| rules::own_providers(&document.tree)).collect();
    let of_project = project.map(|project| ModelPreference::of_document(project).with_provider_named(&own));
    let of_project = of_project.filter(|named| !named.is_none());
    // A project's file that selects a default model need not list agents.
    let is_expected = project.is_some() && of_project.is_none();
    let usual = usual(user, of_project.clone());
    let there = |providers: &_| programs_there(providers, environment);
    let context = ResolveContext { environment, overrides, own_roles, usual: &usual, programs: &there, is_expected };
    let mut findings = Diagnostics::default();
    findings.problems.extend(project.map(ConfigDocument::findings).into_iter().flat_map(|of| of.problems));
    let Resolved { settings, layers, mut findings, choice } = resolve(files.layers(&own), &context, findings);
    if let Some(refusal) = findings.refusal.take() {
        return Err(refusal);
    }
    if let Some(provider) = of_project.as_ref().and_then(|named| named.provider.as_deref()).filter(|_| choice.is_none())
    {
        let names = provider_names(&settings.providers);
        findings.check_name(KeyPath::root().key("provider"), Some(provider), "provider", &names);
    }
    let of_values = files.refuse(findings)?;
    let hooks = hooks(project, user);
    warnings.extend(project.into_iter().flat_map(|project| project.warnings.clone()));
    warnings.extend(user.into_iter().flat_map(|user| user.warnings.clone()));
    warnings.extend(of_values);
    let mut own = user.map(UserConfig::own).unwrap_or_default();
    if let Some(ModelPreference { provider, model, .. }) = of_project {
        own.retain(|(key, _)| !matches!(&**key, "provider" | "model"));
        let named = [("provider", provider), ("model", model)];
        own.extend(named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    let file = project.map(|project| project.path.clone());
    Ok(Loaded { settings, warnings, layers, own, file, choice, hooks })
}

/// The default provider and model from the project's file, completed by the user's. The user's model is only used if
/// the project names the user's provider.
fn usual(user: Option<&UserConfig>, of_project: Option<ModelPreference>) -> ModelPreference {
    let own = user.map(|user| user.usual.clone()).unwrap_or_default();
    let Some(ModelPreference { provider, model, file }) = of_project else { return own };
    let is_same = provider == own.provider;
    ModelPreference {
        model: model.or_else(|| own.model.filter(|_| is_same)),
        provider: provider.or(own.provider),
        file,
    }
}

fn hooks(project: Option<&ConfigDocument>, user: Option<&UserConfig>) -> Vec<String> {
    let documents = project.into_iter().chain(user.map(|user| &user.document));
    let mut commands = documents.filter_map(|document| document.tree["hooks"]["afterDebate"].as_array());
    let commands = commands.next().into_iter().flatten().filter_map(Value::as_str);
    commands.map(str::to_owned).collect()
}

/// An untrusted file may lower the user's limits, but not raise them.
fn remove_higher_limits(tree: &mut Value, own: &Value) {
    let limits = tree.pointer_mut("/debate/budget").and_then(Value::as_object_mut);
    if let Some(limits) = limits {
        let own = &own["debate"]["budget"];
        limits.retain(|key, limit| !limit.as_f64().zip(own[key].as_f64()).is_some_and(|(limit, own)| limit > own));
    }
}

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
    // Check that the directory can be read, too.
    std::fs::read_dir(&absolute).map_err(failed)?;
    Ok(absolute)
}
