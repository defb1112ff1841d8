//! Loading by the names that this program knows. The command line and the server go this way.

use std::path::Path;

use dialectic_engine::access::Environment;
use dialectic_engine::agent::SUMMARIZATION_METHODS;
use dialectic_engine::runner::Hooks;
use dialectic_engine::tools::TOOL_NAMES;
use dialectic_record::debate::Settings;
use dialectic_record::prompt::Role;
use dialectic_record::protocol::PROTOCOLS;

use super::change::{Change, Changed, change};
use super::error::ConfigError;
use super::hooks;
use super::load::{ConfigPath, Loaded, load, role_files};
use super::overrides::{Overrides, Vocabulary};

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
        ConfigPath::Default => with_vocabulary(|vocabulary| hooks::of_user(environment, vocabulary)),
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
