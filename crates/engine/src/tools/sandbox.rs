//! The context directory, and the only way to access it.
//!
//! All access is relative to a handle of the directory, which neither `..` nor a link can escape. Links *inside* the
//! directory could still lead to forbidden files, so a path is first resolved to one without links, then checked, and
//! then opened component by component. Each component is compared with its checked target, and a file that was swapped
//! in after the check is rejected. The resolution need not be race-free, and may follow absolute links that lead back
//! inside.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata};
use serde::Serialize;

use dialectic_base::secrets::{KnownKeys, is_in_git, is_secret_file, is_secret_place};

use super::platform::{self, Identity};

/// The maximum number of attempts to resolve a path whose files are being replaced, as editors do when saving.
const ATTEMPTS: usize = 4;

/// The maximum number of symbolic links to follow when resolving a path, as on Linux. Exceeding it indicates a loop.
const LINKS: usize = 40;

#[derive(Debug)]
pub struct ContextDirectory {
    root: Dir,
    /// The absolute path without links, as shown by tools.
    path: PathBuf,
    /// The absolute path, as the user wrote it.
    given: PathBuf,
    /// The devices of kernel files, such as `/proc`, which exposes environments and keys.
    kernel_devices: Vec<u64>,
    /// A file that is never shown under any name, and the identity of the file when the sandbox was opened. The path is
    /// kept too, because the file may be replaced.
    withheld: Option<(PathBuf, Option<Identity>)>,
    keys: KnownKeys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EntryKind {
    File,
    Directory,
}

/// Why a path cannot be used. The messages are for models; refusals start with `Access denied`.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The path is outside the directory, or follows a symbolic link that leads outside.
    #[error("Access denied: path is outside the context directory")]
    Outside,
    /// Files of this kind usually contain keys or passwords.
    #[error("Access denied: files that may contain secrets, such as `.env` and private keys, cannot be read")]
    Secret,
    /// The path leads to a device, a pipe, a socket, or a kernel file.
    #[error("Access denied: only regular files and directories can be read")]
    Special,
    #[error("there is no such file or directory in the context directory; use list_files to see what exists")]
    NotFound,
    #[error("this is a directory, not a file; use list_files to see its contents")]
    IsDirectory,
    #[error("this is a file, not a directory; use file_read to read it")]
    NotDirectory,
    #[error("the file or directory cannot be read")]
    Unreadable { source: io::Error },
}

enum Opened {
    File(File),
    Directory(Dir),
    /// A component of the path was replaced after the check.
    Swapped,
}

impl ContextDirectory {
    /// Opens the directory at `path`. Follows links in `path`, because the user chose it.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is missing, is not a directory, or is not accessible.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self {
            root,
            path: path.canonicalize()?,
            given: std::path::absolute(path)?,
            kernel_devices: platform::kernel_devices(),
            withheld: None,
            keys: KnownKeys::default(),
        })
    }

    /// Withholds `file` under every name and link.
    pub fn withholding(mut self, file: Option<&Path>) -> Self {
        self.withheld = file.map(|file| (file.to_owned(), Identity::of(file)));
        self
    }

    /// Sets the keys whose values tools remove from all texts and names.
    pub fn redacting(mut self, keys: KnownKeys) -> Self {
        self.keys = keys;
        self
    }

    pub(super) fn keys(&self) -> &KnownKeys {
        &self.keys
    }

    /// The absolute path of the directory, without links. Absolute paths that tools show begin with this path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// # Errors
    ///
    /// Returns an error if the path is rejected, does not exist, or is not a file.
    pub fn check_file(&self, path: &str) -> Result<(), AccessError> {
        self.open_file(path).map(drop)
    }

    /// # Errors
    ///
    /// Returns an error if the path is rejected, does not exist, or is not a file.
    pub fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, AccessError> {
        self.read_sized(path, most).map(|(bytes, _)| bytes)
    }

    /// Returns at most `most` bytes of the file, and the size of the whole file.
    pub(super) fn read_sized(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), AccessError> {
        let unreadable = |source| AccessError::Unreadable { source };
        let file = self.open_file(path)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok((bytes, size))
    }

    /// The path of a file or directory relative to this directory, with forward slashes; empty for the directory
    /// itself. Checks only the text of the path.
    ///
    /// # Errors
    ///
    /// Returns an error if the path leads outside or suggests secrets.
    pub(super) fn checked(&self, path: &str, is_file: bool) -> Result<String, AccessError> {
        let inside = self.relative(Path::new(path))?;
        self.refuse_secret_place(&inside)?;
        if is_file && is_secret_file(&inside) {
            return Err(AccessError::Secret);
        }
        let names: Vec<_> = inside.iter().map(OsStr::to_string_lossy).filter(|name| name != ".").collect();
        Ok(names.join("/"))
    }

    /// Opens a regular file for reading, without blocking and without following unchecked links.
    ///
    /// `path` is relative to the directory, or absolute and below it: `list_files` shows such paths, and models pass
    /// them on. `..` is rejected, and links are followed while they stay inside.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is rejected, does not exist, or is not a file.
    fn open_file(&self, path: &str) -> Result<File, AccessError> {
        match self.open_inside(path) {
            Ok((Opened::File(file), _)) => Ok(file),
            Ok((Opened::Directory(_), _)) => Err(AccessError::IsDirectory),
            Ok((Opened::Swapped, _)) => Err(AccessError::Outside),
            // Do not reveal whether a secret file exists.
            Err(AccessError::NotFound) if is_secret_file(&self.path.join(path)) => Err(AccessError::Secret),
            Err(error) => Err(error),
        }
    }

    /// Returns the directory, and its path relative to this directory, without links. Accepts the same paths as
    /// [`Self::open_file`].
    ///
    /// # Errors
    ///
    /// Returns an error if the path is rejected, does not exist, or is not a directory.
    pub(super) fn open_directory(&self, path: &str) -> Result<(Dir, PathBuf), AccessError> {
        match self.open_inside(path)? {
            (Opened::Directory(directory), inside) => Ok((directory, inside)),
            (Opened::File(_), _) => Err(AccessError::NotDirectory),
            (Opened::Swapped, _) => Err(AccessError::Outside),
        }
    }

    /// Whether the entry at `inside`, a relative path of plain names, is a file or a directory. Follows links. `None`
    /// if the entry is neither, or if a link leads outside or nowhere.
    pub(super) fn kind(&self, inside: &Path) -> Option<EntryKind> {
        let found = self.resolve(inside).ok()??;
        let metadata = self.root.symlink_metadata(found).ok()?;
        if metadata.is_file() {
            Some(EntryKind::File)
        } else if metadata.is_dir() {
            Some(EntryKind::Directory)
        } else {
            None
        }
    }

    fn open_inside(&self, path: &str) -> Result<(Opened, PathBuf), AccessError> {
        let asked = self.relative(Path::new(path))?;
        self.refuse_secret_place(&asked)?;
        for _ in 0..ATTEMPTS {
            let Some(found) = self.resolve(&asked)? else { continue };
            self.refuse_secret_place(&found)?;
            match self.walk(&found)? {
                Opened::Swapped => {}
                Opened::File(file) => {
                    self.refuse_secret_file(&asked, &found, &file)?;
                    return Ok((Opened::File(file), found));
                }
                opened @ Opened::Directory(_) => return Ok((opened, found)),
            }
        }
        Ok((Opened::Swapped, asked))
    }

    /// Resolves `asked` to a path of plain names without links; `None` if a link was replaced meanwhile.
    fn resolve(&self, asked: &Path) -> Result<Option<PathBuf>, AccessError> {
        let mut pending = Vec::new();
        put_before(&mut pending, asked)?;
        let mut resolved = PathBuf::new();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == OsStr::new("..") {
                if !resolved.pop() {
                    return Err(AccessError::Outside);
                }
                continue;
            }
            let path = resolved.join(&name);
            let target = match self.root.symlink_metadata(&path) {
                Ok(metadata) if metadata.is_symlink() => self.root.read_link_contents(&path),
                Ok(_) => {
                    resolved = path;
                    continue;
                }
                Err(error) => Err(error),
            };
            let target = match target {
                Err(error) if is_exchange(&error) => return Ok(None),
                target => target.map_err(access_error)?,
            };
            links += 1;
            if links > LINKS {
                return Err(AccessError::Unreadable { source: io::Error::other("too many links") });
            }
            if target.has_root() {
                resolved.clear();
                put_before(&mut pending, &self.below(&target).ok_or(AccessError::Outside)?)?;
            } else {
                put_before(&mut pending, &target)?;
            }
        }
        Ok(Some(resolved))
    }

    /// The part of an absolute path that is below this directory, by the text of the path or after its links are
    /// resolved; `None` if the path is outside.
    fn below(&self, target: &Path) -> Option<PathBuf> {
        let inside = target.strip_prefix(&self.path).or_else(|_| target.strip_prefix(&self.given));
        if let Ok(inside) = inside {
            return Some(inside.to_owned());
        }
        target.canonicalize().ok()?.strip_prefix(&self.path).ok().map(Path::to_owned)
    }

    fn refuse_secret_place(&self, inside: &Path) -> Result<(), AccessError> {
        let own = self.path.file_name().map_or(Path::new(""), Path::new);
        // `is_in_git` must not see `own`: the user may have chosen a directory inside a repository's data.
        let is_secret = is_secret_place(&own.join(inside)) || is_in_git(inside);
        if is_secret { Err(AccessError::Secret) } else { Ok(()) }
    }

    /// Rejects a withheld file, and a file that is secret by its requested or real name.
    fn refuse_secret_file(&self, asked: &Path, found: &Path, file: &File) -> Result<(), AccessError> {
        let path = self.path.join(found);
        let is_withheld = || -> io::Result<bool> {
            let Some((withheld, at_first)) = &self.withheld else { return Ok(false) };
            let metadata = file.metadata()?;
            let now = Identity::of(withheld);
            Ok([at_first, &now].into_iter().flatten().any(|identity| identity.is_of(&metadata, &path)))
        };
        let is_secret = is_secret_file(&self.path.join(asked))
            || is_secret_file(&path)
            || is_withheld().map_err(|source| AccessError::Unreadable { source })?;
        if is_secret { Err(AccessError::Secret) } else { Ok(()) }
    }

    /// The path relative to this directory. Checks only the text of the path.
    fn relative(&self, path: &Path) -> Result<PathBuf, AccessError> {
        // Reject `..` before removing the prefix, because `/context/../secret` also starts with the prefix.
        if path.components().any(|component| component == Component::ParentDir) {
            return Err(AccessError::Outside);
        }
        let inside = if path.has_root() {
            path.strip_prefix(&self.path)
                .or_else(|_| path.strip_prefix(&self.given))
                .map_err(|_| AccessError::Outside)?
        } else {
            path
        };
        let names = names_only(inside)?;
        Ok(if names.as_os_str().is_empty() { PathBuf::from(".") } else { names })
    }

    /// Opens the file or directory at the resolved path `names`. A component that is a link was swapped in after the
    /// path was resolved.
    fn walk(&self, names: &Path) -> Result<Opened, AccessError> {
        let unreadable = |source| AccessError::Unreadable { source };
        let mut directory = self.root.try_clone().map_err(unreadable)?;
        self.refuse_special(&directory.dir_metadata().map_err(unreadable)?)?;
        let mut names = names.iter().peekable();
        while let Some(name) = names.next() {
            let Some(expected) = unless_gone(directory.symlink_metadata(name))? else { return Ok(Opened::Swapped) };
            if expected.is_symlink() {
                return Ok(Opened::Swapped);
            }
            self.refuse_special(&expected)?;
            if expected.is_dir() {
                let Some(next) = unless_gone(directory.open_dir(name))? else { return Ok(Opened::Swapped) };
                if !platform::is_same(&expected, &next.dir_metadata().map_err(unreadable)?) {
                    return Ok(Opened::Swapped);
                }
                directory = next;
            } else if names.peek().is_some() {
                return Ok(Opened::Swapped);
            } else {
                return self.open_last(&directory, Path::new(name), &expected);
            }
        }
        Ok(Opened::Directory(directory))
    }

    fn open_last(&self, directory: &Dir, name: &Path, expected: &Metadata) -> Result<Opened, AccessError> {
        let Some(file) = unless_gone(directory.open_with(name, &platform::reading()))? else {
            return Ok(Opened::Swapped);
        };
        let metadata = file.metadata().map_err(|source| AccessError::Unreadable { source })?;
        if !platform::is_same(expected, &metadata) {
            return Ok(Opened::Swapped);
        }
        self.refuse_special(&metadata)?;
        Ok(Opened::File(file))
    }

    fn refuse_special(&self, metadata: &Metadata) -> Result<(), AccessError> {
        let is_kernels = platform::is_on(metadata, &self.kernel_devices);
        let is_plain = metadata.is_file() || metadata.is_dir();
        if is_plain && !is_kernels { Ok(()) } else { Err(AccessError::Special) }
    }
}

/// `None` if the entry was replaced after the check and now leads outside or nowhere.
fn unless_gone<T>(result: io::Result<T>) -> Result<Option<T>, AccessError> {
    match result {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_exchange(&error) => Ok(None),
        Err(error) => {
            let error = access_error(error);
            if matches!(error, AccessError::Outside | AccessError::NotFound) { Ok(None) } else { Err(error) }
        }
    }
}

/// Whether cap-std tried to read a link that was replaced meanwhile. Paths that are invalid for other reasons were
/// rejected earlier.
fn is_exchange(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

fn access_error(source: io::Error) -> AccessError {
    let kind = source.kind();
    if kind == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
        // cap-std rejected the path; an error of the operating system would have a code.
        AccessError::Outside
    } else if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        AccessError::NotFound
    } else {
        AccessError::Unreadable { source }
    }
}

/// Removes `.` components. All other components must be plain names.
fn names_only(path: &Path) -> Result<PathBuf, AccessError> {
    let names = path.components().filter(|component| *component != Component::CurDir);
    names
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                Err(AccessError::Outside)
            }
        })
        .collect()
}

/// Pushes the components of a relative path onto the pending ones, so that its first component comes next.
fn put_before(pending: &mut Vec<OsString>, path: &Path) -> Result<(), AccessError> {
    for component in path.components().rev() {
        match component {
            Component::CurDir => {}
            Component::ParentDir | Component::Normal(_) => pending.push(component.as_os_str().to_owned()),
            Component::Prefix(_) | Component::RootDir => return Err(AccessError::Outside),
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Gives the walk paths with links, as if files had been replaced by links after the paths were resolved.
    #[test]
    fn the_walk_follows_no_links() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        fs::create_dir(path.join("docs")).expect("created");
        fs::write(path.join("docs/plan.md"), "the plan").expect("written");
        fs::write(path.join(".env"), "KEY=1").expect("written");
        std::os::unix::fs::symlink("docs", path.join("d")).expect("linked");
        std::os::unix::fs::symlink(".env", path.join("e")).expect("linked");
        std::os::unix::fs::symlink("/etc/passwd", path.join("p")).expect("linked");
        let context = ContextDirectory::open(path).expect("opened");
        assert!(matches!(context.walk(Path::new("docs/plan.md")), Ok(Opened::File(_))));
        assert!(matches!(context.walk(Path::new("docs")), Ok(Opened::Directory(_))));
        for swapped in ["d/plan.md", "d", "e", "p", "docs/plan.md/x", "gone"] {
            assert!(matches!(context.walk(Path::new(swapped)), Ok(Opened::Swapped)), "{swapped}");
        }
    }

    #[test]
    fn a_file_that_is_not_the_expected_one_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a"), "same").expect("written");
        fs::write(directory.path().join("b"), "same").expect("written");
        std::os::unix::fs::symlink("b", directory.path().join("link")).expect("linked");
        let context = ContextDirectory::open(directory.path()).expect("opened");
        let expected = context.root.symlink_metadata("a").expect("metadata");
        assert!(matches!(context.open_last(&context.root, Path::new("a"), &expected), Ok(Opened::File(_))));
        for swapped in ["b", "link", "gone"] {
            let opened = context.open_last(&context.root, Path::new(swapped), &expected);
            assert!(matches!(opened, Ok(Opened::Swapped)), "{swapped}");
        }
    }

    #[test]
    fn a_pipe_that_is_swapped_in_does_not_block() {
        let directory = tempfile::tempdir().expect("a directory");
        let status = Command::new("mkfifo").arg(directory.path().join("pipe")).status().expect("mkfifo runs");
        assert!(status.success());
        let context = ContextDirectory::open(directory.path()).expect("opened");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let expected = context.root.symlink_metadata("pipe").expect("metadata");
            let opened = context.open_last(&context.root, Path::new("pipe"), &expected);
            sender.send(matches!(opened, Err(AccessError::Special)))
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(true), "opening the pipe blocks");
    }
}
