//! The store of a set of debates: named objects that are created once, and neither overwritten nor removed.

mod directory;
#[cfg(feature = "s3")]
mod s3;

use std::io;
use std::path::Path;
use std::sync::Arc;

use dialectic_engine::access::Environment;
use futures_util::future::BoxFuture;

use crate::error::{Error, UserError};

use directory::DirectoryStore;
#[cfg(feature = "s3")]
pub(crate) use s3::S3Error;

/// The name of an object: parts of ASCII letters, digits, `-`, `_` and `.`, separated by `/`; no part is `.` or `..`.
pub type Name = str;

/// The result of an attempt to create an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// The object is stored durably with the given bytes, by this attempt or by an earlier one whose acknowledgement
    /// was lost.
    Acknowledged,
    /// An object with that name exists and has different bytes.
    Taken,
}

/// Named objects. Every implementation keeps these promises, also between machines:
///
/// - an object is visible whole or not at all, and [`create`](Self::create) replaces none;
/// - of several concurrent attempts to create a name with different bytes, one is acknowledged;
/// - every later [`get`](Self::get) and [`list`](Self::list) finds an acknowledged object.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Creates an object, and retries if that is harmless. After an error the object may or may not exist.
    fn create<'a>(&'a self, name: &'a Name, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>>;

    /// The object's bytes; `None` if there is no such object.
    fn get<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>>;

    /// The sorted names of objects and prefixes directly below `prefix` (empty for the top), each without the prefix.
    fn list<'a>(&'a self, prefix: &'a Name) -> BoxFuture<'a, Result<Vec<String>, StoreFault>>;

    /// The store's location, for messages: a path or a URL.
    fn place(&self) -> String;
}

/// How many objects or debates are read at once.
pub const AT_ONCE: usize = 8;

/// A store that several debates of a process use.
pub type SharedStore = Arc<dyn Store>;

#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{name}` in the store {place}")]
pub struct StoreFault {
    /// The action, as an infinitive: "create", "read", "list".
    pub doing: &'static str,
    pub name: String,
    pub place: String,
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl StoreFault {
    /// Whether every attempt fails until the store or its permissions change.
    pub(crate) fn is_lasting(&self) -> bool {
        use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
        let kind = self.source.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(InvalidInput | IsADirectory | NotADirectory | PermissionDenied | ReadOnlyFilesystem))
            || s3::is_lasting(&*self.source)
    }
}

/// The URL scheme of S3 stores.
pub(crate) const S3: &str = "s3://";

/// Opens the store at `place`: a directory, which is created if missing, or `s3://bucket/prefix`, with the addresses
/// and keys from AWS's environment variables.
///
/// # Errors
/// The address is invalid, this build does not support S3, or the store cannot be used or does not keep its promises.
pub async fn open(place: &str, environment: &Environment) -> Result<SharedStore, Error> {
    match Place::of(place)? {
        Place::S3(address) => s3::open(address, environment).await,
        Place::Directory(root) => Ok(Arc::new(DirectoryStore::open(root).await?)),
    }
}

/// Opens the store at `place` for reading only.
///
/// # Errors
/// The address is invalid, this build does not support S3, or its settings are wrong.
pub fn open_to_read(place: &str, environment: &Environment) -> Result<SharedStore, Error> {
    match Place::of(place)? {
        Place::S3(address) => s3::open_to_read(address, environment),
        Place::Directory(root) => Ok(Arc::new(DirectoryStore::open_to_read(root))),
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

enum Place<'p> {
    Directory(&'p Path),
    /// `bucket/prefix`.
    S3(&'p str),
}

impl<'p> Place<'p> {
    fn of(place: &'p str) -> Result<Self, UserError> {
        match place.strip_prefix(S3) {
            Some(address) => Ok(Self::S3(address)),
            None if place.is_empty() || place.contains("://") => Err(not_a_store(place)),
            None => Ok(Self::Directory(Path::new(place))),
        }
    }
}

/// The error for an address that is not a store.
fn not_a_store(place: &str) -> UserError {
    UserError::input(format!("`{place}` is not a store")).with_hint(format!(
        "name a directory, or {S3}bucket/prefix with letters, digits, `-`, `_` and `.` in the parts of the prefix"
    ))
}

/// Whether a [`Name`] may contain this part.
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
}
