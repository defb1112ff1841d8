//! Handles Ctrl-C, Ctrl-Z, termination signals and hangups.

#[cfg(unix)]
use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, INTERRUPTED};
use dialectic_llm::command::end_all;
use dialectic_report::display::{LiveView, Messages};

use super::keys::{self, Keyboard};
use super::terminal::pager_is_open;

/// The time limit for erasing the live display, since the terminal may be paused (Ctrl-S).
const TO_LEAVE: Duration = Duration::from_millis(200);
/// The time limit for ending after an interrupt, including up to three seconds for sending the last traces.
const TO_END: Duration = Duration::from_secs(4);

/// The first interrupt pauses the debate. The second erases the live display and ends the program immediately.
pub(super) async fn interrupt(mut interrupts: Interrupts, cancel: CancellationToken, mut view: LiveView) {
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
    view.leave();
    drop(timeout(TO_LEAVE, view.ended()).await);
    keys::restore();
    exit_now(INTERRUPTED.into());
}

/// Ends the program and the programs it started, because something may hang that must not keep it alive.
#[expect(clippy::exit, reason = "the user wants to end the program, and the main thread may be blocked")]
pub(super) fn exit_now(code: i32) -> ! {
    end_all();
    std::process::exit(code)
}

/// Makes an interrupt end the program from now on, because the remaining steps may hang. `heard` must have begun to
/// listen before the previous listener stopped, so that no interrupt is lost.
pub(super) fn end_on_interrupt(heard: Option<Interrupts>) {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut interrupts = heard.unwrap_or_else(Interrupts::listen);
            interrupts.next().await;
            // An interrupt while a pager is open is meant for the pager.
            while pager_is_open() {
                interrupts.next().await;
            }
        });
        keys::restore();
        exit_now(INTERRUPTED.into());
    });
}

/// Runs `work`, which handles interrupts itself. Afterwards, an interrupt ends the program.
pub(super) fn run_with_interrupts<T>(work: impl AsyncFnOnce(&mut Interrupts) -> Result<T, Error>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let (done, interrupts) = runtime.block_on(async {
        let mut interrupts = Interrupts::listen();
        (work(&mut interrupts).await, interrupts)
    });
    runtime.shutdown_background();
    // Pass on the same listener: a new one would miss an interrupt in between.
    end_on_interrupt(Some(interrupts));
    done
}

/// Makes a write beyond the file size limit (`ulimit -f`) return an error instead of ending the program with SIGXFSZ.
/// Child processes are not affected.
#[cfg(unix)]
pub(super) fn survive_file_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler outlives the runtime. If it cannot be set, the signal still ends the program.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _in_runtime = runtime.enter();
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
}

/// Only Unix has SIGXFSZ.
#[cfg(not(unix))]
pub(super) fn survive_file_limit() {}

/// Ends the program a few seconds after an interrupt, even if a stalled reader blocks its last output.
pub(super) fn end_soon() {
    std::thread::spawn(|| {
        std::thread::sleep(TO_END);
        exit_now(INTERRUPTED.into());
    });
}

/// Whether SIGHUP ends the program, which it does not under `nohup`. Must be evaluated before a handler is set.
#[cfg(unix)]
static ENDS_WITH_TERMINAL: LazyLock<bool> = LazyLock::new(|| {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        // The lowest bit stands for the first signal, SIGHUP.
        Some(mask) => mask & 1 == 0,
        // Without `/proc`, guess: under `nohup`, standard error is not a terminal.
        None => std::io::IsTerminal::is_terminal(&std::io::stderr()),
    }
});

pub(super) use system::Interrupts;

#[cfg(unix)]
mod system {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(in crate::cli) struct Interrupts {
        interrupt: Option<Signal>,
        terminate: Option<Signal>,
        hangup: Option<Signal>,
    }

    impl Interrupts {
        /// Stops the signals from ending the program. Call this before drawing anything that must be erased at the end.
        pub(in crate::cli) fn listen() -> Self {
            Self {
                interrupt: signal(SignalKind::interrupt()).ok(),
                terminate: signal(SignalKind::terminate()).ok(),
                hangup: super::ENDS_WITH_TERMINAL.then(|| signal(SignalKind::hangup()).ok()).flatten(),
            }
        }

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
                    // The shell and the kernel may each send a hangup. Count only the first.
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

    /// When the console is closed, the user logs off or the system shuts down, Windows kills the program within about
    /// five seconds.
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

/// Restores the terminal when the program is suspended or receives SIGQUIT, and takes over the terminal again when the
/// program continues.
#[cfg(unix)]
pub(super) fn give_way(messages: Messages, keyboard: Option<Keyboard>) {
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::mpsc::channel;
    use tokio::signal::unix::{SignalKind, signal};

    /// The exit code that shells report after SIGQUIT: 128 + its number.
    const QUIT: i32 = 131;

    let (registering, registered) = channel::<()>();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let suspend = SignalKind::from_raw(Signal::TSTP.as_raw());
            let (Ok(mut suspended), Ok(mut quit)) = (signal(suspend), signal(SignalKind::quit())) else { return };
            drop(registering);
            loop {
                tokio::select! {
                    _ = suspended.recv() => {}
                    _ = quit.recv() => {
                        // While `_off` exists, the thread that reads keys does not change the terminal's modes again.
                        let _off = keyboard.as_ref().map(Keyboard::off);
                        // Hiding the live display shows the cursor again.
                        drop(timeout(TO_LEAVE, messages.hide(true)).await);
                        keys::restore();
                        exit_now(QUIT);
                    }
                }
                // Ignore the signal if no shell could continue the program.
                if !has_shell() {
                    continue;
                }
                let off = keyboard.as_ref().map(Keyboard::off);
                drop(timeout(TO_LEAVE, messages.hide(true)).await);
                let _ = kill_process(getpid(), Signal::STOP);
                // The program resumes here when it is continued.
                drop(off);
                drop(messages.hide(false));
            }
        });
    });
    // Wait until the handlers are set: before that, a signal would end the program without restoring the terminal.
    let _ = registered.recv();
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
