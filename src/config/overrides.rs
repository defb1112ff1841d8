//! What other layers hand in: the command line's values, and the names that other modules know.

use std::path::PathBuf;

use crate::debate::{TerminationKind, Usd};

/// Whether an option of the command line was given that has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// It was not: the configuration decides.
    #[default]
    AsConfigured,
    /// It was.
    On,
}

/// The command line's layer. What is absent there is absent here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// `--agents`: roles to keep.
    pub agents: Option<Vec<String>>,
    /// `--rounds`.
    pub rounds: Option<u32>,
    /// `--protocol`.
    pub protocol: Option<String>,
    /// `--until`.
    pub until: Option<TerminationKind>,
    /// `--clarify`.
    pub clarify: Switch,
    /// `--offline`.
    pub offline: Switch,
    /// `--max-cost`.
    pub max_cost: Option<Usd>,
    /// `--warn-cost`.
    pub warn_cost: Option<Usd>,
    /// `--seed`.
    pub seed: Option<u32>,
    /// `--context`.
    pub context_dir: Option<PathBuf>,
}

/// The names that mean something in this program. Known to the modules that implement them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    /// The built-in roles.
    pub roles: &'a [&'a str],
    /// The tools.
    pub tools: &'a [&'a str],
    /// The protocols.
    pub protocols: &'a [&'a str],
    /// The methods of summarization.
    pub summarization_methods: &'a [&'a str],
}
