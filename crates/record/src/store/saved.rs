//! A saved debate as it is known best: from its state file, or where that may be behind, from its journal.

use crate::debate::{Debate, Recorded, Status, fold};

use super::journal::last_event;
use super::saver::read_mark;
use super::{Entry, StateFileError, StoreError, read_journal, read_state};

/// What is known of a saved debate.
#[derive(Debug)]
pub struct SavedDebate {
    /// The state.
    pub debate: Debate,
    /// The events of its journal, where they were read.
    pub events: Vec<Recorded>,
    /// What the user should know about its files.
    pub warnings: Vec<String>,
}

/// What is wanted of a saved debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// The state: the journal of a finished debate is left alone.
    State,
    /// The events, too.
    Events,
}

impl Entry {
    /// Reads what is saved, without locking it. The state file of a debate that is not finished is behind its journal
    /// between two saves, so the journal is folded then; when that is damaged, a warning says so and the state file
    /// is taken. The journal is taken, with a warning, where the state file cannot be read.
    ///
    /// # Errors
    /// When neither can be used.
    pub fn load(&self, wanted: AccessMode) -> Result<SavedDebate, StoreError> {
        let state = match read_state(&self.state) {
            // A debate that was killed before its first save has a journal only.
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
                    let warning = format!("the journal beside it is of another debate, {}", saved.debate.id);
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
                Ok(saved) if finished(&debate) && !self.is_behind_journal() => SavedDebate { debate, ..saved },
                Ok(saved) => saved,
                Err(error) => {
                    let warning = format!("{error}; this is the state as last saved");
                    SavedDebate { debate, events: Vec::new(), warnings: vec![warning] }
                }
            }),
        }
    }

    /// Whether the journal has events that the state file was saved without: what was noted about a finished debate by
    /// a process that was killed. Only its end is read.
    fn is_behind_journal(&self) -> bool {
        let last = self.journal.as_deref().and_then(|path| last_event(path).ok().flatten());
        let saved = read_mark(&self.state);
        last.zip(saved).is_some_and(|(last, saved)| last > saved.events)
    }

    /// For a state file that another program truncated or replaced: nothing is missing as long as the journal is whole.
    fn load_journal_instead(&self, unreadable: StateFileError) -> Result<SavedDebate, StoreError> {
        let Ok(mut saved) = self.load_journal() else { return Err(unreadable.into()) };
        let warning = format!("{unreadable}; its journal is read instead, and `resume` rewrites the file");
        saved.warnings.insert(0, warning);
        Ok(saved)
    }

    fn load_journal(&self) -> Result<SavedDebate, StoreError> {
        let path = self.journal.clone().unwrap_or_else(|| self.state.with_extension("events.jsonl"));
        let contents = read_journal(&path)?;
        let debate = fold(&contents.events).map_err(|source| StoreError::Fold { path, source })?;
        let cut = "a crash cut the last line of the journal short; it is left out";
        let warnings = contents.cut_short.then(|| cut.to_owned()).into_iter().collect();
        Ok(SavedDebate { debate, events: contents.events, warnings })
    }
}
