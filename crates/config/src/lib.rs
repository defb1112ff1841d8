//! From file, environment and command line to [`Settings`](dialectic_record::debate::Settings).
//!
//! Two steps: [`read`](read()) turns text into a type in which every key may be absent, and says where the text is
//! wrong; a pure resolution then decides every value and reports all problems and warnings together.
//! [`load`] does both. Roles, tools and protocols are known to other modules and come in as a [`Vocabulary`].
//!
//! Nothing here prints, and only [`capture_environment`] reads the process environment. A secret is never part of
//! the settings, a warning or an error.

mod advice;
mod agents;
mod cast;
mod change;
mod choice;
mod dotenv;
mod env;
mod error;
mod evaluators;
mod file;
mod findings;
mod hooks;
mod load;
mod overrides;
mod place;
mod providers;
mod read;
mod resolve;
mod schema;
mod shapes;
mod sources;
mod starter;
mod suggest;
mod user;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use advice::{model_warnings, one_family, related_reviewers};
pub use change::{Change, Changed, change};
pub use choice::{ChoiceReason, ModelChoice, NoKey, default_models};
pub use env::{EnvError, EnvFile, capture_environment, process_environment, users_environment};
pub use error::{ConfigError, Expected, Found, Problem, SyntaxFault};
pub use evaluators::{
    EVALUATOR_TEMPERATURE, EvaluationSettings, EvaluatorSettings, EvaluatorsError, load_evaluators, offline_evaluator,
};
pub use load::{ConfigPath, DEFAULT_PATH, Loaded, load, role_files};
pub use overrides::{Overrides, PanelChoice, PanelName, Switch, Vocabulary};
pub use place::{Location, Place};
pub use read::{Document, read};
pub use schema::schema;
pub use shapes::{Named, Object, Whole};
pub use sources::{Row, Source, Sources, show};
pub use starter::starter;
pub use suggest::nearest;
pub use user::{debates_directory, user_path, user_settings, usual_color};
pub use vocabulary::{change_settings, load_settings, role_names, users_hooks, with_vocabulary};
