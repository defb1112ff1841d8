//! Handles Ctrl-C, Ctrl-Z, termination signals and hangups.

#[cfg(unix)]
use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use dialectic_llm::command::end_all;
use dialectic_report::display::{LiveView, Messages};

use super::keys::{self, Keyboard};
use super::output;

/// The time limit for removing the block, since a terminal may be stopped.
const TO_LEAVE: Duration = Duration::from_millis(200);
/// The time limit for everything after an interrupt; the last traces may use three seconds of it.
const TO_END: Duration = Duration::from_secs(4);

/// The first interrupt pauses the debate, the second ends the program at once, without its block.
pub(super) async fn interrupt(mut interrupts: Interrupts, cancel: CancellationToken, mut view: LiveView) {
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
    view.leave();
    // A stopped terminal still shows its block.
    drop(timeout(TO_LEAVE, view.ended()).await);
    keys::restore();
    end_all();
    #[expect(clippy::exit, reason = "the user asked twice: whatever hangs must not keep the program alive")]
    std::process::exit(130);
}

/// From here on, an interrupt ends the program: the debate is saved, and the remaining steps may hang. `heard` has
/// listened since before the previous listener stopped, so no interrupt is lost.
pub(super) fn end_on_interrupt(heard: Option<Interrupts>) {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut interrupts = heard.unwrap_or_else(Interrupts::listen);
            interrupts.next().await;
            // That interrupt was for the pager.
            while output::is_open() {
                interrupts.next().await;
            }
        });
        keys::restore();
        end_all();
        #[expect(clippy::exit, reason = "the user asked; the main thread may be blocked by a stalled reader")]
        std::process::exit(130);
    });
}

/// Runs work that handles interrupts. Afterwards, an interrupt ends the program.
pub(super) fn run_with_interrupts<T>(work: impl AsyncFnOnce(&mut Interrupts) -> Result<T, Error>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let (done, interrupts) = runtime.block_on(async {
        let mut interrupts = Interrupts::listen();
        (work(&mut interrupts).await, interrupts)
    });
    runtime.shutdown_background();
    // The same listener continues: a new one would miss an interrupt in between.
    end_on_interrupt(Some(interrupts));
    done
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like one on a full disk; without a handler, its signal
/// would end the program. Child processes keep the default.
#[cfg(unix)]
pub(super) fn survive_file_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler outlives the runtime. If it cannot be set, the signal ends the program as before.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _in_runtime = runtime.enter();
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
}

/// Other systems do not send this signal.
#[cfg(not(unix))]
pub(super) fn survive_file_limit() {}

/// Ends the program soon after an interrupt, even if a reader ignores its last lines.
pub(super) fn end_soon() {
    std::thread::spawn(|| {
        std::thread::sleep(TO_END);
        end_all();
        #[expect(clippy::exit, reason = "the user asked; the main thread is blocked by a stalled reader")]
        std::process::exit(130);
    });
}

/// Whether a hangup ends the program: not under `nohup`. Must be evaluated before a handler is set.
#[cfg(unix)]
static ENDS_WITH_TERMINAL: LazyLock<bool> = LazyLock::new(|| {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        // The lowest bit stands for the first signal, SIGHUP.
        Some(mask) => mask & 1 == 0,
        // If the system does not report it: a program started by `nohup` has no terminal to write to.
        None => std::io::IsTerminal::is_terminal(&std::io::stderr()),
    }
});

pub(super) use system::Interrupts;

#[cfg(unix)]
mod system {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// The signals that ask the program to end: Ctrl-C, SIGTERM and SIGHUP.
    pub(in crate::cli) struct Interrupts {
        interrupt: Option<Signal>,
        terminate: Option<Signal>,
        hangup: Option<Signal>,
    }

    impl Interrupts {
        /// Takes over these signals. Call it before drawing anything.
        pub(in crate::cli) fn listen() -> Self {
            Self {
                interrupt: signal(SignalKind::interrupt()).ok(),
                terminate: signal(SignalKind::terminate()).ok(),
                hangup: super::ENDS_WITH_TERMINAL.then(|| signal(SignalKind::hangup()).ok()).flatten(),
            }
        }

        /// Waits for the next one.
        pub(in crate::cli) async fn next(&mut self) {
            async fn received(signal: &mut Option<Signal>) {
                match signal {
                    Some(signal) => drop(signal.recv().await),
                    None => std::future::pending().await,
                }
            }
            tokio::select! {
                () = received(&mut self.interrupt) => {}
                () = received(&mut self.terminate) => {}
                () = received(&mut self.hangup) => {
                    // The shell may send one hangup and the system another; they count once.
                    self.hangup = None;
                }
            }
        }
    }
}

#[cfg(windows)]
mod system {
    use tokio::signal::windows::{
        CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
        ctrl_shutdown,
    };

    /// Ctrl-C, Ctrl-Break, and the end of the console, session or system, which leaves the program about five seconds.
    pub(in crate::cli) struct Interrupts {
        interrupt: Option<CtrlC>,
        interruption: Option<CtrlBreak>,
        close: Option<CtrlClose>,
        logoff: Option<CtrlLogoff>,
        shutdown: Option<CtrlShutdown>,
    }

    impl Interrupts {
        pub(in crate::cli) fn listen() -> Self {
            Self {
                interrupt: ctrl_c().ok(),
                interruption: ctrl_break().ok(),
                close: ctrl_close().ok(),
                logoff: ctrl_logoff().ok(),
                shutdown: ctrl_shutdown().ok(),
            }
        }

        pub(in crate::cli) async fn next(&mut self) {
            tokio::select! {
                Some(()) = async { self.interrupt.as_mut()?.recv().await } => {}
                Some(()) = async { self.interruption.as_mut()?.recv().await } => {}
                Some(()) = async { self.close.as_mut()?.recv().await } => {}
                Some(()) = async { self.logoff.as_mut()?.recv().await } => {}
                Some(()) = async { self.shutdown.as_mut()?.recv().await } => {}
                else => std::future::pending().await,
            }
        }
    }
}

/// Restores the terminal on suspension and on a quit signal, and takes it back when the program continues.
#[cfg(unix)]
pub(super) fn give_way(messages: Messages, keyboard: Option<Keyboard>) {
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::signal::unix::{SignalKind, signal};

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
                        keys::restore();
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
