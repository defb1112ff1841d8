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
    pub model: Option<String>,
    pub judge_model: Option<String>,
    pub mixed: Switch,
    pub rounds: Option<u32>,
    pub protocol: Option<String>,
    pub until: Option<TerminationKind>,
    pub check: Option<u32>,
    pub quick: Switch,
    pub clarify: Switch,
    pub offline: Switch,
    pub max_cost: Option<Usd>,
    pub max_calls: Option<u32>,
    pub context_dir: Option<PathBuf>,
}
