//! A store in a directory, which several machines may share.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Creation, Name, Store, StoreFault, check, is_part};

/// The directory in which objects are written before they are named. No object can have this name.
const UNNAMED: &str = "~new";

/// Objects as files. A file is written and synced under a temporary name, and then linked to its own name if that is
/// free: the file system decides, even one on a file server.
#[derive(Debug)]
pub(super) struct DirectoryStore {
    root: Arc<Path>,
}

impl DirectoryStore {
    /// Creates the directory if it is missing.
    pub(super) async fn open(root: &Path) -> Result<Self, StoreFault> {
        let store = Self::open_to_read(root);
        store.run("open", UNNAMED, |root, _| make_directory(&root.join(UNNAMED))).await?;
        Ok(store)
    }

    pub(super) fn open_to_read(root: &Path) -> Self {
        Self { root: root.into() }
    }

    /// Runs disk work on a blocking thread, so that it delays no other debate.
    async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        name: &Name,
        action: impl FnOnce(&Path, &Name) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let (root, owned) = (Arc::clone(&self.root), name.to_owned());
        let done = tokio::task::spawn_blocking(move || action(&root, &owned)).await;
        done.map_err(io::Error::other).flatten().map_err(|error| self.fault(doing, name, error))
    }

    fn fault(&self, doing: &'static str, name: &Name, error: io::Error) -> StoreFault {
        StoreFault { doing, name: name.to_owned(), place: self.place(), source: error.into() }
    }
}

impl Store for DirectoryStore {
    fn create<'a>(&'a self, name: &'a Name, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        let bytes = bytes.to_owned();
        Box::pin(self.run("create", name, move |root, name| create(root, name, &bytes)))
    }

    fn get<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        Box::pin(self.run("read", name, |root, name| {
            check(name)?;
            read(&root.join(name))
        }))
    }

    fn list<'a>(&'a self, prefix: &'a Name) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        Box::pin(self.run("list", prefix, list))
    }

    fn place(&self) -> String {
        self.root.display().to_string()
    }
}

fn create(root: &Path, name: &Name, bytes: &[u8]) -> io::Result<Creation> {
    check(name)?;
    let path = root.join(name);
    let parent = path.parent().unwrap_or(root);
    let mut file = tempfile::NamedTempFile::new_in(root.join(UNNAMED))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    make_directory(parent)?;
    match file.into_temp_path().persist_noclobber(&path) {
        Ok(()) => {}
        // The file server's answer may have been lost after a success, so the bytes decide.
        Err(error) => match read(&path)? {
            Some(there) if there == bytes => {}
            Some(_) => return Ok(Creation::Taken),
            None => return Err(error.error),
        },
    }
    sync_directory(parent)?;
    Ok(Creation::Acknowledged)
}

/// The bytes of a file; `None` if no file has that name.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Ok(None),
            _ => Err(error),
        },
    }
}

fn list(root: &Path, prefix: &Name) -> io::Result<Vec<String>> {
    let mut directory = root.to_owned();
    if !prefix.is_empty() {
        check(prefix)?;
        directory.push(prefix);
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(Vec::new()),
            _ => return Err(error),
        },
    };
    let mut names = Vec::new();
    for entry in entries {
        // Files with other names are not objects: some file systems and servers keep files of their own.
        names.extend(entry?.file_name().into_string().ok().filter(|name| is_part(name)));
    }
    names.sort_unstable();
    Ok(names)
}

/// Creates a directory and its parents durably. Other workers may do so at the same time.
fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let parent = directory.parent().unwrap_or(Path::new(""));
    make_directory(parent)?;
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if !directory.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(()) | Err(_) => sync_directory(parent),
    }
}

/// Makes a new name durable.
fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_a_killed_worker_left_is_no_object() {
        let directory = tempfile::tempdir().unwrap();
        let store = DirectoryStore::open(directory.path()).await.unwrap();
        fs::write(directory.path().join(UNNAMED).join(".tmpAbCdEf"), "half").unwrap();
        fs::write(directory.path().join(".nfs 0001"), "held open").unwrap();
        assert_eq!(store.list("").await.unwrap(), [""; 0]);
        assert!(store.get(UNNAMED).await.is_err());
    }

    #[tokio::test]
    async fn who_reads_makes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("none");
        let store = DirectoryStore::open_to_read(&root);
        assert_eq!(store.list("").await.unwrap(), [""; 0]);
        assert_eq!(store.get("set").await.unwrap(), None);
        assert!(!root.exists());
    }

    #[tokio::test]
    async fn a_place_that_cannot_be_used_is_named() {
        use crate::error::{Diagnostic as _, ErrorCategory};

        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let fault = DirectoryStore::open(&file.join("set")).await.unwrap_err();
        assert_eq!(fault.to_string(), format!("cannot open `~new` in the store {}/set", file.display()));
        assert_eq!(fault.blame(), ErrorCategory::Configuration);
    }
}
