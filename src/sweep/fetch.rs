//! Copies debates of a set from its store to a directory, where all other commands can read them.

use std::fs;
use std::path::PathBuf;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{DebateId, Status};
use dialectic_record::store::{Directory, Entry, Readers, Record, StoreError, matching, write_atomically};

use crate::error::{Error, UserError};

use super::Stored;
use super::collect::debate_of;
use super::plan::Plan;
use super::store::Store;

/// A record cannot be copied: it is not where another command could examine it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct NotCopied(StoreError);

impl Diagnostic for NotCopied {
    fn blame(&self) -> ErrorCategory {
        self.0.blame()
    }

    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

/// The debates and arms of the plan with these names: ids, or beginnings or endings of ids that only one has. Without
/// names, all of them.
///
/// # Errors
/// A name fits none or several.
pub fn named<'a>(plan: &'a Plan, names: &[String]) -> Result<Vec<&'a DebateId>, UserError> {
    let all: Vec<&DebateId> = plan.records().map(|record| record.id).collect();
    let find =
        |name: &String| match *matching(all.clone(), ToString::to_string, name) {
            [] => Err(UserError::input(format!("the plan has no debate `{name}`"))
                .with_hint("`dialectic sweep collect` prints the ids of finished debates")),
            [one] => Ok(one),
            [_, _, ..] => Err(UserError::input(format!("`{name}` matches several debates of the plan"))
                .with_hint("type more of the id")),
        };
    if names.is_empty() { Ok(all) } else { names.iter().map(find).collect() }
}

/// Copies a debate that has ended to a directory, unless it is there, and returns the path of its state; `None` if it
/// has not ended.
///
/// # Errors
/// The store cannot be read, the debate is damaged, or the directory cannot be written.
pub async fn fetch(store: &dyn Store, id: &DebateId, directory: &Directory) -> Result<Option<PathBuf>, Error> {
    let (state, path) = (directory.state_path(id), directory.journal_path(id));
    if state.exists() && path.exists() {
        return Ok(Some(state));
    }
    let journal = match Stored::read(store, id).await? {
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
            return Err(NotCopied(error).into());
        }
    }
    Ok(Some(state))
}
