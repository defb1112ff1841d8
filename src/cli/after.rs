//! What is done when a debate has ended and its result is out: past debates are counted, and the user's commands run.

use std::collections::BTreeSet;
use std::path::Path;

use crate::archive::Archive;
use crate::config::{Hooks, secret_variables};
use crate::debate::Settings;
use crate::error::Error;
use crate::runner::after_debate;

use super::session::debates;
use super::terminal::Terminal;

/// What is to be done.
pub(super) struct After {
    hooks: Hooks,
    /// What the commands do not get.
    secrets: BTreeSet<String>,
    is_remembered: bool,
}

impl After {
    pub(super) fn of(settings: &Settings, hooks: Hooks) -> Self {
        let is_remembered = settings.debate.memory || Archive::rates(&settings.debate.protocol);
        Self { hooks, secrets: secret_variables(&settings.providers), is_remembered }
    }

    /// Does it. What fails is a warning: the debate is over and saved, and whoever looks later counts it then.
    pub(super) fn run(&self, state: &Path, terminal: &mut Terminal) {
        if self.is_remembered
            && let Err(error) = count()
        {
            terminal.warning(&format!("the debate is not counted yet: {error}"));
        }
        if self.hooks.after_debate.is_empty() {
            return;
        }
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                for warning in runtime.block_on(after_debate(&self.hooks, state, &self.secrets)) {
                    terminal.warning(&warning);
                }
            }
            Err(error) => terminal.warning(&format!("the commands in `hooks` are left out: {error}")),
        }
    }
}

fn count() -> Result<(), Error> {
    Archive::open(&debates()?)?.update()?;
    Ok(())
}
