//! The modes of the user's terminal: echo, line buffering, signal keys.
//!
//! The terminal and its modes belong to the whole program: a panic or a signal restores them. They are not changed in
//! the background, which would stop the program.

#[cfg(unix)]
pub(super) use unix::{is_in_foreground, one_by_one, remember, restore};

#[cfg(unix)]
mod unix {
    use std::io::stdin;
    use std::sync::{Mutex, PoisonError, TryLockError};

    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// The original modes, once they may have been changed.
    static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

    /// The time limit of a read in tenths of a second.
    const PATIENCE: u8 = 1;

    /// Whether the program may use the terminal.
    pub(in crate::cli) fn is_in_foreground() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
    }

    /// Saves the modes before a change.
    pub(in crate::cli) fn remember() {
        if let Ok(found) = tcgetattr(stdin()) {
            FOUND.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        }
    }

    /// Reads keys one by one without echo; signal keys still work. Returns whether this succeeded.
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
        // Another program may have changed the modes in the meantime.
        *kept = Some(found);
        tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
    }

    /// Restores the original modes if they were changed.
    pub(in crate::cli) fn restore() {
        let mut kept = match FOUND.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            // A panic interrupted the holder, which will restore them.
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

/// Saves the modes before a change.
#[cfg(not(unix))]
pub(super) fn remember() {}

/// Restores the original modes if they were changed.
#[cfg(not(unix))]
pub(super) fn restore() {}
