//! The values of the command line.

use std::path::PathBuf;

use dialectic_base::money::Usd;
use dialectic_record::debate::TerminationKind;

/// An option without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// Absent: the configuration decides.
    #[default]
    AsConfigured,
    /// Present.
    On,
}

/// The layer of the command line. `None` is an absent option.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// `--agents`: roles to keep.
    pub agents: Option<Vec<String>>,
    /// `--model`.
    pub model: Option<String>,
    /// `--judge-model`.
    pub judge_model: Option<String>,
    /// `--mixed`.
    pub mixed: Switch,
    /// `--rounds`.
    pub rounds: Option<u32>,
    /// `--protocol`.
    pub protocol: Option<String>,
    /// `--until`.
    pub until: Option<TerminationKind>,
    /// `--check`.
    pub check: Option<u32>,
    /// `--quick`.
    pub quick: Switch,
    /// `--clarify`.
    pub clarify: Switch,
    /// `--offline`.
    pub offline: Switch,
    /// `--max-cost`.
    pub max_cost: Option<Usd>,
    /// `--max-calls`.
    pub max_calls: Option<u32>,
    /// `--context`.
    pub context_dir: Option<PathBuf>,
}
