//! Copies debates of a set from its store to a directory, where all other commands can read them.

use std::fs;
use std::path::PathBuf;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{DebateId, Status};
use dialectic_record::store::{Directory, Entry, Readers, Record, StoreError, matching, write_atomically};

use super::Stored;
use super::collect::{ReadError, debate_of};
use super::plan::Plan;
use super::store::Store;

/// Why debates cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No debate of the plan has this id.
    #[error("the plan has no debate `{0}`")]
    Unknown(String),
    /// Several debates of the plan have an id with this beginning or ending.
    #[error("`{0}` matches several debates of the plan")]
    Ambiguous(String),
    /// The debate has not ended.
    #[error("the debate {0} has not ended")]
    NotEnded(DebateId),
    /// The store cannot be read, or a debate in it is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory cannot be written, or the hashes of a journal do not match.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Diagnostic for FetchError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Unknown(_) | Self::Ambiguous(_) => ErrorCategory::Arguments,
            Self::NotEnded(_) => ErrorCategory::Busy,
            Self::Read(error) => error.blame(),
            Self::Write(error) => error.blame(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => Some("`dialectic sweep collect` prints the ids of finished debates".to_owned()),
            Self::Ambiguous(_) => Some("type more of the id".to_owned()),
            Self::NotEnded(_) => Some("`dialectic sweep run` runs it".to_owned()),
            Self::Read(error) => error.hint(),
            Self::Write(error) => error.hint(),
        }
    }
}

/// The debates and arms of the plan with these names: ids, or beginnings or endings of ids that only one has. Without
/// names, all of them.
///
/// # Errors
/// A name fits none or several.
pub fn named<'a>(plan: &'a Plan, names: &[String]) -> Result<Vec<&'a DebateId>, FetchError> {
    let all: Vec<&DebateId> = plan.records().map(|record| record.id).collect();
    let find = |name: &String| match *matching(all.clone(), ToString::to_string, name) {
        [] => Err(FetchError::Unknown(name.clone())),
        [one] => Ok(one),
        [_, _, ..] => Err(FetchError::Ambiguous(name.clone())),
    };
    if names.is_empty() { Ok(all) } else { names.iter().map(find).collect() }
}

/// Copies a debate that has ended to a directory, unless it is there, and returns the path of its state; `None` if it
/// has not ended.
///
/// # Errors
/// The store cannot be read, the debate is damaged, or the directory cannot be written.
pub async fn fetch(store: &dyn Store, id: &DebateId, directory: &Directory) -> Result<Option<PathBuf>, FetchError> {
    let (state, path) = (directory.state_path(id), directory.journal_path(id));
    if state.exists() && path.exists() {
        return Ok(Some(state));
    }
    let journal = match Stored::read(store, id).await.map_err(ReadError::from)? {
        Stored::Nothing => return Ok(None),
        Stored::Begun(chain) => chain.journal,
        Stored::Finished(finished) => finished.journal,
    };
    let debate = debate_of(store, id, &journal)?;
    if !matches!(debate.status, Status::Completed | Status::Failed) {
        return Ok(None);
    }
    directory.create()?;
    let is_new = !path.exists();
    if is_new {
        write_atomically(&path, Readers::Owner, |out| out.write_all(&journal))?;
    }
    if !state.exists() {
        let written = Record::reopen(&Entry::of_state(&state)).and_then(|(record, _)| record.write_state());
        if let Err(error) = written {
            if is_new {
                // A journal that cannot be read is of no use.
                drop(fs::remove_file(&path));
            }
            return Err(error.into());
        }
    }
    Ok(Some(state))
}
