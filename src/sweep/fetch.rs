//! Copies debates of a set from its store to a directory, where all other commands can read them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{DebateId, Status};
use dialectic_record::store::{
    AccessMode, Directory, Entry, JournalError, Readers, Record, StoreError, matching, write_atomically,
};

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
/// has not ended. The copy of a failed debate that was resumed since is replaced, unless the user changed it.
///
/// # Errors
/// The store cannot be read, the debate is damaged, or the directory cannot be written.
pub async fn fetch(store: &dyn Store, id: &DebateId, directory: &Directory) -> Result<Option<PathBuf>, Error> {
    let (state, path) = (directory.state_path(id), directory.journal_path(id));
    if state.exists() && path.exists() && !has_failed(&state) {
        return Ok(Some(state));
    }
    let journal = match Stored::read(store, id).await? {
        Stored::Nothing => return Ok(None),
        // A worker took it and has recorded nothing yet.
        Stored::Begun(chain) if chain.journal.is_empty() => return Ok(None),
        Stored::Begun(chain) => chain.journal,
        Stored::Finished(finished) => finished.journal,
    };
    let debate = debate_of(store, id, &journal)?;
    if !matches!(debate.status, Status::Completed | Status::Failed) {
        return Ok(None);
    }
    directory.create()?;
    let before = match fs::read(&path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(source) => return Err(NotCopied(JournalError::Read { path, source }.into()).into()),
    };
    let is_news = before.as_ref().is_none_or(|before| journal.len() > before.len() && journal.starts_with(before));
    if is_news {
        write_atomically(&path, Readers::Owner, |out| out.write_all(&journal))?;
    }
    if is_news || !state.exists() {
        let written = Record::reopen(&Entry::of_state(&state)).and_then(|(record, _)| record.write_state());
        if let Err(error) = written {
            // A journal that cannot be read is of no use.
            match before.filter(|_| is_news) {
                Some(before) => drop(write_atomically(&path, Readers::Owner, |out| out.write_all(&before))),
                None if is_news => drop(fs::remove_file(&path)),
                None => {}
            }
            return Err(NotCopied(error).into());
        }
    }
    Ok(Some(state))
}

/// Whether a copied debate has no answer, so that a worker may have resumed it in the store.
fn has_failed(state: &Path) -> bool {
    let copied = Entry::of_state(state).load(AccessMode::State);
    copied.is_ok_and(|copied| copied.debate.status == Status::Failed)
}
