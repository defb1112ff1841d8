//! Regular files only: opening a FIFO blocks, and opening a device can have side effects.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Whether a pipe, a socket or a device is at `path`.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file"));
    }
    File::open(path)
}
