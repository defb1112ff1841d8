//! The modes of the user's terminal: whether it echoes, waits for whole lines, turns keys into signals.
//!
//! There is one terminal, and its modes belong to the whole program: a defect anywhere, or a signal, sets them back.
//! Nothing is touched while the program runs in the background: setting modes would stop it.

#[cfg(unix)]
pub(super) use unix::{is_in_foreground, one_by_one, remember, restore};

#[cfg(unix)]
mod unix {
    use std::io::stdin;
    use std::sync::{Mutex, PoisonError, TryLockError};

    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// The modes that were found, where they are or may be changed.
    static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

    /// How long a read waits for a key, in tenths of a second.
    const PATIENCE: u8 = 1;

    /// Whether the terminal is this program's to read and to set.
    pub(in crate::cli) fn is_in_foreground() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
    }

    /// Remembers the modes, for somebody who is about to change them.
    pub(in crate::cli) fn remember() {
        if let Ok(found) = tcgetattr(stdin()) {
            FOUND.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        }
    }

    /// Has keys read one by one, without an echo; keys that raise signals still do so. Says whether they are.
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
        // The program that had the terminal meanwhile may have left it in other modes.
        *kept = Some(found);
        tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
    }

    /// Sets the terminal back to what was found, if anybody has changed it.
    pub(in crate::cli) fn restore() {
        let mut kept = match FOUND.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            // Its holder was stopped in the middle by a defect: it is on its way here.
            Err(TryLockError::WouldBlock) => return,
        };
        if is_in_foreground()
            && let Some(found) = kept.take()
        {
            // Fails when the terminal has gone, and then nobody needs it.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &found);
        }
    }
}

/// Remembers the modes, for somebody who is about to change them.
#[cfg(not(unix))]
pub(super) fn remember() {}

/// Sets the terminal back to what was found, if anybody has changed it.
#[cfg(not(unix))]
pub(super) fn restore() {}
