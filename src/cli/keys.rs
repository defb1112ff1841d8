//! Reads single keys while a debate runs.
//!
//! The reading thread releases the terminal for questions, while the program is suspended, and at the end. In the
//! background, or if standard input is not a terminal, no keys are read.

use std::io::{IsTerminal, stdin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Pauses the debate, or continues it if it is paused.
    Pause,
    /// Ends the debate early, with an answer.
    Stop,
    /// Switches between whole texts and their first sentences.
    MoreOrLess,
    Help,
    Quit,
}

/// Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyboard {
    /// How many [`Off`] values exist. Keys are read only if there are none.
    off: Arc<AtomicUsize>,
    /// Locked while the thread waits for a key, for at most a tenth of a second at a time.
    reading: Arc<Mutex<()>>,
}

/// While this value exists, no keys are read.
#[derive(Debug)]
pub(super) struct Off(Keyboard);

impl Key {
    fn of(byte: u8) -> Option<Self> {
        match byte.to_ascii_lowercase() {
            b'p' => Some(Self::Pause),
            b's' => Some(Self::Stop),
            b'v' => Some(Self::MoreOrLess),
            b'?' | b'h' => Some(Self::Help),
            b'q' => Some(Self::Quit),
            _ => None,
        }
    }

    /// Ignores everything from the first escape character on: keys such as arrows send escape sequences, which may
    /// contain letters.
    fn typed(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let plain = bytes.iter().take_while(|byte| **byte != 0x1b);
        plain.filter_map(|byte| Self::of(*byte))
    }
}

impl Keyboard {
    /// Starts the thread that reads keys. Returns `None` on Windows, if standard input is not a terminal, or if the
    /// thread cannot be started.
    pub(super) fn listen(keys: UnboundedSender<Key>) -> Option<Self> {
        if !cfg!(unix) || !stdin().is_terminal() {
            return None;
        }
        let keyboard = Self::default();
        let heard = keyboard.clone();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || heard.hear(&keys)).ok()?;
        Some(keyboard)
    }

    /// Stops reading keys until the result is dropped. Waits at most a tenth of a second for the thread that reads
    /// them, and restores the terminal's original modes.
    pub(super) fn off(&self) -> Off {
        self.off.fetch_add(1, Ordering::SeqCst);
        // Once this lock is acquired, no thread is reading.
        drop(self.reading.lock().unwrap_or_else(PoisonError::into_inner));
        restore();
        Off(self.clone())
    }

    #[cfg(unix)]
    fn hear(&self, keys: &UnboundedSender<Key>) {
        use std::time::{Duration, Instant};

        /// The pause between attempts to use the terminal.
        const LOOK_AGAIN: Duration = Duration::from_millis(50);

        let mut typed = [0; 64];
        while !keys.is_closed() {
            let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            if self.off.load(Ordering::SeqCst) > 0 || !is_in_foreground() || !one_by_one() {
                drop(reading);
                std::thread::sleep(LOOK_AGAIN);
                continue;
            }
            let begun = Instant::now();
            let count = rustix::io::read(stdin(), &mut typed).unwrap_or_default();
            drop(reading);
            for key in Key::typed(&typed[..count]) {
                let _ = keys.send(key);
            }
            if count == 0 && begun.elapsed() < LOOK_AGAIN {
                // The terminal is gone or its modes were changed, so the read did not block.
                std::thread::sleep(LOOK_AGAIN);
            }
            // Let `off` take the lock.
            std::thread::yield_now();
        }
    }

    #[cfg(not(unix))]
    fn hear(&self, _: &UnboundedSender<Key>) {}
}

impl Drop for Off {
    fn drop(&mut self) {
        self.0.off.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(unix)]
pub(super) use unix::{is_in_foreground, one_by_one, remember, restore};

#[cfg(unix)]
mod unix {
    use std::io::stdin;
    use std::sync::{Mutex, PoisonError, TryLockError};

    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// The terminal's original modes, if they may have been changed.
    static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

    /// The timeout of a read, in tenths of a second.
    const PATIENCE: u8 = 1;

    pub(in crate::cli) fn is_in_foreground() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
    }

    /// Saves the terminal's modes, unless they are already saved. Must be called before the modes change.
    pub(in crate::cli) fn remember() {
        if let Ok(found) = tcgetattr(stdin()) {
            FOUND.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        }
    }

    /// Makes the terminal deliver single keys without echo; Ctrl-C and Ctrl-Z still send signals. Returns whether this
    /// succeeded.
    pub(in crate::cli) fn one_by_one() -> bool {
        let Ok(found) = tcgetattr(stdin()) else { return false };
        let mut modes = found.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = PATIENCE;
        let is_so = found.local_modes == modes.local_modes && found.special_codes[SpecialCodeIndex::VMIN] == 0;
        if is_so {
            return true;
        }
        let mut kept = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        // Save the modes again: another program may have changed them in the meantime.
        *kept = Some(found);
        tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
    }

    /// Restores the terminal's original modes, if they may have been changed. Does nothing in the background, where
    /// setting the modes would suspend the program.
    pub(in crate::cli) fn restore() {
        let mut kept = match FOUND.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            // Do not wait: the panic hook may run in the thread that holds the lock.
            Err(TryLockError::WouldBlock) => return,
        };
        if is_in_foreground()
            && let Some(found) = kept.take()
        {
            // Fails if the terminal is gone, which is harmless.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &found);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn remember() {}

#[cfg(not(unix))]
pub(super) fn restore() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_other_keys_mean_nothing() {
        let typed = |bytes: &[u8]| Key::typed(bytes).collect::<Vec<_>>();
        assert_eq!(typed(b"pS?xq"), [Key::Pause, Key::Stop, Key::Help, Key::Quit]);
        assert_eq!(typed(b"v\x1b[1;5P"), [Key::MoreOrLess]);
        assert!(typed(b"\x1bp").is_empty());
    }
}
