//! Uses past debates in new ones.

use dialectic_record::debate::{AgentSettings, Material, Settings, Standings};

/// Knowledge from past debates. Read once per debate and updated at its end, on a blocking thread.
///
/// # Errors
/// Errors are warnings for the user; the debate continues without the missing part.
pub trait DebateHistory: Send + Sync {
    /// The past results of the models of `agents` in their roles.
    ///
    /// # Errors
    /// The results cannot be read.
    fn standings(&self, agents: &[AgentSettings]) -> Result<Standings, String>;

    /// Past decisions on the same subject, as material with its source; empty if the debate should not see them.
    ///
    /// # Errors
    /// The decisions cannot be read.
    fn material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, String>;

    /// Adds a finished debate with these settings, if it is useful for later ones.
    ///
    /// # Errors
    /// It cannot be added now.
    fn take_in(&self, settings: &Settings) -> Result<(), String>;
}
