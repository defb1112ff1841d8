//! Actions on an existing debate: adding a note to its record, and removing it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::debate::{Debate, Event};

use super::journal::hold;
use super::snapshot::remove_leftovers;
use super::{Directory, Entry, Record, StoreError, read_state};

impl Entry {
    /// Appends the event that `note` derives from the debate and saves the state; writes nothing if there is no event.
    /// Returns the resulting debate. A debate without a journal gets one.
    ///
    /// # Errors
    /// Its journal is missing, it runs in another process, is damaged, or cannot be saved.
    pub fn note(&self, note: impl FnOnce(&Debate) -> Option<Event>) -> Result<Debate, StoreError> {
        if self.is_older() {
            let debate = read_state(&self.state)?;
            let Some(event) = note(&debate) else { return Ok(debate) };
            let (mut record, _) = Record::import(self)?;
            record.append(event)?;
            record.save()?;
            return Ok(record.debate().clone());
        }
        self.journal_path()?;
        let (mut record, _) = Record::reopen(self)?;
        if let Some(event) = note(record.debate()) {
            record.append(event)?;
            record.save()?;
        }
        Ok(record.debate().clone())
    }
}

impl Directory {
    /// Removes the files of a debate in this directory that is not running. If this is interrupted, a complete debate
    /// remains: the state is removed first, and the journal contains everything.
    ///
    /// # Errors
    /// It is elsewhere, not a debate, running in another process, or cannot be removed.
    pub fn remove(&self, entry: &Entry) -> Result<(), StoreError> {
        let Entry { state, journal } = entry;
        self.check_is_here(entry)?;
        // Held until both are removed, so that no process resumes it in the meantime.
        let _held = journal.as_deref().map(hold).transpose()?;
        for path in [Some(state.as_path()), journal.as_deref()].into_iter().flatten() {
            match fs::remove_file(path) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(StoreError::Remove { path: path.to_owned(), source });
                }
                _ => {}
            }
        }
        remove_leftovers(state);
        drop(fs::remove_file(entry.log_path()));
        entry.forget_stop();
        entry.forget_host();
        Ok(())
    }

    /// Checks that a debate can be removed: it is a debate, and in this directory.
    ///
    /// # Errors
    /// It is not.
    pub fn check_is_here(&self, entry: &Entry) -> Result<(), StoreError> {
        let directory = entry.state.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_here =
            fs::canonicalize(directory).is_ok_and(|real| fs::canonicalize(self.path()).is_ok_and(|own| own == real));
        if !is_here {
            return Err(StoreError::Elsewhere { path: entry.state.clone(), directory: self.path().to_owned() });
        }
        if entry.journal.is_none() {
            // A file that only has a debate's name belongs to someone else.
            read_state(&entry.state)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debates_that_are_kept_in_the_directory_are_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let name = |name: &str| temporary.path().join(name);
        fs::create_dir(name("debates")).unwrap();
        let state = r#"{"id":"d","problem":"p","status":"completed","rounds":[]}"#;
        for (path, text) in [
            ("debates/a.json", state),
            ("debates/a.events.jsonl", ""),
            ("debates/a.log", "begun"),
            ("debates/a.stop", "stop"),
            ("debates/.a.json-x.tmp", ""),
            ("debates/notes.json", "{}"),
            ("b.json", state),
        ] {
            fs::write(name(path), text).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(name("b.json"), name("debates/link.json")).unwrap();
        let directory = Directory::at(name("debates"));
        let remove = |path: &str| directory.remove(&Entry::of_state(&name(path)));
        assert!(matches!(remove("b.json"), Err(StoreError::Elsewhere { .. })));
        assert!(matches!(remove("debates/../b.json"), Err(StoreError::Elsewhere { .. })));
        assert!(matches!(remove("debates/notes.json"), Err(StoreError::State(_))));
        assert!(matches!(remove("debates/none.json"), Err(StoreError::State(_))));
        remove("debates/a.json").unwrap();
        #[cfg(unix)]
        remove("debates/link.json").unwrap();
        let left: Vec<_> = fs::read_dir(name("debates")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.json"]);
        assert!(name("b.json").exists(), "a link is removed, not what it leads to");
    }
}
