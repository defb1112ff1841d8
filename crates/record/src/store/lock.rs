//! Locks on open files, released when the process exits.
//!
//! On Windows nobody else can read a locked file, but a journal is read while its debate runs. Therefore a second file
//! next to the journal is locked instead. It is opened without sharing, and removed when it is closed.

use std::fs::File;
use std::io;
use std::path::Path;

/// A held lock. Empty on Unix, where the open file itself holds the lock.
#[derive(Debug)]
pub struct FileLock {
    #[cfg(windows)]
    _beside: File,
}

/// Locks `file`, which is at `path`, until the file is closed. `None` if another process holds the lock.
///
/// # Errors
///
/// Returns an error if the operating system reports one.
#[cfg(unix)]
pub fn try_lock(file: &File, _path: &Path) -> io::Result<Option<FileLock>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock {})),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(unix)]
pub fn is_locked(file: &File, _path: &Path) -> bool {
    let is_locked = matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock));
    // Unlock immediately, so that the debate stays resumable. If this fails, the lock ends when the caller closes the
    // file.
    drop(file.unlock());
    is_locked
}

/// Locks `file`, which is at `path`, until the returned lock is dropped. `None` if another process holds the lock.
///
/// # Errors
///
/// Returns an error if the operating system reports one.
#[cfg(windows)]
pub fn try_lock(_file: &File, path: &Path) -> io::Result<Option<FileLock>> {
    match windows::open_alone(path) {
        Ok(beside) => Ok(Some(FileLock { _beside: beside })),
        Err(error) if windows::is_in_use(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(windows)]
pub fn is_locked(_file: &File, path: &Path) -> bool {
    windows::beside(path).exists() && windows::open_alone(path).is_err_and(|error| windows::is_in_use(&error))
}

#[cfg(windows)]
mod windows {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::path::{Path, PathBuf};

    /// `FILE_FLAG_DELETE_ON_CLOSE`
    const DELETE_ON_CLOSE: u32 = 0x0400_0000;
    /// `DELETE | GENERIC_READ`
    const ACCESS: u32 = 0x0001_0000 | 0x8000_0000;
    /// `ERROR_SHARING_VIOLATION`, and `ERROR_ACCESS_DENIED` while a closed file is being removed.
    const IN_USE: [i32; 2] = [32, 5];

    pub(super) fn beside(path: &Path) -> PathBuf {
        path.with_added_extension("lock")
    }

    pub(super) fn open_alone(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).access_mode(ACCESS).share_mode(0).custom_flags(DELETE_ON_CLOSE);
        options.open(beside(path))
    }

    pub(super) fn is_in_use(error: &io::Error) -> bool {
        error.raw_os_error().is_some_and(|code| IN_USE.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_file_is_read_but_not_locked_again_until_it_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        std::fs::write(&path, "line").unwrap();
        let open = || File::open(&path).unwrap();
        let held = open();
        let lock = try_lock(&held, &path).unwrap().unwrap();
        assert!(is_locked(&open(), &path) && try_lock(&open(), &path).unwrap().is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "line");
        drop((held, lock));
        assert!(!is_locked(&open(), &path));
        assert!(try_lock(&open(), &path).unwrap().is_some());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
