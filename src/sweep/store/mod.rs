//! Where a set of debates is kept: named objects that are created once and never overwritten.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// The name of an object: parts of ASCII letters, digits, `-`, `_` and `.`, separated by `/`; no part is `.` or `..`.
pub type Name = str;

/// What became of an attempt to create an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// The object is there, whole and durable, with the given bytes: of this attempt, or of an earlier one whose
    /// acknowledgement was lost.
    Acknowledged,
    /// An object of that name has other bytes.
    Taken,
}

/// Named objects. Every implementation keeps these promises, also between machines:
///
/// - an object is visible whole or not at all, and [`create`](Self::create) replaces none;
/// - of several that create one name at once, one is acknowledged, unless their bytes are equal;
/// - what was acknowledged is found by every later [`get`](Self::get) and [`list`](Self::list).
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Creates an object. Repeats what can be repeated without harm, so an error means: unknown whether it is there.
    fn create<'a>(&'a self, name: &'a Name, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>>;

    /// The object's bytes; `None` if there is no such object.
    fn get<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>>;

    /// The names directly below `prefix` (a name, or empty for the top): of objects, and of further prefixes. Each is
    /// the last part only; sorted.
    fn list<'a>(&'a self, prefix: &'a Name) -> BoxFuture<'a, Result<Vec<String>, StoreFault>>;

    /// Removes an object, if it is there.
    fn remove<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<(), StoreFault>>;

    /// Where it is, for messages: a path or a URL.
    fn place(&self) -> String;
}

/// A store that several debates of a process use.
pub type SharedStore = Arc<dyn Store>;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{name}` in the store {place}")]
pub struct StoreFault {
    /// The action, as an infinitive: "create", "read", "list", "remove".
    pub doing: &'static str,
    /// The object.
    pub name: String,
    /// The store.
    pub place: String,
    /// The reason.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
