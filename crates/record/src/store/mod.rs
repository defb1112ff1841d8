//! Debates on disk. The journal is authoritative; the state file is the journal's fold, for people and other programs.
//! `docs/record.md` documents the format. This module must not depend on how a debate runs.

mod directory;
mod host;
mod journal;
mod lock;
mod older;
mod record;
mod saved;
mod snapshot;
mod verify;

use std::path::PathBuf;

use crate::event::FoldError;
use crate::ids::DebateId;

pub use directory::{Directory, Entry, ListedDebate, ShortNames, StateFileError, read_state};
pub use host::{HostRequest, HostRequests, SavedReply};
pub use journal::{Journal, JournalContents, JournalError, JournalMark, JournalReader, LineFault, read_journal};
pub use lock::{FileLock, is_locked, try_lock};
pub use record::{Record, Replica};
pub use saved::{AccessMode, SavedDebate};
pub use snapshot::{Readers, directory_of, write_atomically};
pub use verify::{Flaw, StateFileStatus, VerifiedRecord, verify};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot create the debates directory {path}")]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("cannot read the debates directory {path}")]
    List { path: PathBuf, source: std::io::Error },
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The copy of a journal no longer accepts events.
    #[error("{reason}")]
    Replica {
        /// The reason, as a clause.
        reason: String,
    },
    #[error(transparent)]
    State(#[from] StateFileError),
    #[error("the debate {id} has no journal (the TypeScript version did not keep one)")]
    NoJournal { id: DebateId },
    #[error("the journal of the debate {id} is missing: {path} does not exist")]
    JournalGone { id: DebateId, path: PathBuf },
    #[error("the journal {path} does not contain a valid debate")]
    Fold { path: PathBuf, source: FoldError },
    #[error("there is no debate `{name}` in {directory}")]
    Unknown { name: String, directory: PathBuf },
    #[error("`{pattern}` is not a valid path pattern")]
    Pattern { pattern: String, source: glob::PatternError },
    #[error("no debate matches the pattern `{pattern}`")]
    NoMatch { pattern: String },
    /// A directory that must be searched for matches cannot be read.
    #[error("cannot search for debates that match the pattern `{pattern}`")]
    Search { pattern: String, source: glob::GlobError },
    #[error("{path} is not in {directory}; only debates in that directory can be removed")]
    Elsewhere { path: PathBuf, directory: PathBuf },
    #[error("cannot remove {path}")]
    Remove { path: PathBuf, source: std::io::Error },
    #[error("`{name}` matches more than one debate: {}", fits.join(", "))]
    Ambiguous {
        name: String,
        /// Up to five of the matching ids.
        fits: Vec<String>,
    },
}
