//! From what is asked for to a debate that can be prepared: settings by the names that this program knows, and what
//! such a debate would take. The command line and the server go this way.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::agent::SUMMARIZATION_METHODS;
use crate::config::{
    Change, Changed, ConfigError, ConfigPath, Environment, Hooks, Loaded, Overrides, Vocabulary, change, load,
    role_files,
};
use crate::debate::{Created, FORMAT_VERSION, Forecast, PromptSources, Settings};
use crate::engine::{ForecastError, check_windows, forecast, telling_rounds};
use crate::prompt::Role;
use crate::protocol::PROTOCOLS;
use crate::tools::TOOL_NAMES;

use super::{RunnerError, Spec};

/// Lends the names that mean something in this program.
pub fn with_vocabulary<T>(use_it: impl FnOnce(&Vocabulary<'_>) -> T) -> T {
    let roles = Role::built_in_names();
    let protocols: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    use_it(&Vocabulary {
        roles: &roles,
        tools: TOOL_NAMES,
        protocols: &protocols,
        summarization_methods: SUMMARIZATION_METHODS,
    })
}

/// The roles that an agent can have: the built-in ones, and those that lie beside a configuration as files.
#[must_use]
pub fn role_names(base_dir: Option<&Path>) -> Vec<String> {
    let built_in = Role::built_in_names().into_iter().map(str::to_owned);
    built_in.chain(base_dir.map(role_files).unwrap_or_default()).collect()
}

/// Loads settings with the names that this program knows.
///
/// # Errors
/// The configuration, or an override, cannot be used.
pub fn load_settings(
    path: &ConfigPath,
    environment: &Environment,
    overrides: &Overrides,
) -> Result<Loaded, ConfigError> {
    with_vocabulary(|vocabulary| load(path, environment, overrides, vocabulary))
}

/// The commands that may run behind a debate that was saved: those of a configuration that the user names, else the
/// user's own.
///
/// # Errors
/// The configuration cannot be used.
pub fn users_hooks(path: &ConfigPath, environment: &Environment) -> Result<Hooks, ConfigError> {
    match path {
        ConfigPath::Named(_) => Ok(load_settings(path, environment, &Overrides::default())?.hooks),
        ConfigPath::Default => with_vocabulary(|vocabulary| Hooks::of_user(environment, vocabulary)),
    }
}

/// Changes settings by the rules of a configuration, with the names that this program knows.
///
/// # Errors
/// A key is unknown, or a value cannot be used or would change nothing.
pub fn change_settings(
    settings: &Settings,
    changes: &[Change],
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Changed, ConfigError> {
    with_vocabulary(|vocabulary| change(settings, changes, overrides, environment, vocabulary))
}

impl Spec {
    /// The calls that the debate would make, without a call and without a key. `routed` are the providers that may send a
    /// call on to others.
    ///
    /// # Errors
    /// A prompt cannot be rendered, or a role of the user's not be used.
    pub fn forecast(&self, routed: &BTreeSet<String>) -> Result<Forecast, ForecastError> {
        self.forecast_with(&self.settings, routed)
    }

    /// Sees to it that the prompts fit into what the models read, where that is in question. Returns a warning for each
    /// model that probably cannot read all that it is to be given.
    ///
    /// # Errors
    /// A prompt cannot fit, or cannot be rendered.
    pub fn check_prompts(&self) -> Result<Vec<String>, RunnerError> {
        let given = self.problem.len() + self.attachments.iter().map(|one| one.text.len()).sum::<usize>();
        let Some(rounds) = telling_rounds(&self.settings, given) else { return Ok(Vec::new()) };
        let mut shortened = self.settings.clone();
        shortened.debate.rounds = rounds;
        let forecast = self.forecast_with(&shortened, &BTreeSet::new())?;
        Ok(check_windows(&forecast.calls, &self.settings)?)
    }

    fn forecast_with(&self, settings: &Settings, routed: &BTreeSet<String>) -> Result<Forecast, ForecastError> {
        let created = |sources: &PromptSources, id| Created {
            format_version: FORMAT_VERSION,
            id,
            problem: self.problem.clone(),
            context: self.context.clone(),
            attachments: Arc::clone(&self.attachments),
            settings: settings.clone(),
            stages: self.protocol.infos(),
            prompt_sources: sources.clone(),
            seed: settings.debate.seed.unwrap_or_default(),
            forked_from: None,
        };
        forecast(self.protocol, settings, routed, created)
    }
}
