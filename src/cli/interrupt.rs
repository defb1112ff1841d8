//! Ctrl-C and the signal to terminate.

use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use dialectic_llm::command::end_all;
use dialectic_report::display::LiveView;

use super::{modes, pager};

/// The time limit for removing the block after a second interrupt.
const TO_LEAVE: Duration = Duration::from_millis(200);
/// The time limit for everything after an interrupt; the last traces may use three seconds of it.
const TO_END: Duration = Duration::from_secs(4);

/// The first interrupt pauses the debate, the second ends the program at once, without its block.
pub(super) async fn interrupt(mut interrupts: Interrupts, cancel: CancellationToken, mut view: LiveView) {
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
    view.leave();
    // A stopped terminal keeps its block.
    drop(timeout(TO_LEAVE, view.ended()).await);
    modes::restore();
    end_all();
    #[expect(clippy::exit, reason = "the user asked twice: whatever hangs must not keep the program alive")]
    std::process::exit(130);
}

/// Makes an interrupt end the program: the debate is saved, and the rest may hang.
pub(super) fn end_on_interrupt() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut interrupts = Interrupts::listen();
            interrupts.next().await;
            // That interrupt was for the pager.
            while pager::is_open() {
                interrupts.next().await;
            }
        });
        modes::restore();
        end_all();
        #[expect(clippy::exit, reason = "the user asked; the main thread may be blocked by a stalled reader")]
        std::process::exit(130);
    });
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

/// Other systems send no such signal.
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

/// Ctrl-C and, where it exists, the signal to terminate.
pub(super) struct Interrupts {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    /// Takes over both signals. Call it before anything is on the screen.
    pub(super) fn listen() -> Self {
        #[cfg(unix)]
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt()).ok(),
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = received(&mut self.interrupt) => {}
            () = received(&mut self.terminate) => {}
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
