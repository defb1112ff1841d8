//! From what is asked for to a debate that can be prepared: settings by the names that this program knows, and what
//! such a debate would take. The command line and the server go this way.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::agent::SUMMARIZATION_METHODS;
use crate::config::{
    Change, Changed, ConfigError, ConfigPath, Environment, Hooks, Loaded, Overrides, Vocabulary, change, load,
    role_files, routed_providers,
};
use crate::debate::{Created, FORMAT_VERSION, Forecast, Gathered, PromptSources, Settings, Span};
use crate::engine::{ForecastError, check_windows, forecast, telling_rounds};
use crate::prompt::Role;
use crate::protocol::PROTOCOLS;
use crate::tools::TOOL_NAMES;

use super::{Runner, RunnerError, Spec};

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

impl Runner {
    /// The calls that a debate would make, without a call and without a key. Debates before are looked up for what it
    /// would be told of them and for who would take part; no command is run.
    ///
    /// # Errors
    /// A prompt cannot be rendered, or a role of the user's not be used.
    pub fn forecast(&self, spec: &Spec) -> Result<Forecast, ForecastError> {
        let gathered = self.foreseen(spec);
        forecast_of(spec, &spec.settings, &routed_providers(&spec.settings, &self.services.environment), &gathered)
    }

    /// Sees to it that the prompts fit into what the models read, where that is in question. Returns a warning for each
    /// model that probably cannot read all that it is to be given.
    ///
    /// # Errors
    /// A prompt cannot fit, or cannot be rendered.
    pub fn check_prompts(&self, spec: &Spec) -> Result<Vec<String>, RunnerError> {
        let gathered = self.foreseen(spec);
        let attached: usize = spec.attachments.iter().map(|one| one.text.len()).sum();
        let given = spec.problem.len() + attached + gathered.high.bytes();
        let Some(rounds) = telling_rounds(&spec.settings, given) else { return Ok(Vec::new()) };
        let mut shortened = spec.settings.clone();
        shortened.debate.rounds = rounds;
        let forecast = forecast_of(spec, &shortened, &BTreeSet::new(), &gathered)?;
        Ok(check_windows(&forecast.calls, &spec.settings)?)
    }

    fn foreseen(&self, spec: &Spec) -> Span<Gathered> {
        let (withheld, keys) = (self.services.withheld(), self.services.keys(&spec.settings));
        self.collector(withheld, keys, &spec.provenance).foreseen(spec.protocol, &spec.settings, &spec.problem)
    }
}

fn forecast_of(
    spec: &Spec,
    settings: &Settings,
    routed: &BTreeSet<String>,
    gathered: &Span<Gathered>,
) -> Result<Forecast, ForecastError> {
    let created = |sources: &PromptSources, id| Created {
        format_version: FORMAT_VERSION,
        id,
        problem: spec.problem.clone(),
        context: spec.context.clone(),
        attachments: Arc::clone(&spec.attachments),
        settings: settings.clone(),
        stages: spec.protocol.infos(),
        prompt_sources: sources.clone(),
        seed: settings.debate.seed.unwrap_or_default(),
        forked_from: None,
    };
    forecast(spec.protocol, settings, routed, gathered, created)
}
