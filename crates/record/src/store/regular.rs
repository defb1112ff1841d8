//! Files that are files: a pipe waits for its other end when it is opened, and a device may do something.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Whether a pipe, a socket or a device is at `path`.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens a file for reading.
///
/// # Errors
/// When it cannot be opened, or is none.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file"));
    }
    File::open(path)
}
