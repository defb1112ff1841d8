//! Settings of the protocol `arena`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the arena. Other protocols ignore them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Arena")]
pub struct ArenaSettings {
    /// The agents that take part.
    pub team: TeamSettings,
    /// When texts have converged.
    pub convergence: ConvergenceSettings,
    /// When a vote has a winner.
    pub voting: VotingSettings,
    /// Whether the judge looks for objections to an agreement before it counts.
    pub trickster: bool,
    /// Whether the judge determines the kinds of argument in each round.
    pub observer: bool,
    /// How often the debate may be extended when the winner misses a major requirement.
    #[schemars(range(max = 10))]
    pub extended_rounds: u32,
    /// Commands whose output is added to the debate's material. Only a file that you name or trust may have them.
    #[schemars(inner(length(min = 1)))]
    pub context_commands: Vec<String>,
}

impl Default for ArenaSettings {
    fn default() -> Self {
        Self {
            team: TeamSettings::default(),
            convergence: ConvergenceSettings::default(),
            voting: VotingSettings::default(),
            trickster: false,
            observer: false,
            extended_rounds: 1,
            context_commands: Vec::new(),
        }
    }
}

/// The agents that take part in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Team")]
pub struct TeamSettings {
    /// The number of agents; absent for all.
    #[schemars(range(min = 2))]
    pub size: Option<u32>,
}

/// When texts have converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Convergence")]
pub struct ConvergenceSettings {
    /// The percentage of matters on which all texts must agree.
    #[serde(serialize_with = "crate::debate::wire::serialize_number")]
    #[schemars(range(min = 0, max = 100))]
    pub threshold: f64,
}

impl Default for ConvergenceSettings {
    fn default() -> Self {
        Self { threshold: 80.0 }
    }
}

/// When a vote has a winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Voting")]
pub struct VotingSettings {
    /// The required share of the ballots cast: more than half, two thirds, or all.
    pub rule: VotingRule,
}

dialectic_base::named! {
    /// The share of the ballots cast that a text needs to win.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum VotingRule {
        /// More than half.
        #[default]
        Majority = "majority",
        /// Two thirds.
        Supermajority = "supermajority",
        /// All.
        Unanimous = "unanimous",
    }
}

impl VotingRule {
    /// Whether `votes` of `cast` ballots suffice.
    pub fn is_met(self, votes: u32, cast: u32) -> bool {
        match self {
            Self::Majority => 2 * votes > cast,
            Self::Supermajority => 3 * votes >= 2 * cast && votes > 0,
            Self::Unanimous => votes == cast && votes > 0,
        }
    }
}
