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
