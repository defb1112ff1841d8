//! What debates before have left for those to come.

use dialectic_record::debate::{AgentSettings, Material, Settings, Standings};

/// What is known from debates before. It is asked once in a debate and told of its end, on a thread that may block.
///
/// # Errors
/// An error is the user's to read: it is a warning, and the debate goes on without what could not be had.
pub trait DebateHistory: Send + Sync {
    /// How the models of `agents` did in their roles.
    ///
    /// # Errors
    /// When what is known cannot be read.
    fn standings(&self, agents: &[AgentSettings]) -> Result<Standings, String>;

    /// What was decided on the same subject, as material with its source; nothing where the debate is not to be told.
    ///
    /// # Errors
    /// When what is known cannot be read.
    fn material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, String>;

    /// Takes in what a debate with these settings says that has just ended, if it says anything for those to come.
    ///
    /// # Errors
    /// When it cannot be taken in now.
    fn take_in(&self, settings: &Settings) -> Result<(), String>;
}
