//! What is done when a debate has ended: past debates are counted, and the user's commands run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::access::secret_variables;
use crate::process::{Limited, run};
use dialectic_record::debate::Settings;

use super::{DebateHistory, Runner};

/// How long a command may take.
pub const HOOK_LIMIT: Duration = Duration::from_mins(1);

/// What runs when a debate has ended, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hooks {
    /// Commands for the shell; each gets the state of the debate on its standard input.
    pub after_debate: Vec<String>,
}

/// What is to be done after a debate.
pub struct After {
    hooks: Hooks,
    /// What the commands do not get.
    secrets: BTreeSet<String>,
    past: Option<Arc<dyn DebateHistory>>,
    settings: Settings,
}

impl Runner {
    /// What is to be done after a debate with these settings. `hooks` are the user's, never a record's or a request's.
    pub fn after(&self, settings: &Settings, hooks: Hooks) -> After {
        let (past, secrets) = (self.services.past.clone(), secret_variables(&settings.providers));
        After { hooks, secrets, past, settings: settings.clone() }
    }
}

impl After {
    /// Does it, for the debate whose state is at `state`: what it says is taken in beside the debates before it, then
    /// the commands run, one after the other, each with the state on its standard input. Returns what went wrong, a
    /// warning each: what comes after a debate takes nothing back of it.
    pub async fn run(self, state: &Path) -> Vec<String> {
        let Self { hooks, secrets, past, settings } = self;
        let mut warnings = Vec::new();
        if let Some(past) = past {
            let counted = spawn_blocking(move || past.take_in(&settings)).await;
            if let Err(error) = counted.unwrap_or_else(|defect| Err(defect.to_string())) {
                // The reader of past debates counts it then.
                warnings.push(format!("the debate is not counted yet: {error}"));
            }
        }
        if !hooks.after_debate.is_empty() {
            warnings.extend(run_all(&hooks, &secrets, state).await);
        }
        warnings
    }
}

async fn run_all(hooks: &Hooks, without: &BTreeSet<String>, state: &Path) -> Vec<String> {
    let input = match fs::read(state) {
        Ok(input) => input,
        Err(error) => {
            return vec![format!("the commands in `hooks` are left out: cannot read {}: {error}", state.display())];
        }
    };
    let mut warnings = Vec::new();
    for command in &hooks.after_debate {
        let limited = Limited { command, input: Some(&input), limit: HOOK_LIMIT, keep: 0, without };
        if let Err(error) = run(&limited).await {
            warnings.push(format!("the command `{command}` after the debate: {error}"));
        }
    }
    warnings
}
