//! Turns files, environment and command line into [`Settings`](dialectic_record::settings::Settings).
//!
//! The layers are the built-in defaults, the user's own file, the project's file and the command line. Each file is
//! checked against a schema generated from the settings types, and problems are reported with their positions. A pure
//! function resolves the layers to settings and reports all problems and warnings together. [`ConfigFiles`] reads each
//! file once, checks it and resolves the layers.
//!
//! This crate prints nothing, and only its module `env` reads the process environment. Settings, warnings and errors
//! never contain secrets.

mod agents;
pub mod changes;
mod choice;
mod env;
mod error;
pub mod evaluators;
mod layers;
mod load;
pub mod read;
mod resolve;
mod rules;
mod schema;
mod show;
mod user;

#[cfg(test)]
mod tests;

pub use agents::role_names;
pub use choice::{ModelChoice, ServedModel, key_variables, served_model};
pub use env::{EnvError, cache_directory, capture_environment, process_environment, users_environment};
pub use error::{ConfigError, ConfigProblem, Location, SyntaxFault, nearest, suggestion};
pub use layers::{ChoiceReason, Overrides, ValueSource};
pub use load::{ConfigFiles, ConfigPath, DEFAULT_PATH, Loaded};
pub use rules::{model_warnings, one_family};
pub use schema::{part_of, schema};
pub use show::{SettingRow, show};
pub use user::{confirm_above, debates_directory, user_path, user_programs, usual_color, usual_model};

/// The configuration template that `config init` writes.
pub const STARTER: &str = include_str!("starter.json");
