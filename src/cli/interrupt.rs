//! Ctrl-C and the signal to terminate.

use tokio::task::{AbortHandle, yield_now};
use tokio_util::sync::CancellationToken;

/// The first interrupt pauses the debate, the second ends the program at once, without what `display` shows.
pub(super) async fn interrupt(mut interrupts: Interrupts, cancel: CancellationToken, display: AbortHandle) {
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
    display.abort();
    // The display erases its block when it is dropped, which the runtime has to come to.
    for _ in 0..3 {
        yield_now().await;
    }
    #[expect(clippy::exit, reason = "the user asked twice: whatever hangs must not keep the program alive")]
    std::process::exit(130);
}

/// From here on an interrupt ends the program: the debate is saved, and what is left to do may hang.
pub(super) fn end_on_interrupt() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async { Interrupts::listen().next().await });
        #[expect(clippy::exit, reason = "the user asked; the main thread may be blocked by whoever reads its output")]
        std::process::exit(130);
    });
}

/// Ctrl-C, and where there is one the signal to terminate.
pub(super) struct Interrupts {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    /// From now on none of them ends the program by itself. To be called before anything is on the screen that would
    /// stay there.
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

    /// Waits for the next of them.
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

    /// Waits for the next of them.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
