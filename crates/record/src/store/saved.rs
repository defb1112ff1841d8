//! Loads a saved debate from its state file, or from its journal if that is newer.

use crate::debate::{Debate, Recorded, Status, fold};

use super::journal::last_event;
use super::saver::read_mark;
use super::{Entry, StateFileError, StoreError, read_journal, read_state};

#[derive(Debug)]
pub struct SavedDebate {
    pub debate: Debate,
    /// The events of its journal, if read.
    pub events: Vec<Recorded>,
    /// Warnings about its files.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// The state: the journal of a finished debate is not read.
    State,
    /// The events as well.
    Events,
}

impl Entry {
    /// Loads a debate without locking it. Between two saves the state file of an unfinished debate is older than its
    /// journal, so the journal is folded; if it is damaged, the state file is used with a warning. The journal is used
    /// with a warning if the state file cannot be read.
    ///
    /// # Errors
    /// Neither can be used.
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
                    let warning = format!("the journal next to it belongs to another debate, {}", saved.debate.id);
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
                Ok(saved) if finished(&debate) && !self.is_behind_journal() => SavedDebate { debate, ..saved },
                Ok(saved) => saved,
                Err(error) => {
                    let warning = format!("{error}; this is the last saved state");
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
            }),
        }
    }

    /// Whether the journal has events after the state file: notes on a finished debate by a killed process. Reads only
    /// its end.
    fn is_behind_journal(&self) -> bool {
        let last = self.journal.as_deref().and_then(|path| last_event(path).ok().flatten());
        let saved = read_mark(&self.state);
        last.zip(saved).is_some_and(|(last, saved)| last > saved.events)
    }

    /// Replaces a truncated or foreign state file: nothing is lost while the journal is intact.
    fn load_journal_instead(&self, unreadable: StateFileError) -> Result<SavedDebate, StoreError> {
        let Ok(mut saved) = self.load_journal() else { return Err(unreadable.into()) };
        let warning = format!("{unreadable}; its journal is used instead, and `resume` rewrites the file");
        saved.warnings.insert(0, warning);
        Ok(saved)
    }

    fn load_journal(&self) -> Result<SavedDebate, StoreError> {
        let path = self.journal.clone().unwrap_or_else(|| self.state.with_extension("events.jsonl"));
        let contents = read_journal(&path)?;
        let debate = fold(&contents.events).map_err(|source| StoreError::Fold { path, source })?;
        let cut = "a crash cut the last line of the journal short; it is ignored";
        let warnings = contents.cut_short.then(|| cut.to_owned()).into_iter().collect();
        Ok(SavedDebate { debate, events: contents.events, warnings })
    }
}
