//! From file, environment and command line to [`Settings`](dialectic_record::debate::Settings).
//!
//! A stack of layers: the built-in defaults, the user's own file, the project's, the command line. Each file is held
//! against a schema that is made from the types of the settings, which says where the text is wrong; a pure resolution
//! then reads the stack into the settings and reports all problems and warnings together. [`load`] does both. Roles,
//! tools and protocols are known to other modules and come in as a [`Vocabulary`].
//!
//! Nothing here prints, and only [`capture_environment`] reads the process environment. A secret is never part of
//! the settings, a warning or an error.

mod advice;
mod agents;
mod change;
mod check;
mod choice;
mod dotenv;
mod env;
mod error;
mod evaluators;
mod findings;
mod hooks;
mod layers;
mod load;
mod locate;
mod overrides;
mod read;
mod resolve;
mod roster;
mod rules;
mod schema;
mod show;
mod starter;
mod suggest;
mod user;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use advice::{model_warnings, one_family, related_reviewers};
pub use change::{Change, Changed, change};
pub use check::{Checked, Mismatch, check};
pub use choice::{ChoiceReason, ModelChoice, NoKey, default_models};
pub use env::{EnvError, EnvFile, capture_environment, process_environment, users_environment};
pub use error::{Actual, ConfigError, Expected, JsonKind, Problem, SyntaxFault};
pub use evaluators::{
    EVALUATOR_TEMPERATURE, EvaluationSettings, EvaluatorSettings, EvaluatorsError, load_evaluators, offline_evaluator,
};
pub use layers::Source;
pub use load::{ConfigPath, DEFAULT_PATH, Loaded, load, role_files};
pub use locate::{Location, Subject};
pub use overrides::{Overrides, PanelChoice, PanelName, Switch, Vocabulary};
pub use schema::{part_of, schema};
pub use show::{Row, show};
pub use starter::starter;
pub use suggest::nearest;
pub use user::{debates_directory, user_path, user_settings, usual_color};
pub use vocabulary::{change_settings, load_settings, role_names, users_hooks, with_vocabulary};
