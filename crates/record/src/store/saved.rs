//! Loads, extends and removes saved debates. Reads the journal if it is newer than the state file.

use std::fs;
use std::io::ErrorKind;

use crate::debate::{Debate, Status};
use crate::event::{Event, Recorded, fold};

use super::journal::{hold, last_event};
use super::snapshot::{directory_of, read_mark, remove_leftovers};
use super::{Directory, Entry, Record, StateFileError, StoreError, read_journal, read_state};

#[derive(Debug)]
pub struct SavedDebate {
    pub debate: Debate,
    /// The journal's events; empty if the journal was not needed or cannot be used.
    pub events: Vec<Recorded>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Only the state. The journal of a finished debate is read only if the state file lacks events.
    State,
    Events,
}

impl Entry {
    /// Loads a debate without locking it. The journal of an unfinished debate is folded, because the state file may be
    /// out of date. If one of the files cannot be read, the other one is used, with a warning.
    ///
    /// # Errors
    ///
    /// Returns an error if neither file can be used.
    pub fn load(&self, wanted: AccessMode) -> Result<SavedDebate, StoreError> {
        let state = match read_state(&self.state) {
            // A debate killed before its first save has only a journal.
            Err(error) if error.is_missing() && self.journal.is_some() => None,
            Err(error) if self.journal.is_some() => return self.load_journal_instead(error),
            state => Some(state?),
        };
        let finished = |debate: &Debate| matches!(debate.status, Status::Completed | Status::Failed);
        match state {
            Some(debate)
                if self.journal.is_none()
                    || (finished(&debate) && wanted == AccessMode::State && !self.is_behind_journal()) =>
            {
                Ok(SavedDebate { debate, events: Vec::new(), warnings: Vec::new() })
            }
            None => self.load_journal(),
            Some(debate) => Ok(match self.load_journal() {
                Ok(saved) if saved.debate.id != debate.id => {
                    let warning = format!(
                        "ignoring the journal next to the state file: it belongs to another debate ({})",
                        saved.debate.id
                    );
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
                Ok(saved) if finished(&debate) && !self.is_behind_journal() => SavedDebate { debate, ..saved },
                Ok(saved) => saved,
                Err(error) => {
                    let warning = format!("{error}; using the last saved state");
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
            }),
        }
    }

    /// Whether the journal has events that the state file lacks, as after a process was killed while adding to a
    /// finished debate. Reads only the end of the journal.
    fn is_behind_journal(&self) -> bool {
        let last = self.journal.as_deref().and_then(|path| last_event(path).ok().flatten());
        let saved = read_mark(&self.state);
        last.zip(saved).is_some_and(|(last, saved)| last > saved.events)
    }

    /// Loads the journal because the state file cannot be read. Nothing is lost while the journal is intact.
    fn load_journal_instead(&self, unreadable: StateFileError) -> Result<SavedDebate, StoreError> {
        let Ok(mut saved) = self.load_journal() else { return Err(unreadable.into()) };
        let warning = format!("{unreadable}; using the debate's journal instead (`resume` rewrites the state file)");
        saved.warnings.insert(0, warning);
        Ok(saved)
    }

    fn load_journal(&self) -> Result<SavedDebate, StoreError> {
        let path = self.journal.clone().unwrap_or_else(|| self.state.with_extension("events.jsonl"));
        let contents = read_journal(&path)?;
        let debate = fold(&contents.events).map_err(|source| StoreError::Fold { path, source })?;
        let cut = "ignoring the incomplete last line of the journal, left by a crash";
        let warnings = contents.cut_short.then(|| cut.to_owned()).into_iter().collect();
        Ok(SavedDebate { debate, events: contents.events, warnings })
    }
}

impl Entry {
    /// Appends the event that `note` derives from the debate, if any, and saves the state. Returns the resulting
    /// debate. Creates a journal if the debate has none because the TypeScript version saved it.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal is missing or damaged, another process is running the debate, or the debate
    /// cannot be saved.
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
    /// Removes the files of a debate in this directory that is not running. An interruption leaves a complete debate,
    /// because the state file is removed first and the journal contains everything.
    ///
    /// # Errors
    ///
    /// Returns an error if the entry is not a debate in this directory, another process is running the debate, or a
    /// file cannot be removed.
    pub fn remove(&self, entry: &Entry) -> Result<(), StoreError> {
        let Entry { state, journal } = entry;
        self.check_is_here(entry)?;
        // Keep the journal locked until both files are removed, so that no process can resume the debate meanwhile.
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

    /// Checks that `entry` is a debate in this directory, so that it can be removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate is in another directory, or the file is not a debate.
    pub fn check_is_here(&self, entry: &Entry) -> Result<(), StoreError> {
        let directory = directory_of(&entry.state);
        let is_here =
            fs::canonicalize(directory).is_ok_and(|real| fs::canonicalize(self.path()).is_ok_and(|own| own == real));
        if !is_here {
            return Err(StoreError::Elsewhere { path: entry.state.clone(), directory: self.path().to_owned() });
        }
        if entry.journal.is_none() {
            // A `.json` file that is not a debate belongs to someone else and must not be removed.
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
