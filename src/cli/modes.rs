//! The modes of the user's terminal: whether it echoes, waits for whole lines, turns keys into signals.

/// The modes of the terminal that standard input is; set again when this is dropped.
///
/// Whoever reads keys one by one changes them and sets them back with the next key, which may never be pressed.
pub(super) struct TerminalModes {
    #[cfg(unix)]
    found: Option<rustix::termios::Termios>,
}

impl TerminalModes {
    /// As they are now; nothing is changed later where standard input is no terminal.
    pub(super) fn found() -> Self {
        Self {
            #[cfg(unix)]
            found: rustix::termios::tcgetattr(std::io::stdin()).ok(),
        }
    }
}

impl Drop for TerminalModes {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(found) = &self.found {
            // Fails when the terminal has gone, and then nobody needs it.
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, found);
        }
    }
}
