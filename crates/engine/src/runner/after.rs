//! Steps after a debate: indexes it with past debates, and runs the user's commands.

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

/// The time limit of a command.
pub const HOOK_LIMIT: Duration = Duration::from_mins(1);

/// The commands after a debate, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hooks {
    /// Shell commands; each receives the debate's state on its standard input.
    pub after_debate: Vec<String>,
}

/// The steps after a debate.
pub struct After {
    hooks: Hooks,
    /// The variables withheld from the commands.
    secrets: BTreeSet<String>,
    past: Option<Arc<dyn DebateHistory>>,
    settings: Settings,
}

impl Runner {
    /// The steps after a debate with these settings. `hooks` come from the user, never from a record or a request.
    pub fn after(&self, settings: &Settings, hooks: Hooks) -> After {
        let (past, secrets) = (self.services.past.clone(), secret_variables(&settings.providers));
        After { hooks, secrets, past, settings: settings.clone() }
    }
}

impl After {
    /// Indexes the debate at `state` with earlier ones, then runs the commands in order, with the state on their
    /// standard input. Returns warnings; a failure does not affect the debate.
    pub async fn run(self, state: &Path) -> Vec<String> {
        let Self { hooks, secrets, past, settings } = self;
        let mut warnings = Vec::new();
        if let Some(past) = past {
            let counted = spawn_blocking(move || past.take_in(&settings)).await;
            if let Err(error) = counted.unwrap_or_else(|defect| Err(defect.to_string())) {
                // The next reader of past debates indexes it.
                warnings.push(format!("the debate is not indexed yet: {error}"));
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
            return vec![format!("the commands in `hooks` are skipped: cannot read {}: {error}", state.display())];
        }
    };
    let mut warnings = Vec::new();
    for command in &hooks.after_debate {
        let limited = Limited { command, input: Some(&input), limit: HOOK_LIMIT, keep: 0, without };
        if let Err(error) = run(&limited).await {
            warnings.push(format!("the command `{command}` after the debate failed: {error}"));
        }
    }
    warnings
}
