//! The keys that do something while a debate runs, and the terminal that they are typed on.
//!
//! A thread reads them. It gives the terminal back whenever somebody else needs it: for questions, while the program is
//! suspended, at the end. Where keys cannot be read, because standard input is no terminal or the program runs in the
//! background, the debate runs without them.

use std::io::{IsTerminal, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

use super::modes;

/// A key that does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Pause, or go on.
    Pause,
    /// Stop and close.
    Stop,
    /// Whole texts, or first sentences.
    MoreOrLess,
    /// Which keys there are.
    Help,
    /// Leave.
    Quit,
}

/// The keyboard, while keys are heard.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyboard(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How many want the terminal for themselves.
    off: AtomicUsize,
    /// Held while a key is waited for: at most a tenth of a second.
    reading: Mutex<()>,
}

/// Somebody has the terminal for themselves. Dropped, keys are heard again.
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

    /// What was typed. What other keys send begins with an escape and may have letters in it.
    fn typed(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let plain = bytes.iter().take_while(|byte| **byte != 0x1b);
        plain.filter_map(|byte| Self::of(*byte))
    }
}

impl Keyboard {
    /// Hears keys from now on and sends them to `keys`; nothing where standard input is no terminal.
    pub(super) fn listen(keys: UnboundedSender<Key>) -> Option<Self> {
        if !cfg!(unix) || !stdin().is_terminal() {
            return None;
        }
        let keyboard = Self::default();
        let heard = keyboard.clone();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || heard.hear(&keys)).ok()?;
        Some(keyboard)
    }

    /// Leaves the terminal to somebody else, in the modes that it was found in.
    pub(super) fn off(&self) -> Off {
        self.0.off.fetch_add(1, Ordering::SeqCst);
        // Nobody reads any more when this is free.
        drop(self.0.reading.lock().unwrap_or_else(PoisonError::into_inner));
        modes::restore();
        Off(self.clone())
    }

    #[cfg(unix)]
    fn hear(&self, keys: &UnboundedSender<Key>) {
        use std::time::{Duration, Instant};

        /// Between two looks at whether the terminal is ours again.
        const LOOK_AGAIN: Duration = Duration::from_millis(50);

        let mut typed = [0; 64];
        while !keys.is_closed() {
            let reading = self.0.reading.lock().unwrap_or_else(PoisonError::into_inner);
            if self.0.off.load(Ordering::SeqCst) > 0 || !modes::is_in_foreground() || !modes::one_by_one() {
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
                // The terminal has gone, or somebody has changed its modes: it does not wait any more.
                std::thread::sleep(LOOK_AGAIN);
            }
            // A part that wants the terminal gets it before the next key.
            std::thread::yield_now();
        }
    }

    #[cfg(not(unix))]
    fn hear(&self, _: &UnboundedSender<Key>) {}
}

impl Drop for Off {
    fn drop(&mut self) {
        self.0.0.off.fetch_sub(1, Ordering::SeqCst);
    }
}

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
