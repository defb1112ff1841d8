//! Ctrl-C and the signal to terminate.

use tokio_util::sync::CancellationToken;

/// The first interrupt pauses the debate, the second ends the program at once.
pub(super) async fn interrupt(cancel: CancellationToken) {
    let mut interrupts = Interrupts::listen();
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
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
struct Interrupts {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    fn listen() -> Self {
        Self {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(terminate) = &mut self.terminate {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
        drop(tokio::signal::ctrl_c().await);
    }
}
