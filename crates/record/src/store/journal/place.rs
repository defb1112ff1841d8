//! Whether a path still leads to an open journal, since other programs can move and remove open files.

use std::fs::{self, File, Metadata};
use std::io::{Seek, SeekFrom};
use std::path::Path;

use crate::store::{Directory, Readers, StoreError, write_atomically};

/// Whether `path` leads to `file`.
pub(super) fn leads_to(path: &Path, file: &File) -> bool {
    let (open, found) = (file.metadata(), fs::metadata(path));
    open.is_ok_and(|open| found.is_ok_and(|found| is_same(&open, &found)))
}

/// Whether `file` was removed and nothing else is at `path`.
pub(super) fn is_removed(file: &File, path: &Path) -> bool {
    !fs::exists(path).unwrap_or(true) && file.metadata().is_ok_and(|open| is_unlinked(&open))
}

/// Writes the contents of `file` to `path`; creates the directory if it is missing.
pub(super) fn restore(mut file: &File, path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent() {
        Directory::at(directory).create()?;
    }
    let permissions = file.metadata().map(|open| open.permissions());
    write_atomically(path, Readers::Owner, |mut out| {
        file.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut file, &mut out)?;
        Ok(())
    })?;
    // The old permissions are preferred; private ones suffice.
    if let Ok(permissions) = permissions {
        drop(fs::set_permissions(path, permissions));
    }
    Ok(())
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// On other systems metadata do not identify an open file; only its absence is detected.
#[cfg(not(unix))]
fn is_same(_: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}

#[cfg(unix)]
fn is_unlinked(open: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(open) == 0
}

/// A moved file is intact elsewhere; where the cases cannot be distinguished, nothing is written.
#[cfg(not(unix))]
fn is_unlinked(_: &Metadata) -> bool {
    false
}
