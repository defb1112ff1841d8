//! Debates on disk: the journal, the state file, look-up and listing.
//!
//! The journal is authoritative; the state file is its fold, for people and other programs. `docs/record.md`
//! documents the format. Nothing here knows how a debate runs.

mod directory;
mod handling;
mod host;
mod journal;
mod line;
mod lock;
mod older;
mod record;
mod regular;
mod replica;
mod saved;
mod saver;
mod select;
mod snapshot;
mod verify;

use std::path::PathBuf;

use crate::debate::{DebateId, FoldError};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};

pub use directory::{Directory, Entry, ListedDebate, ShortNames, StateFileError, read_state};
pub use host::{HostRequest, SavedReply};
pub use journal::{Journal, JournalContents, JournalError, JournalMark, JournalReader, LineFault, read_journal};
pub use lock::{FileLock, is_locked, try_lock};
pub use record::Record;
pub use replica::{Replica, ReplicaError};
pub use saved::{AccessMode, SavedDebate};
pub use snapshot::{Readers, write_atomically};
pub use verify::{Flaw, StateFileStatus, VerifiedRecord, verify};

/// Advice for a file of a later version.
const TAKE_A_NEWER_VERSION: &str = "use a version of the program at least as new as the one that wrote it";
/// Advice if the debates directory cannot be used.
const SEE_TO_THE_PLACE: &str = "debates are saved in `debates` in the working directory: make sure that it is a \
    writable directory with free space, or work in another one";

/// Why a debate could not be saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The debates directory cannot be created.
    #[error("cannot create the debates directory {path}")]
    Directory { path: PathBuf, source: std::io::Error },
    /// The debates directory cannot be read.
    #[error("cannot read the debates directory {path}")]
    List { path: PathBuf, source: std::io::Error },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The copy of a journal accepts no more events.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    #[error(transparent)]
    State(#[from] StateFileError),
    /// A saved debate has no journal.
    #[error("the debate {id} has no journal: the older program kept none")]
    NoJournal { id: DebateId },
    /// A saved debate's journal is missing.
    #[error("the journal of the debate {id} is missing: there is no {path}")]
    JournalGone { id: DebateId, path: PathBuf },
    /// The events are not the record of a debate.
    #[error("the journal {path} is not the record of a debate")]
    Fold { path: PathBuf, source: FoldError },
    /// No debate has that name.
    #[error("there is no debate `{name}` in {directory}")]
    Unknown { name: String, directory: PathBuf },
    /// An invalid path pattern.
    #[error("`{pattern}` is not a valid path pattern")]
    Pattern { pattern: String, source: glob::PatternError },
    /// A pattern without matches.
    #[error("no debate matches the pattern `{pattern}`")]
    NoMatch { pattern: String },
    /// A directory below a pattern cannot be read.
    #[error("cannot search for debates that match the pattern `{pattern}`")]
    Search {
        pattern: String,
        /// The place and the reason.
        source: glob::GlobError,
    },
    /// A debate in another directory.
    #[error("{path} is not in {directory}: only debates there can be removed")]
    Elsewhere { path: PathBuf, directory: PathBuf },
    /// A file of a debate cannot be removed.
    #[error("cannot remove {path}")]
    Remove { path: PathBuf, source: std::io::Error },
    /// Several debates match.
    #[error("`{name}` matches several debates: {}", fits.join(", "))]
    Ambiguous {
        name: String,
        /// Some of the matches.
        fits: Vec<String>,
    },
}

impl Diagnostic for StoreError {
    fn blame(&self) -> ErrorCategory {
        self.advice().0
    }

    fn hint(&self) -> Option<String> {
        self.advice().1
    }

    fn remedy(&self) -> Option<Remedy> {
        self.advice().2
    }
}

impl StoreError {
    fn advice(&self) -> (ErrorCategory, Option<String>, Option<Remedy>) {
        use ErrorCategory::{Arguments, General};
        let hint = |hint: &str| Some(hint.to_owned());
        match self {
            Self::Journal(error) => (error.blame(), error.hint(), error.remedy()),
            Self::State(error) => (error.blame(), error.hint(), error.remedy()),
            Self::Directory { .. } | Self::List { .. } => (General, hint(SEE_TO_THE_PLACE), None),
            Self::Read { .. } | Self::Write { .. } => {
                (General, hint("check permissions and free space, or name another file"), None)
            }
            Self::Remove { .. } | Self::Fold { .. } => (General, None, None),
            Self::Replica(_) => (ErrorCategory::Busy, None, None),
            Self::JournalGone { .. } => {
                let put_back = "restore it; without it the debate can only be reported and evaluated";
                (Arguments, hint(put_back), None)
            }
            Self::Ambiguous { .. } => (Arguments, hint("type more of the id"), None),
            Self::Unknown { .. } => (Arguments, None, Some(Remedy::List)),
            Self::NoJournal { .. }
            | Self::Pattern { .. }
            | Self::NoMatch { .. }
            | Self::Search { .. }
            | Self::Elsewhere { .. } => (Arguments, None, None),
        }
    }
}
