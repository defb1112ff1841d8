//! Writes a result to a file or stream. Before any money is spent, checks that the result can be written.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::terminal::Terminal;
use crate::error::Error;
use dialectic_base::sanitize::sanitize;
use dialectic_record::store::{Readers, StoreError, directory_of, write_atomically};

const MOST_LINKS: usize = 40;

#[derive(Debug)]
pub(super) struct OutputTarget {
    given: PathBuf,
    way: Way,
}

#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// Standard output under another name, such as `/dev/stdout`. If it is redirected to a file, replacing that file
    /// would break the redirection.
    Stdout,
    /// A device, a pipe or a socket, which must not be replaced by a file.
    Special(PathBuf),
    /// A path with all symbolic links resolved. The file need not exist.
    File(PathBuf),
}

impl OutputTarget {
    /// Checks that `path` can be written, without changing the file. Creates missing directories.
    pub(super) fn prepare(path: &Path) -> Result<Self, Error> {
        make_parent(path)?;
        let target = Self::find(path)?;
        target.check().map_err(|source| target.unwritable(source))?;
        Ok(target)
    }

    /// Finds out what `path` refers to, without checking whether it can be written. Fails if the directory does not
    /// exist or symbolic links form a loop.
    pub(super) fn find(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Output { path: path.to_owned(), source };
        let way = match path.metadata() {
            Ok(found) if is_stdout(&found) => Way::Stdout,
            Ok(found) if !found.is_file() && !found.is_dir() => Way::Special(path.to_owned()),
            _ => Way::File(resolved(path).map_err(failed)?),
        };
        Ok(Self { given: path.to_owned(), way })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.way == other.way || identity(&self.given).is_some_and(|id| identity(&other.given) == Some(id))
    }

    pub(super) fn is_stdout(&self) -> bool {
        self.way == Way::Stdout
    }

    pub(super) fn write_result(&self, result: &[u8], terminal: &mut Terminal) -> Result<(), Error> {
        self.write(|out| out.write_all(result))?;
        terminal.notice(&format!("Wrote the result to {}", self.given.display()));
        Ok(())
    }

    fn unwritable(&self, source: io::Error) -> Error {
        Error::Output { path: self.given.clone(), source }
    }

    fn check(&self) -> io::Result<()> {
        match &self.way {
            Way::Stdout => Ok(()),
            Way::Special(path) => check_special(path),
            // Open an existing file: a read-only file must not be replaced, and a file in a read-only directory can
            // still be written in place.
            Way::File(path) if path.exists() => OpenOptions::new().append(true).open(path).map(drop),
            Way::File(path) => tempfile::Builder::new().prefix(".dialectic-").tempfile_in(directory_of(path)).map(drop),
        }
    }

    /// Replaces a file atomically and keeps its mode, if possible. Otherwise writes in place, which may call `write` a
    /// second time.
    pub(super) fn write(&self, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let failed = |source| self.unwritable(source);
        match &self.way {
            Way::Stdout => write_to(&mut io::stdout().lock(), write).map_err(|source| match source.kind() {
                io::ErrorKind::BrokenPipe => Error::PipeClosed,
                _ => failed(source),
            }),
            Way::Special(path) => {
                let mut out = OpenOptions::new().write(true).open(path).map_err(failed)?;
                write_to(&mut out, write).map_err(failed)
            }
            Way::File(path) => {
                let replaced = if is_shared(path) {
                    Err(None)
                } else {
                    write_atomically(path, Readers::All, &write).map_err(Some)
                };
                let Err(refused) = replaced else { return Ok(()) };
                // A mount point or a file in a read-only directory can still be written in place. If that fails too,
                // report the first error.
                match (OpenOptions::new().write(true).truncate(true).open(path), refused) {
                    (Ok(out), _) => {
                        let mut out = BufWriter::new(out);
                        write(&mut out).and_then(|()| out.flush()).map_err(failed)
                    }
                    (Err(_), Some(StoreError::Write { source, .. })) | (Err(source), _) => Err(failed(source)),
                }
            }
        }
    }
}

pub(super) fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs::create_dir_all(parent).map_err(|source| Error::Output { path: parent.to_owned(), source }),
        None => Ok(()),
    }
}

/// Removes control characters if `out` is a terminal.
fn write_to(
    out: &mut (impl Write + IsTerminal),
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if out.is_terminal() {
        let mut content = Vec::new();
        write(&mut content)?;
        out.write_all(sanitize(&String::from_utf8_lossy(&content)).as_bytes())?;
    } else {
        write(out)?;
    }
    out.flush()
}

/// Follows all symbolic links, even dangling ones, as writing through them would. The file need not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let directory = directory_of(&path).canonicalize()?;
        let Ok(target) = fs::read_link(&path) else {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            return Ok(directory.join(name));
        };
        path = directory.join(target);
    }
    Err(io::Error::other("too many links"))
}

/// Whether the file has other hard links, which would keep the old content if the file were replaced.
#[cfg(unix)]
fn is_shared(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.metadata().is_ok_and(|found| found.nlink() > 1)
}

#[cfg(not(unix))]
fn is_shared(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(unix)]
fn is_stdout(found: &fs::Metadata) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| fs::File::from(stdout).metadata());
    stdout.is_ok_and(|stdout| (stdout.dev(), stdout.ino()) == (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn is_stdout(_: &fs::Metadata) -> bool {
    false
}

/// Checks only the permission: opening a FIFO blocks, and opening a device can have side effects.
#[cfg(unix)]
fn check_special(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn check_special(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_directory_takes_no_new_file_is_written_in_place() {
        // A kernel file that can be written, but not replaced.
        let path = Path::new("/proc/self/comm");
        OutputTarget::prepare(path).unwrap().write(|out| out.write_all(b"renamed")).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "renamed\n");
    }

    #[test]
    fn links_are_followed_to_files_that_are_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let name = |name: &str| directory.path().join(name);
        std::os::unix::fs::symlink("second", name("first")).unwrap();
        std::os::unix::fs::symlink("new.md", name("second")).unwrap();
        let target = OutputTarget::prepare(&name("first")).unwrap();
        assert!(!name("new.md").exists() && name("first").is_symlink(), "a check changes nothing");
        target.write(|out| out.write_all(b"text")).unwrap();
        assert_eq!(fs::read_to_string(name("new.md")).unwrap(), "text");
        assert!(name("first").is_symlink() && name("second").is_symlink());
        assert!(target.is_same(&OutputTarget::find(&name("new.md")).unwrap()));

        std::os::unix::fs::symlink("circle", name("circle")).unwrap();
        assert!(OutputTarget::prepare(&name("circle")).is_err());
        std::os::unix::fs::symlink("nowhere/x.md", name("astray")).unwrap();
        assert!(OutputTarget::prepare(&name("astray")).is_err());
    }
}
