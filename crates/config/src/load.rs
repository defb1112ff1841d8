//! Loading: the file system around the pure resolution.

use std::io;
use std::path::{Path, PathBuf};

use dialectic_engine::access::{Environment, Trust};
use dialectic_engine::runner::Hooks;
use dialectic_engine::tools::FILE_TOOLS;
use dialectic_record::debate::{AgentSettings, Settings};

use super::choice::ModelChoice;
use super::error::ConfigError;
use super::file::{ConfigFile, PanelFile};
use super::findings::unknown;
use super::hooks;
use super::overrides::{Overrides, PanelChoice, PanelName, Vocabulary};
use super::read::{Document, parse, read};
use super::resolve::{Layers, resolve};
use super::sources::{Origin, Sources};
use super::user::{UserConfig, merged, read_user};

/// The file that is read when none is named.
pub const DEFAULT_PATH: &str = "./debate-config.json";

/// Which configuration file to read. The default one may be absent: the user's own holds then, or the built-in defaults
/// do, with a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigPath {
    /// [`DEFAULT_PATH`].
    Default,
    /// `--config`.
    Named(PathBuf),
}

impl ConfigPath {
    /// The path, as given.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        match self {
            Self::Default => Path::new(DEFAULT_PATH),
            Self::Named(path) => path,
        }
    }
}

/// A configuration that can be used.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Every value decided.
    pub settings: Settings,
    /// What the user should know, in the order found: environment file, unknown keys, values.
    pub warnings: Vec<String>,
    /// Which layer each value is from.
    pub sources: Sources,
    /// The file, as given; nothing when there was none.
    pub file: Option<PathBuf>,
    /// Whether the settings are the user's or were found.
    pub provenance: Trust,
    /// The model that was chosen for agents without a configuration; nothing when none was needed.
    pub choice: Option<ModelChoice>,
    /// The commands that may run when the debate has ended.
    pub hooks: Hooks,
}

/// Reads and resolves all layers. API keys are not asked for here but by [`missing_keys`](dialectic_engine::access::missing_keys()):
/// a configuration can be looked at without them.
///
/// # Errors
/// The file cannot be used (all its problems in one error), or a value of the command line cannot:
/// [`Diagnostic::blame`](dialectic_base::diagnostic::Diagnostic::blame) tells which.
pub fn load(
    path: &ConfigPath,
    environment: &Environment,
    overrides: &Overrides,
    vocabulary: &Vocabulary,
) -> Result<Loaded, ConfigError> {
    check_arguments(overrides, vocabulary)?;
    let context_dir = overrides.context_dir.as_deref().map(open_directory).transpose()?;
    let document = read::<ConfigFile>(path.as_path())?;
    if let (ConfigPath::Named(path), None) = (path, &document) {
        return Err(ConfigError::Missing { path: path.clone() });
    }
    let user = read_user(environment, vocabulary)?;
    let panel = match &overrides.panel {
        Some(PanelChoice::File(path)) => Some((path, read_panel(path)?)),
        Some(PanelChoice::Named(_)) | None => None,
    };
    let base_dir = match (&panel, &document, &user) {
        (Some((path, _)), ..) => parent(path),
        (None, None, Some(user)) => parent(&user.path),
        (None, Some(_), _) | (None, None, None) => parent(path.as_path()),
    };
    let has_roles = panel.is_some() || document.is_some() || user.is_some();
    let own_roles = if has_roles { role_files(&base_dir) } else { Vec::new() };
    let usual = user.as_ref().map(|user| user.usual.clone()).unwrap_or_default();
    let layers = Layers {
        environment,
        overrides,
        vocabulary,
        own_roles: &own_roles,
        panel: panel.as_ref().map(|(_, panel)| &panel.content),
        usual: &usual,
        has_project: document.is_some(),
    };
    let is_elsewhere = panel.is_some() && document.is_some();
    let mut loaded = assemble(path, document, user.as_ref(), &layers)?;
    if let Some((file, panel)) = &panel {
        loaded.warnings.extend(panel.warnings.iter().map(|warning| format!("{warning} ({})", file.display())));
        loaded.provenance = loaded.provenance.and_panel(&loaded.settings, &base_dir);
        if is_elsewhere {
            let summary = &mut loaded.settings.debate.summarization.prompt_path;
            *summary = summary.take().map(|relative| parent(path.as_path()).join(relative));
        }
    }
    loaded.settings.base_dir = Some(base_dir);
    // Without `--context` file tools see the working directory, and prompts have to say so.
    let reads_files = |agent: &AgentSettings| agent.tools.iter().any(|tool| FILE_TOOLS.contains(&tool.name.as_str()));
    let working_dir =
        || loaded.settings.agents.iter().any(reads_files).then(|| open_directory(Path::new(".")).ok()).flatten();
    loaded.settings.context_dir = context_dir.or_else(working_dir);
    Ok(loaded)
}

fn read_panel(path: &Path) -> Result<Document<PanelFile>, ConfigError> {
    if let Some(panel) = read::<PanelFile>(path)? {
        return Ok(panel);
    }
    let name = path.display().to_string();
    let names: Vec<&str> = PanelName::ALL.iter().map(|panel| panel.name()).collect();
    let message = format!("names an {}, and there is no such file", unknown("panel", &name, &names));
    Err(ConfigError::Argument { option: "--panel", message })
}

/// [`load`](load()) without the file system.
pub(super) fn assemble(
    path: &ConfigPath,
    document: Option<Document<ConfigFile>>,
    user: Option<&UserConfig>,
    layers: &Layers,
) -> Result<Loaded, ConfigError> {
    let mut warnings = layers.environment.warnings().to_vec();
    let file = document.is_some().then(|| path.as_path().to_owned());
    if file.is_none() && user.is_none() {
        let path = path.as_path().display();
        warnings.push(format!("Config not found at {path}. Using built-in defaults."));
    }
    let content = match (&document, user) {
        (None, None) => None,
        (Some(document), None) => Some(document.content.clone()),
        (None, Some(user)) => Some(user.document.content.clone()),
        (Some(document), Some(user)) => {
            let all = merged(user.defaults(), &document.value).to_string();
            Some(parse::<ConfigFile>(path.as_path(), all.as_bytes())?.content)
        }
    };
    let mut resolved = resolve(content, layers);
    if let Some(refusal) = resolved.findings.refusal {
        return Err(refusal);
    }
    if !resolved.findings.problems.is_empty() {
        let (path, document) = match (&document, user) {
            (Some(document), _) => (path.as_path().to_owned(), Some(document)),
            (None, Some(user)) => (user.path.clone(), Some(&user.document)),
            (None, None) => (path.as_path().to_owned(), None),
        };
        resolved.findings.locate(|key| document?.locate(key));
        return Err(ConfigError::Invalid { path, problems: resolved.findings.problems });
    }
    let hooks = hooks::allowed(path, document.as_ref(), user, &mut warnings);
    let document = document.unwrap_or_default();
    warnings.extend(document.warnings);
    warnings.extend(user.iter().flat_map(|user| &user.warnings).cloned());
    warnings.extend(resolved.findings.warnings);
    let choice = resolved.choice;
    let origin = Origin { path, agents: resolved.origins, file: document.value, choice: choice.clone(), user };
    let sources = Sources::new(origin, layers.overrides);
    let is_found = *path == ConfigPath::Default && file.is_some();
    let mut provenance = if is_found { Trust::of_found_config(path.as_path()) } else { Trust::of_user() };
    if let Some(user) = user {
        provenance = provenance.and_own(&user.settings);
        if let Some(prompt) = user.summary_prompt() {
            provenance = provenance.and_directory(&prompt);
        }
    }
    let mut settings = resolved.settings;
    if is_found {
        provenance.tighten(&mut settings.debate.budget);
        // The command line is the user's word.
        settings.debate.budget.max_cost_usd = layers.overrides.max_cost.or(settings.debate.budget.max_cost_usd);
        settings.debate.budget.warn_cost_usd = layers.overrides.warn_cost.or(settings.debate.budget.warn_cost_usd);
    } else if matches!(path, ConfigPath::Named(_)) {
        provenance = provenance.and_own(&settings);
    }
    provenance.set_terms(&mut settings, layers.environment);
    warnings.extend(provenance.overruled_prices(&settings));
    Ok(Loaded { settings, warnings, sources, file, provenance, choice, hooks })
}

/// The command line's own mistakes, which are not the file's.
fn check_arguments(overrides: &Overrides, vocabulary: &Vocabulary) -> Result<(), ConfigError> {
    let fault = |option, message: String| Err(ConfigError::Argument { option, message });
    if overrides.rounds == Some(0) {
        return fault("--rounds", "must be a whole number of at least 1".to_owned());
    }
    if overrides.agents.as_ref().is_some_and(|roles| roles.iter().all(|role| role.trim().is_empty())) {
        return fault("--agents", "names no role".to_owned());
    }
    match &overrides.protocol {
        Some(name) if !vocabulary.protocols.contains(&name.as_str()) => {
            fault("--protocol", format!("names an {}", unknown("protocol", name, vocabulary.protocols)))
        }
        _ => Ok(()),
    }
}

fn open_directory(path: &Path) -> Result<PathBuf, ConfigError> {
    let failed = |source| ConfigError::ContextDir { path: path.to_owned(), source };
    let absolute = path.canonicalize().map_err(failed)?;
    // Listing it also finds out whether it may be read.
    std::fs::read_dir(&absolute).map_err(failed)?;
    Ok(absolute)
}

/// The absolute directory of a file that need not exist.
pub(super) fn parent(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map_or_else(|| absolute.clone(), Path::to_owned)
}

/// The roles that the user has files for. A directory that is missing or closed has none.
#[must_use]
pub fn role_files(base_dir: &Path) -> Vec<String> {
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
