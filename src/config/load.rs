//! Loading: the file system around the pure resolution.

use std::io;
use std::path::{Path, PathBuf};

use crate::debate::{AgentSettings, Settings};
use crate::tools::FILE_TOOLS;

use super::choice::ModelChoice;
use super::env::Environment;
use super::error::ConfigError;
use super::file::ConfigFile;
use super::findings::unknown;
use super::overrides::{Overrides, Vocabulary};
use super::read::{Document, read};
use super::resolve::{Layers, resolve};
use super::sources::{Origin, Sources};
use super::stranger::Provenance;

/// The file that is read when none is named.
pub const DEFAULT_PATH: &str = "./debate-config.json";

/// Which configuration file to read. Either may be absent: the built-in defaults are used then, with a warning.
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
    pub provenance: Provenance,
    /// The model that was chosen for agents without a configuration; nothing when none was needed.
    pub choice: Option<ModelChoice>,
}

/// Reads and resolves all layers. API keys are not asked for here but by [`missing_keys`](super::missing_keys()):
/// a configuration can be looked at without them.
///
/// # Errors
/// The file cannot be used (all its problems in one error), or a value of the command line cannot:
/// [`Diagnostic::blame`](crate::diagnostic::Diagnostic::blame) tells which.
pub fn load(
    path: &ConfigPath,
    environment: &Environment,
    overrides: &Overrides,
    vocabulary: &Vocabulary,
) -> Result<Loaded, ConfigError> {
    check_arguments(overrides, vocabulary)?;
    let context_dir = overrides.context_dir.as_deref().map(open_directory).transpose()?;
    let document = read::<ConfigFile>(path.as_path())?;
    let base_dir = parent(path.as_path());
    let own_roles = document.as_ref().map(|_| role_files(&base_dir)).unwrap_or_default();
    let layers = Layers { environment, overrides, vocabulary, own_roles: &own_roles };
    let mut loaded = assemble(path, document, &layers)?;
    loaded.settings.base_dir = Some(base_dir);
    // Without `--context` file tools see the working directory, and prompts have to say so.
    let reads_files = |agent: &AgentSettings| agent.tools.iter().any(|tool| FILE_TOOLS.contains(&tool.name.as_str()));
    let working_dir =
        || loaded.settings.agents.iter().any(reads_files).then(|| open_directory(Path::new(".")).ok()).flatten();
    loaded.settings.context_dir = context_dir.or_else(working_dir);
    Ok(loaded)
}

/// [`load`](load()) without the file system.
pub(super) fn assemble(
    path: &ConfigPath,
    document: Option<Document<ConfigFile>>,
    layers: &Layers,
) -> Result<Loaded, ConfigError> {
    let mut warnings = layers.environment.warnings().to_vec();
    let file = document.is_some().then(|| path.as_path().to_owned());
    if file.is_none() {
        let path = path.as_path().display();
        warnings.push(format!("Config not found at {path}. Using built-in defaults."));
    }
    let (content, document) = match document {
        Some(document) => (Some(document.content.clone()), document),
        None => (None, Document::default()),
    };
    let mut resolved = resolve(content, layers);
    if !resolved.findings.problems.is_empty() {
        resolved.findings.locate(|key| document.locate(key));
        return Err(ConfigError::Invalid { path: path.as_path().to_owned(), problems: resolved.findings.problems });
    }
    warnings.extend(document.warnings);
    warnings.extend(resolved.findings.warnings);
    let choice = resolved.choice;
    let origin = Origin { path, agents: resolved.origins, file: document.value, choice: choice.clone() };
    let sources = Sources::new(origin, layers.overrides);
    let provenance = match path {
        ConfigPath::Default if file.is_some() => Provenance::of_found_config(path.as_path()),
        ConfigPath::Default | ConfigPath::Named(_) => Provenance::of_user(),
    };
    Ok(Loaded { settings: resolved.settings, warnings, sources, file, provenance, choice })
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
