//! What each source of settings may decide.
//!
//! - The command line, the process's environment, the user's own configuration, and a file that the user names or has
//!   [trusted](trust()): everything.
//! - A configuration that was only found, neither named nor trusted: agents, models, protocol, and prompts below its
//!   directory; [`refused`] lists what it may not set. Its limits apply only if they are lower than the user's.
//! - An environment file that was only found: keys, each for its vendor's host ([`Environment::add_untrusted`]).
//! - A record, which anyone can write: the same as a found configuration. [`UserSettings::over`] takes everything else
//!   from the user's own settings.
//! - A plan, or a request over HTTP or MCP: only names that the user's configuration defines.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;
use dialectic_base::money::BudgetLimit;
use dialectic_base::price::Price;
use dialectic_base::secrets::may_hold_secrets;
use dialectic_record::settings::{AgentSettings, BudgetSettings, ModelLimits, ProviderSettings, Settings};

use super::endpoint::elsewhere;
use super::environment::Environment;

const TRUSTED: &str = "trusted";

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot trust {0:?}: the path contains control characters, or is not UTF-8")]
    Path(PathBuf),
    #[error("cannot record trusted files: no home directory was found")]
    NoHome,
    #[error("cannot record the trusted file in `{}`", path.display())]
    Unrecorded { path: PathBuf, source: io::Error },
    #[error("the saved debate would run the command `{0}`, but your own configuration does not contain it")]
    Command(String),
    #[error("the saved debate names the prompt file `{}`, which {PROMPT_FAULT}", .0.display())]
    Prompt(PathBuf),
    #[error("the saved debate's tools would read `{}`, which is outside the working directory", .0.display())]
    Context(PathBuf),
}

pub const PROMPT_FAULT: &str = "is outside the allowed directories, or may contain secrets";

#[derive(Debug)]
pub struct Trusted {
    pub path: PathBuf,
    pub sha256: String,
    pub text: String,
}

impl Trusted {
    /// The entry for the list of trusted files, in the format of `sha256sum`.
    fn line(&self) -> String {
        format!("{}  {}", self.sha256, self.path.display())
    }
}

/// Trusts only the current content of the file.
///
/// # Errors
///
/// Returns an error if the file is not a text file, its path contains control characters, or the list of trusted files
/// cannot be written.
pub fn trust(path: &Path, environment: &Environment) -> Result<Trusted, TrustError> {
    let unreadable = |source| TrustError::Unreadable { path: path.to_owned(), source };
    let path = path.canonicalize().map_err(unreadable)?;
    let text = std::fs::read_to_string(&path).map_err(unreadable)?;
    if path.to_str().is_none_or(|path| path.contains(char::is_control)) {
        return Err(TrustError::Path(path));
    }
    let trusted = Trusted { sha256: hash(&text), path, text };
    let directory = environment.user_directory().ok_or(TrustError::NoHome)?;
    let list = directory.join(TRUSTED);
    if !has(&list, &trusted.line()) {
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::OpenOptions::new().append(true).create(true).open(&list))
            .and_then(|mut file| writeln!(file, "{}", trusted.line()));
        written.map_err(|source| TrustError::Unrecorded { path: list, source })?;
    }
    Ok(trusted)
}

pub fn is_trusted(path: &Path, text: &str, environment: &Environment) -> bool {
    let line = path.canonicalize().map(|path| format!("{}  {}", hash(text), path.display()));
    let list = environment.user_directory().map(|directory| directory.join(TRUSTED));
    line.ok().zip(list).is_some_and(|(line, list)| has(&list, &line))
}

fn hash(text: &str) -> String {
    // `text` may have been read with or without its byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    hexadecimal(&Sha256::digest(text))
}

fn has(list: &Path, line: &str) -> bool {
    std::fs::read_to_string(list).is_ok_and(|text| text.lines().any(|known| known == line))
}

/// The keys set in a discovered configuration that could redirect API keys, run commands, or understate costs.
pub fn refused(tree: &Value) -> Vec<String> {
    let is_set = |key: &&str| match tree.pointer(&format!("/{}", key.replace('.', "/"))) {
        None | Some(Value::Null) => false,
        Some(Value::Array(elements)) => !elements.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => true,
    };
    let sections = ["providers", "prices", "hooks.afterDebate", "debate.arena.contextCommands"];
    // The length of a program's answer cannot be limited, so a cost limit relies on `maxOutput`.
    let models = tree["models"].as_object().into_iter().flatten();
    let outputs = models.filter(|(_, limits)| !limits["maxOutput"].is_null());
    let outputs = outputs.map(|(model, _)| format!("models.{model}.maxOutput"));
    sections.into_iter().filter(is_set).map(str::to_owned).chain(outputs).collect()
}

fn tightened(own: BudgetSettings, found: BudgetSettings) -> BudgetSettings {
    fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
        one.into_iter().chain(other).min()
    }
    BudgetSettings {
        max_cost_usd: lower(own.max_cost_usd, found.max_cost_usd),
        warn_cost_usd: lower(own.warn_cost_usd, found.warn_cost_usd),
        max_calls: lower(own.max_calls, found.max_calls),
    }
}

fn prompt_files(agent: &AgentSettings, base: &Path) -> Vec<PathBuf> {
    let role = base.join("prompts").join("roles").join(format!("{}.md", agent.role));
    let named = [
        &agent.system_prompt_path,
        &agent.summary_prompt_path,
        &agent.clarification_prompt_path,
        &agent.summarization.prompt_path,
    ];
    named.into_iter().flatten().map(|path| base.join(path)).chain([role]).collect()
}

/// Returns a prompt file that is outside `directories` or may contain secrets, with links resolved; `None` if there is
/// no such file.
pub fn stray_prompt(settings: &Settings, directories: &[PathBuf]) -> Option<PathBuf> {
    let base = settings.base_dir.clone().unwrap_or_default();
    let files = settings.everybody().flat_map(|agent| prompt_files(agent, &base));
    // A missing file cannot reveal anything.
    let mut real = files.filter_map(|path| path.canonicalize().ok());
    real.find(|path| !is_below(path, directories) || may_hold_secrets(path))
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().filter_map(|directory| directory.canonicalize().ok()).any(|one| path.starts_with(one))
}

/// The user's own settings, which replace those in a debate's record. A limit in the record applies only if it is
/// lower.
#[derive(Debug, Clone, Default)]
pub struct UserSettings {
    pub providers: BTreeMap<String, ProviderSettings>,
    pub prices: BTreeMap<String, Price>,
    pub models: BTreeMap<String, ModelLimits>,
    pub budget: BudgetSettings,
    pub context_commands: Vec<String>,
    /// The command-line limits, which replace all others.
    pub limit: BudgetLimit,
    /// The directories, besides the working directory, whose files a saved debate may read.
    pub directories: Vec<PathBuf>,
}

impl UserSettings {
    pub fn over(&self, recorded: &Settings, environment: &Environment) -> Settings {
        let mut settings = recorded.clone();
        settings.providers.clone_from(&self.providers);
        settings.prices.clone_from(&self.prices);
        settings.models.clone_from(&self.models);
        settings.debate.budget = tightened(self.budget, recorded.debate.budget);
        settings.renew(self.limit);
        settings.elsewhere = elsewhere(&settings, environment);
        settings
    }

    /// # Errors
    ///
    /// Returns an error if the settings name a command or a file that the user has not allowed.
    pub fn check(&self, settings: &Settings) -> Result<(), TrustError> {
        let directories: Vec<PathBuf> = self.directories.iter().cloned().chain([PathBuf::from(".")]).collect();
        let mut commands = settings.debate.arena.context_commands.iter();
        if let Some(command) = commands.find(|command| !self.context_commands.contains(command)) {
            return Err(TrustError::Command(command.clone()));
        }
        if let Some(path) = stray_prompt(settings, &directories) {
            return Err(TrustError::Prompt(path));
        }
        if let Some(path) = &settings.context_dir
            && path.canonicalize().is_ok_and(|real| !is_below(&real, &directories))
        {
            return Err(TrustError::Context(path.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dialectic_record::settings::default_settings;

    use super::*;

    /// A cost limit relies on these values for programs.
    #[test]
    fn limits_of_models_are_the_users_and_not_a_records() {
        let limits =
            |most| BTreeMap::from([("m".to_owned(), ModelLimits { max_output: Some(most), ..Default::default() })]);
        let recorded = Settings { models: limits(1), ..default_settings() };
        let own = UserSettings { models: limits(100), ..UserSettings::default() };
        assert_eq!(own.over(&recorded, &Environment::default()).models, limits(100));
    }
}
