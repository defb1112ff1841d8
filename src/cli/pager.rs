//! The pager, for what is longer than the screen.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::consent::is_automated;
use dialectic_engine::access::Environment;

/// What pages where the user names nothing: it shows colours.
const DEFAULT: &str = "less -R";
/// What `less` does where the user does not say: show colours, and leave the text on the screen.
const LESS: &str = "RX";

/// Whether a pager has the terminal: Ctrl-C is its own then.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether a pager has the terminal.
pub(super) fn is_open() -> bool {
    IS_OPEN.load(Ordering::SeqCst)
}

/// The pager that the user wants: that of `PAGER`, else a usual one; nothing where it is empty, passes everything on,
/// or nobody is there who could turn a page.
pub(super) fn wanted(environment: &Environment) -> Option<String> {
    if !cfg!(unix) || is_automated(environment) {
        return None;
    }
    let pager = environment.get("PAGER").unwrap_or(DEFAULT).trim();
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

/// Shows `text` in a pager. Says whether it did: not where there is no such program.
pub(super) fn page(pager: &str, text: &str, environment: &Environment) -> bool {
    let mut command = Command::new("sh");
    // A missing program is found out before anything is written to it.
    let script =
        format!("command -v {} >/dev/null 2>&1 || exit 127; exec {pager}", pager.split(' ').next().unwrap_or_default());
    command.args(["-c", &script]).stdin(Stdio::piped());
    if environment.get("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    IS_OPEN.store(true, Ordering::SeqCst);
    if let Some(mut input) = child.stdin.take() {
        // A user who closes the pager early has read enough.
        drop(input.write_all(text.as_bytes()));
    }
    let status = child.wait();
    IS_OPEN.store(false, Ordering::SeqCst);
    status.is_ok_and(|status| status.code() != Some(127))
}
