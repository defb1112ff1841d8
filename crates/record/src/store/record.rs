//! The record of a running debate: every event goes to the journal first, then to the state.

use std::fmt;
use std::future::Future;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use crate::debate::Debate;
use crate::event::{Created, Event, Recorded};
use crate::ids::Timestamp;
use crate::settings::Settings;
use dialectic_base::money::BudgetLimit;

use super::snapshot::{Saver, read_mark, remove_leftovers, write_state};
use super::{Directory, Entry, Journal, JournalContents, JournalError, StoreError, read_state};

/// The maximum number of random ids to try for a new debate.
const ID_ATTEMPTS: usize = 16;

/// The record of a running debate. Its state is the fold of its journal, apart from settings that apply to this run
/// only.
#[derive(Debug)]
pub struct Record {
    journal: Journal,
    state_path: PathBuf,
    debate: Debate,
    seq: u64,
    /// Started with the first save: the saver needs a runtime, but a record can be opened without one.
    saver: Option<Saver>,
    /// Whether the settings in use apply to this run only.
    runs_with_others: bool,
    /// The limit that the user set for this and all later runs.
    pub new_limit: BudgetLimit,
    /// The recorded settings while other settings are in use; absent if unknown.
    recorded: Option<Settings>,
    /// A new replica must already contain all events so far.
    pub replica: Option<Arc<dyn Replica>>,
}

impl Record {
    fn of(journal: Journal, state_path: PathBuf, debate: Debate, seq: u64) -> Self {
        Self {
            journal,
            state_path,
            debate,
            seq,
            saver: None,
            runs_with_others: false,
            new_limit: BudgetLimit::default(),
            recorded: None,
            replica: None,
        }
    }

    /// Begins the record of a new debate under an unused id or, with a replica, under the id in `created`.
    ///
    /// # Errors
    ///
    /// Returns an error if the id is in use, or the directory or the journal cannot be written.
    pub fn begin(
        directory: &Directory,
        mut created: Box<Created>,
        replica: Option<Arc<dyn Replica>>,
    ) -> Result<(Self, Arc<Recorded>), StoreError> {
        directory.create()?;
        let mut attempts = 0;
        let mut journal = loop {
            attempts += 1;
            let may_retry = replica.is_none() && attempts < ID_ATTEMPTS;
            if replica.is_none() {
                created.id = Directory::new_id();
            }
            if may_retry && directory.state_path(&created.id).exists() {
                continue;
            }
            match Journal::create(&directory.journal_path(&created.id)) {
                Err(JournalError::Open { source, .. }) if may_retry && source.kind() == ErrorKind::AlreadyExists => {}
                journal => break journal?,
            }
        };
        let state_path = directory.state_path(&created.id);
        let first = Arc::new(Recorded { seq: 1, at: Timestamp::now(), event: Event::Created(created) });
        // An empty journal would be listed as an unreadable debate.
        let line = journal.append(&first).inspect_err(|_| drop(std::fs::remove_file(journal.path())))?;
        let debate =
            Debate::create(&first).map_err(|source| StoreError::Fold { path: journal.path().to_owned(), source })?;
        if let Some(replica) = &replica {
            replica.take(&line, false);
        }
        Ok((Self { replica, ..Self::of(journal, state_path, debate, 1) }, first))
    }

    /// Opens the record of a saved debate, and returns what its journal contains.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate has no journal, runs in another process, or is damaged.
    pub fn reopen(entry: &Entry) -> Result<(Self, JournalContents), StoreError> {
        let path = entry.journal.clone().unwrap_or_else(|| entry.state.with_extension("events.jsonl"));
        let known = read_mark(&entry.state).map_or(0, |mark| mark.events);
        let (journal, contents) = Journal::reopen(&path, known)?;
        // The journal is locked, so no other process replaces the state file.
        remove_leftovers(&entry.state);
        let debate =
            crate::event::fold(&contents.events).map_err(|source| StoreError::Fold { path: path.clone(), source })?;
        let seq = contents.events.len() as u64;
        Ok((Self::of(journal, entry.state.clone(), debate, seq), contents))
    }

    /// Creates a journal from the state file of a debate that the TypeScript version saved.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be read, or the journal cannot be written.
    pub fn import(entry: &Entry) -> Result<(Self, JournalContents), StoreError> {
        let path = entry.state.with_extension("events.jsonl");
        let event = Event::Imported { state: Box::new(read_state(&entry.state)?) };
        let mut journal = Journal::create(&path)?;
        let appended = journal.append(&Recorded { seq: 1, at: Timestamp::now(), event });
        // An empty journal would be listed as an unreadable debate.
        appended.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        drop(journal);
        Self::reopen(&Entry { journal: Some(path), ..entry.clone() })
    }

    /// Appends an event to the journal, then applies it to the state.
    ///
    /// # Errors
    ///
    /// Returns an error if the event cannot be written, if it cannot follow the earlier events, or if the journal was
    /// moved, removed or replaced. In the last two cases, the event has already been written.
    pub fn append(&mut self, event: Event) -> Result<Arc<Recorded>, StoreError> {
        let recorded = Arc::new(Recorded { seq: self.seq + 1, at: Timestamp::now(), event });
        let line = self.journal.append(&recorded)?;
        self.seq += 1;
        if let Some(replica) = &self.replica {
            replica.take(&line, recorded.event.call().is_some());
        }
        if let (Event::Resumed(limit), Some(settings)) = (&recorded.event, &mut self.recorded) {
            settings.renew(*limit);
        }
        self.debate
            .apply(&recorded)
            .map_err(|source| StoreError::Fold { path: self.journal.path().to_owned(), source })?;
        self.journal.check_place()?;
        Ok(recorded)
    }

    pub fn debate(&self) -> &Debate {
        &self.debate
    }

    /// Replaces the settings for this run only; the journal and the state keep the recorded ones.
    pub fn run_with(&mut self, settings: Settings) {
        let before = self.debate.settings.replace(settings);
        if !std::mem::replace(&mut self.runs_with_others, true) {
            self.recorded = before;
        }
    }

    pub fn events(&self) -> u64 {
        self.seq
    }

    pub fn journal_path(&self) -> &std::path::Path {
        self.journal.path()
    }

    pub fn entry(&self) -> Entry {
        Entry { state: self.state_path.clone(), journal: Some(self.journal.path().to_owned()) }
    }

    pub fn state_path(&self) -> &std::path::Path {
        &self.state_path
    }

    /// Syncs the journal and replaces the state file in the background.
    ///
    /// # Errors
    ///
    /// Returns an error if an earlier save failed.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        let (saved, mark) = (self.saved(), self.journal.mark().clone());
        self.saver()?.save(saved, mark)
    }

    /// Rewrites the state file of a debate that is not running.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write_state(&self) -> Result<(), StoreError> {
        write_state(&self.state_path, &self.saved(), self.journal.mark())
    }

    /// Syncs the journal, then calls [`Self::write_state`].
    ///
    /// # Errors
    ///
    /// Returns an error if one of the files cannot be written.
    pub fn save(&self) -> Result<(), StoreError> {
        let synced = self.journal.sync_handle()?.sync_data();
        synced.map_err(|source| StoreError::Write { path: self.journal.path().to_owned(), source })?;
        self.write_state()
    }

    /// Saves everything, and waits until the files are on disk and the copy of the journal is complete.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the files or the copy cannot be written.
    pub async fn flush(&mut self) -> Result<(), StoreError> {
        let (saved, mark) = (self.saved(), self.journal.mark().clone());
        self.saver()?.flush(saved, mark).await?;
        match &self.replica {
            Some(replica) => replica.holds().await,
            None => Ok(()),
        }
    }

    /// Saves as much as possible after a failure: restores a removed journal, and saves the state after the last
    /// written event. Waits for all writes. Ignores further failures, because the first one is more useful to report.
    pub async fn salvage(&mut self) {
        drop(self.journal.restore());
        drop(self.flush().await);
    }

    /// Removes the files of a debate that never ran.
    pub fn discard(self) {
        // If this fails, the debate stays in the list.
        drop(std::fs::remove_file(&self.state_path));
        drop(std::fs::remove_file(self.journal.path()));
    }

    /// Removes the journal and the state file, and returns whether both are gone. Call this only after all writes have
    /// ended.
    pub fn remove(&mut self) -> bool {
        let is_gone = |path: &std::path::Path| std::fs::remove_file(path).is_ok() || !path.exists();
        let [state, journal] = [&self.state_path, self.journal.path()].map(is_gone);
        state && journal
    }

    /// The state with the recorded settings.
    fn saved(&self) -> Debate {
        let settings = if self.runs_with_others { &self.recorded } else { &self.debate.settings };
        Debate { settings: settings.clone(), ..self.debate.clone() }
    }

    fn saver(&mut self) -> Result<&Saver, StoreError> {
        let saver = match self.saver.take() {
            Some(saver) => saver,
            None => Saver::start(self.journal.sync_handle()?, self.state_path.clone()),
        };
        Ok(self.saver.insert(saver))
    }
}

/// A copy of a journal, kept while the debate runs. The journal stays authoritative for this run; another run would
/// continue from the copy.
pub trait Replica: fmt::Debug + Send + Sync {
    /// Receives an event's line, with its line break, once the journal has it. Must not wait. If `is_paid`, the line
    /// records a paid call and must be copied immediately; other lines may wait until [`holds`](Self::holds) is called.
    fn take(&self, line: &[u8], is_paid: bool);

    /// Waits until the copy contains all events so far. No request is sent before its reservation is copied. If another
    /// process has taken over the debate, the resulting error therefore stops this run from sending requests.
    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>>;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::debate::fixture::{created, pitching};

    /// A copy that gets lost: whether each line was paid for.
    #[derive(Debug, Default)]
    struct Lost(Mutex<Vec<bool>>);

    impl Replica for Lost {
        fn take(&self, _: &[u8], is_paid: bool) {
            self.0.lock().unwrap().push(is_paid);
        }

        fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
            Box::pin(async { Err(StoreError::Replica { reason: "full".to_owned() }) })
        }
    }

    fn copied(directory: &Directory, copy: &Arc<Lost>) -> Record {
        let Event::Created(created) = created(pitching::stages()) else { panic!("a debate begins with it") };
        Record::begin(directory, created, Some(copy.clone())).unwrap().0
    }

    #[tokio::test]
    async fn paid_results_are_copied_at_once_and_a_run_ends_with_a_whole_copy() {
        let keep = tempfile::tempdir().unwrap();
        let copy = Arc::new(Lost::default());
        let mut record = copied(&Directory::at(keep.path()), &copy);
        record.append(Event::RoundBegun { round: 1, stage: pitching::PITCH }).unwrap();
        record.append(pitching::applauded("agent-kiss", "agent-architect")).unwrap();
        assert_eq!(*copy.0.lock().unwrap(), [false, false, true]);
        assert!(matches!(record.flush().await, Err(StoreError::Replica { .. })));
    }

    #[test]
    fn the_settings_of_one_run_are_not_recorded_and_what_a_killed_one_left_is_removed() {
        let keep = tempfile::tempdir().unwrap();
        let mut record = copied(&Directory::at(keep.path()), &Arc::default());
        let recorded = record.debate().settings.clone();
        let mut others = recorded.clone().unwrap();
        others.judge.model = "another".to_owned();
        record.run_with(others);
        record.save().unwrap();
        let entry = record.entry();
        assert_eq!(read_state(&entry.state).unwrap().settings, recorded);
        drop(record);
        let name = entry.state.file_name().unwrap().to_str().unwrap();
        let leftover = keep.path().join(format!(".{name}-x1.tmp"));
        std::fs::write(&leftover, "").unwrap();
        Record::reopen(&entry).unwrap();
        assert!(!leftover.exists());
    }
}
