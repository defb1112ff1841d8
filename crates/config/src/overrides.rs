//! The values of the command line.

use std::path::PathBuf;

use serde::Serialize;

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

dialectic_base::named! {
    /// A ready-made panel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum PanelName {
        /// Inexpensive models of one provider.
        Cheap = "cheap",
        /// The best models of one provider.
        Strong = "strong",
        /// Models of several providers.
        Mixed = "mixed",
    }
}

impl PanelName {
    /// The panel with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|panel| panel.name() == name)
    }
}

/// The value of `--panel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelChoice {
    /// A ready-made one.
    Named(PanelName),
    /// A file with agents and judge.
    File(PathBuf),
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
    /// The provider of `judge_model`, if it differs from `provider`.
    pub judge_provider: Option<String>,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--panel`.
    pub panel: Option<PanelChoice>,
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
    /// `--warn-cost`.
    pub warn_cost: Option<Usd>,
    /// `--max-calls`.
    pub max_calls: Option<u32>,
    /// `--seed`.
    pub seed: Option<u32>,
    /// `--context`.
    pub context_dir: Option<PathBuf>,
}
