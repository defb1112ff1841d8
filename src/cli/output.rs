//! The file that a result is written to.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::debate::Debate;
use crate::error::Error;
use crate::store::write_atomically;

/// Writes the whole state to a `.json` file, the solution's text to any other.
pub(super) fn write_output(path: &Path, debate: &Debate, solution: &str) -> Result<(), Error> {
    let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    write_file(path, |out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, debate)?;
            out.write_all(b"\n")
        } else {
            out.write_all(solution.as_bytes())
        }
    })
}

/// Replaces a file as a whole. A device or a pipe is written to: put in place of one, a file would take it away from
/// everybody.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        let written = fs::OpenOptions::new().write(true).open(path).and_then(|mut out| write(&mut out));
        return written.map_err(|source| Error::Output { path: path.to_owned(), source });
    }
    Ok(write_atomically(path, write)?)
}

/// Sees to it that a file can be written when the debate is over.
pub(super) fn prepare(path: &Path) -> Result<(), Error> {
    make_parent(path)?;
    let failed = |source| Error::Output { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    let existed = path.exists();
    fs::OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    if !existed {
        fs::remove_file(path).map_err(failed)?;
    }
    Ok(())
}

/// Makes the directory that a file is to be in.
pub(super) fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs::create_dir_all(parent).map_err(|source| Error::Output { path: parent.to_owned(), source }),
        None => Ok(()),
    }
}
