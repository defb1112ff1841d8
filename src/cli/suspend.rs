//! Ctrl-Z: releases the terminal while the program is suspended.

use dialectic_report::display::Messages;

use super::keys::Keyboard;

/// Restores the terminal on suspension and on a quit signal, and takes it back when the program continues.
#[cfg(unix)]
pub(super) fn give_way(messages: Messages, keyboard: Option<Keyboard>) {
    use std::time::Duration;

    use dialectic_llm::command::end_all;
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::time::timeout;

    /// The time limit for removing the block, since a terminal may be stopped.
    const TO_LEAVE: Duration = Duration::from_millis(200);
    /// The exit code after SIGQUIT.
    const QUIT: i32 = 131;

    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let suspend = SignalKind::from_raw(Signal::TSTP.as_raw());
            let (Ok(mut suspended), Ok(mut quit)) = (signal(suspend), signal(SignalKind::quit())) else { return };
            loop {
                tokio::select! {
                    _ = suspended.recv() => {}
                    _ = quit.recv() => {
                        // Removing the block shows the cursor again.
                        drop(timeout(TO_LEAVE, messages.hide(true)).await);
                        super::keys::restore();
                        end_all();
                        #[expect(clippy::exit, reason = "that is what the signal asks for")]
                        std::process::exit(QUIT);
                    }
                }
                // Without a shell to continue it, the program would hang, so the signal is ignored.
                if !has_shell() {
                    continue;
                }
                let off = keyboard.as_ref().map(Keyboard::off);
                drop(timeout(TO_LEAVE, messages.hide(true)).await);
                let _ = kill_process(getpid(), Signal::STOP);
                // It was continued.
                drop(off);
                drop(messages.hide(false));
            }
        });
    });
}

/// Whether a shell with job control started the program.
#[cfg(unix)]
fn has_shell() -> bool {
    use rustix::process::{getpgid, getpgrp, getppid, getsid};
    let Some(parent) = getppid() else { return false };
    let session = |of| getsid(of).ok();
    session(Some(parent)).is_some()
        && session(Some(parent)) == session(None)
        && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}

#[cfg(not(unix))]
pub(super) fn give_way(_: Messages, _: Option<Keyboard>) {}
