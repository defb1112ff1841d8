//! The modes of the user's terminal: whether it echoes, waits for whole lines, turns keys into signals.

/// The modes that the terminal at standard input had before the user was asked something.
///
/// Whoever reads keys one by one changes them and sets them back with the next key, which is never pressed when the
/// question is interrupted by a signal. Nothing is touched before there was a question: setting modes stops a program
/// that runs in the background.
#[derive(Default)]
pub(super) struct TerminalModes {
    #[cfg(unix)]
    found: std::cell::OnceCell<rustix::termios::Termios>,
}

impl TerminalModes {
    /// Remembers them, the first time that it is called.
    pub(super) fn remember(&self) {
        #[cfg(unix)]
        if let Ok(found) = rustix::termios::tcgetattr(std::io::stdin()) {
            self.found.get_or_init(|| found);
        }
    }

    /// Sets the terminal back to them, if they are remembered.
    pub(super) fn restore(&self) {
        #[cfg(unix)]
        if let Some(found) = self.found.get() {
            // Fails when the terminal has gone, and then nobody needs it.
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, found);
        }
    }
}
