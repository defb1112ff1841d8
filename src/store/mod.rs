//! Debates on disk: the journal, the state file, finding and listing them.
//!
//! The journal is what counts; the state file is its fold, written for people and other programs. The format is
//! documented in `docs/state-format.md`. Nothing here knows how a debate is run.

mod directory;
mod journal;
mod line;
mod older;
mod record;
mod saved;
mod saver;
mod select;
mod snapshot;
mod verify;

pub use directory::{Directory, Entry, StateFileError, read_state};
pub use journal::{Contents, Journal, JournalError, JournalMark, JournalReader, read_journal};
pub use record::Record;
pub use saved::{Saved, Wanted};
pub use snapshot::write_atomically;
pub use verify::{Flaw, StateFile, Verification, verify};

/// Why a debate could not be saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The debates directory cannot be made.
    #[error("cannot create the debates directory {path}")]
    Directory {
        /// The directory.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The debates directory cannot be read.
    #[error("cannot read the debates directory {path}")]
    List {
        /// The directory.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A state file.
    #[error(transparent)]
    State(#[from] StateFileError),
    /// The events are not the record of a debate.
    #[error("the journal {path} is not the record of a debate")]
    Fold {
        /// The journal.
        path: std::path::PathBuf,
        /// Why.
        source: crate::debate::FoldError,
    },
    /// No debate of that name.
    #[error("there is no debate `{name}` in {directory}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where.
        directory: std::path::PathBuf,
    },
    /// A pattern for paths that is none.
    #[error("`{pattern}` is not a pattern for paths")]
    Pattern {
        /// As given.
        pattern: String,
        /// Why.
        source: glob::PatternError,
    },
    /// A pattern that no file fits.
    #[error("no debate fits the pattern `{pattern}`")]
    NoMatch {
        /// As given.
        pattern: String,
    },
    /// A directory that a pattern leads into cannot be read.
    #[error("cannot look for debates that fit the pattern `{pattern}`")]
    Search {
        /// As given.
        pattern: String,
        /// Where and why.
        source: glob::GlobError,
    },
    /// Several debates of that prefix.
    #[error("`{name}` fits several debates: {}", fits.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Some of those that fit.
        fits: Vec<String>,
    },
}
