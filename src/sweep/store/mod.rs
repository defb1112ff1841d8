//! The store of a set of debates: a directory, which several machines may share, or a prefix on S3. Its objects are
//! created once, and never overwritten or removed.

#[cfg(feature = "s3")]
mod s3;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use dialectic_engine::access::Environment;
use futures_util::future::BoxFuture;

use crate::error::{Error, UserError};

#[cfg(feature = "s3")]
pub(crate) use s3::S3Error;

/// The name of an object: parts of ASCII letters, digits, `-`, `_` and `.`, separated by `/`; no part is `.` or `..`.
pub type Name = str;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// The object is stored durably with the given bytes, by this attempt or by an earlier one whose acknowledgement
    /// was lost.
    Acknowledged,
    /// An object with that name exists and has different bytes.
    Taken,
}

/// Named objects. Every implementation keeps these promises, even across machines:
///
/// - an object becomes visible as a whole, and [`create`](Self::create) never replaces one;
/// - of several concurrent attempts to create a name with different bytes, at most one is acknowledged;
/// - every later [`get`](Self::get) and [`list`](Self::list) finds an acknowledged object.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Creates an object, and retries if that is harmless. After an error the object may or may not exist.
    fn create<'a>(&'a self, name: &'a Name, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>>;

    /// Reads an object; `None` if it does not exist.
    fn get<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>>;

    /// The sorted names of objects and prefixes directly below `prefix` (empty for the top), each without the prefix.
    fn list<'a>(&'a self, prefix: &'a Name) -> BoxFuture<'a, Result<Vec<String>, StoreFault>>;

    /// A path or a URL, for messages.
    fn place(&self) -> String;
}

/// The maximum number of objects or debates to read concurrently.
pub const AT_ONCE: usize = 8;

pub type SharedStore = Arc<dyn Store>;

#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{name}` in the store {place}")]
pub struct StoreFault {
    /// The verb in the message, such as "create".
    pub doing: &'static str,
    pub name: String,
    pub place: String,
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl StoreFault {
    /// Whether a retry is useless until someone changes the store or its permissions.
    pub(crate) fn is_lasting(&self) -> bool {
        use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
        let kind = self.source.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(InvalidInput | IsADirectory | NotADirectory | PermissionDenied | ReadOnlyFilesystem))
            || s3::is_lasting(&*self.source)
    }
}

pub(crate) const S3: &str = "s3://";

/// Opens the store at `place`: a directory, which is created if missing, or `s3://bucket/prefix`, whose endpoint and
/// keys come from AWS's environment variables.
///
/// # Errors
///
/// Returns an error if the address is invalid, this build does not support S3, or the store cannot be used or
/// overwrites existing objects.
pub async fn open(place: &str, environment: &Environment) -> Result<SharedStore, Error> {
    match s3_address(place)? {
        Some(address) => s3::open(address, environment).await,
        None => Ok(Arc::new(DirectoryStore::open(Path::new(place)).await?)),
    }
}

/// Opens the store at `place` for reading only.
///
/// # Errors
///
/// Returns an error if the address is invalid, this build does not support S3, or the S3 settings are invalid.
pub fn open_to_read(place: &str, environment: &Environment) -> Result<SharedStore, Error> {
    match s3_address(place)? {
        Some(address) => s3::open_to_read(address, environment),
        None => Ok(Arc::new(DirectoryStore::open_to_read(Path::new(place)))),
    }
}

#[cfg(not(feature = "s3"))]
mod s3 {
    use dialectic_engine::access::Environment;

    use crate::error::{Error, ErrorCategory, UserError};

    use super::SharedStore;

    fn missing() -> Error {
        UserError::of(ErrorCategory::Configuration, "this build does not support S3")
            .with_hint("install with `--features s3`")
            .into()
    }

    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(super) async fn open(_: &str, _: &Environment) -> Result<SharedStore, Error> {
        Err(missing())
    }

    pub(super) fn open_to_read(_: &str, _: &Environment) -> Result<SharedStore, Error> {
        Err(missing())
    }

    pub(super) fn is_lasting(_: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
        false
    }
}

/// `bucket/prefix` of a store on S3; `None` for a directory.
fn s3_address(place: &str) -> Result<Option<&str>, UserError> {
    match place.strip_prefix(S3) {
        None if place.is_empty() || place.contains("://") => Err(not_a_store(place)),
        address => Ok(address),
    }
}

fn not_a_store(place: &str) -> UserError {
    UserError::input(format!("`{place}` is not a store")).with_hint(format!(
        "use a directory, or {S3}bucket/prefix; each part of the prefix may contain letters, digits, `-`, `_` and `.`"
    ))
}

fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_plain)
}

/// Checks a name before it becomes a path or an address.
fn check(name: &Name) -> io::Result<()> {
    if name.split('/').all(is_part) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a valid object name"))
}

/// The directory in which objects are written before they are named. No object can have this name.
const UNNAMED: &str = "~new";

/// Objects as files. A file is written and synced under a temporary name, then linked to its final name if this name is
/// free. If workers compete for a name, the file system decides who gets it, even on a file server.
#[derive(Debug)]
struct DirectoryStore {
    root: Arc<Path>,
}

impl DirectoryStore {
    /// Opens a store, and creates its directory if it is missing.
    async fn open(root: &Path) -> Result<Self, StoreFault> {
        let store = Self::open_to_read(root);
        store.run("open", UNNAMED, |root, _| make_directory(&root.join(UNNAMED))).await?;
        Ok(store)
    }

    fn open_to_read(root: &Path) -> Self {
        Self { root: root.into() }
    }

    /// Runs disk work on a blocking thread, so that it does not delay other debates.
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
        // A file server may have linked the file although its answer was lost, so compare the bytes.
        Err(error) => match read(&path)? {
            Some(there) if there == bytes => {}
            Some(_) => return Ok(Creation::Taken),
            None => return Err(error.error),
        },
    }
    sync_directory(parent)?;
    Ok(Creation::Acknowledged)
}

/// Reads a file; `None` if it does not exist.
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
        // Files with other names are not objects: some file systems and servers add files of their own.
        names.extend(entry?.file_name().into_string().ok().filter(|name| is_part(name)));
    }
    names.sort_unstable();
    Ok(names)
}

/// Creates a directory and its parents durably. Other workers may create the same directories at the same time.
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

/// Makes new names in a directory durable.
fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for good in ["set", "debates/swp-0a/segments/00000001", "a.b/-/_", "..."] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in
            ["", "/", "/set", "set/", "a//b", ".", "..", "a/../b", "a\\b", "a b", "ä", "~tmp", "a\0", "a%2fb", "c:"]
        {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn another_address_is_no_directory() {
        for place in ["", "gs://bucket", "https://s3.example/bucket", "file:///tmp"] {
            let error = open(place, &Environment::default()).await.unwrap_err();
            assert_eq!(error.exit_code(), 2, "{place}");
            assert_eq!(error.to_string(), format!("`{place}` is not a store"));
        }
    }

    #[cfg(not(feature = "s3"))]
    #[tokio::test]
    async fn a_build_without_it_says_that_s3_is_missing() {
        let error = open("s3://bucket/set", &Environment::default()).await.unwrap_err();
        assert_eq!((error.exit_code(), error.hint().unwrap().as_str()), (4, "install with `--features s3`"));
    }

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
