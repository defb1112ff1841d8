//! What runs when a debate has ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::config::Hooks;
use crate::process::{Limited, run};

/// How long a command may take.
const LIMIT: Duration = Duration::from_mins(1);

/// Runs the commands that the user wants run when a debate has ended, one after the other, each with the state at
/// `state` on its standard input and without the environment variables `without`. Returns what went wrong, a warning
/// each: what comes after a debate takes nothing back of it.
pub async fn after_debate(hooks: &Hooks, state: &Path, without: &BTreeSet<String>) -> Vec<String> {
    if hooks.after_debate.is_empty() {
        return Vec::new();
    }
    let input = match fs::read(state) {
        Ok(input) => input,
        Err(error) => {
            return vec![format!("the commands in `hooks` are left out: cannot read {}: {error}", state.display())];
        }
    };
    let mut warnings = Vec::new();
    for command in &hooks.after_debate {
        let limited = Limited { command, input: Some(&input), limit: LIMIT, keep: 0, without };
        if let Err(error) = run(&limited).await {
            warnings.push(format!("the command `{command}` behind the debate: {error}"));
        }
    }
    warnings
}
