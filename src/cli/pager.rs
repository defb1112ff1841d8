//! The pager for output longer than the screen.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::consent::is_automated;
use dialectic_engine::access::Environment;

/// The default pager, with colours.
const DEFAULT: &str = "less -R";
/// The default options of `less`: colours, and no clearing of the screen.
const LESS: &str = "RX";

/// Whether a pager uses the terminal, which then receives Ctrl-C.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether a pager uses the terminal.
pub(super) fn is_open() -> bool {
    IS_OPEN.load(Ordering::SeqCst)
}

/// The user's pager: `PAGER`, or a default; `None` if it is `cat`.
pub(super) fn wanted(environment: &Environment) -> Option<String> {
    if !cfg!(unix) || is_automated(environment) {
        return None;
    }
    let pager = environment.get("PAGER").unwrap_or(DEFAULT).trim();
    (pager != "cat").then(|| pager.to_owned())
}

/// Shows `text` in a pager. Returns false if there is no such program.
pub(super) fn page(pager: &str, text: &str, environment: &Environment) -> bool {
    let mut command = Command::new("sh");
    // Detects a missing program before anything is written.
    let script =
        format!("command -v {} >/dev/null 2>&1 || exit 127; exec {pager}", pager.split(' ').next().unwrap_or_default());
    command.args(["-c", &script]).stdin(Stdio::piped());
    if environment.get("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    IS_OPEN.store(true, Ordering::SeqCst);
    if let Some(mut input) = child.stdin.take() {
        // The user may close the pager early.
        drop(input.write_all(text.as_bytes()));
    }
    let status = child.wait();
    IS_OPEN.store(false, Ordering::SeqCst);
    status.is_ok_and(|status| status.code() != Some(127))
}
