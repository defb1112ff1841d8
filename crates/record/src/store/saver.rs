//! Saves in the background, one at a time, so that calls do not wait for the disk.
//!
//! Of several states within a second only the newest is written, so that the cost of saving does not grow with the
//! number of transitions. The journal holds every event anyway.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::debate::{Debate, DebateFile};

use super::snapshot::open_regular;
use super::{JournalMark, Readers, StoreError, write_atomically};

/// The text before the mark in a state file, and its maximum distance from the end in bytes.
const MARK_KEY: &[u8] = b"\n  \"journal\": ";
const MARK_BYTES: u64 = 256;

/// The interval between saves, unless a caller waits.
const INTERVAL: Duration = Duration::from_secs(1);

/// The contents of a state file: the state, and the extent of the journal that it folds.
#[derive(Debug)]
pub(super) struct StateFile {
    pub(super) debate: Debate,
    pub(super) journal: JournalMark,
}

/// A thread that saves states.
#[derive(Debug)]
pub(super) struct Saver {
    orders: Sender<SaveOrder>,
    failure: Arc<Mutex<Option<StoreError>>>,
    state_path: PathBuf,
    _thread: JoinHandle<()>,
}

#[derive(Debug)]
struct SaveOrder {
    state: StateFile,
    done: Option<oneshot::Sender<Result<(), StoreError>>>,
}

impl Saver {
    /// Starts the thread. It ends when this value is dropped and everything is saved.
    pub(super) fn start(journal: File, state_path: PathBuf) -> Self {
        let (orders, received) = channel();
        let failure = Arc::new(Mutex::new(None));
        let report = Arc::clone(&failure);
        let path = state_path.clone();
        let thread = spawn_blocking(move || work(&received, &journal, &path, &report));
        Self { orders, failure, state_path, _thread: thread }
    }

    /// Saves `state` soon.
    ///
    /// # Errors
    /// An earlier save failed.
    pub(super) fn save(&self, state: StateFile) -> Result<(), StoreError> {
        if let Some(failed) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failed);
        }
        // The thread ends only after this value.
        drop(self.orders.send(SaveOrder { state, done: None }));
        Ok(())
    }

    /// Saves `state` and waits until it is on disk. Success makes up for an earlier failure.
    ///
    /// # Errors
    /// It cannot be saved.
    pub(super) async fn flush(&self, state: StateFile) -> Result<(), StoreError> {
        let (done, saved) = oneshot::channel();
        drop(self.orders.send(SaveOrder { state, done: Some(done) }));
        saved.await.unwrap_or_else(|_| {
            let source = std::io::Error::other("the saving thread has died");
            Err(StoreError::Write { path: self.state_path.clone(), source })
        })
    }
}

fn work(orders: &Receiver<SaveOrder>, journal: &File, path: &Path, failure: &Mutex<Option<StoreError>>) {
    let mut next = Instant::now();
    while let Ok(mut newest) = orders.recv() {
        while newest.done.is_none() {
            // When the sender is dropped, the last state is saved at once.
            let Ok(newer) = orders.recv_timeout(next.saturating_duration_since(Instant::now())) else { break };
            newest = newer;
        }
        next = Instant::now() + INTERVAL;
        let saved = save(journal, path, &newest.state);
        match newest.done {
            // The caller may have stopped waiting.
            Some(done) => {
                if saved.is_ok() {
                    // Success makes up for an earlier failure.
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                drop(done.send(saved));
            }
            None => {
                if let Err(error) = saved {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    }
}

fn save(journal: &File, path: &Path, state: &StateFile) -> Result<(), StoreError> {
    journal.sync_data().map_err(|source| StoreError::Write { path: path.with_extension("events.jsonl"), source })?;
    write_state(path, state)
}

/// The journal's extent when the state file was saved; `None` if the file is missing or does not state it.
pub(super) fn read_mark(path: &Path) -> Option<JournalMark> {
    #[derive(Deserialize)]
    struct Marked {
        journal: Option<JournalMark>,
    }
    let whole = || {
        let mut bytes = Vec::new();
        open_regular(path).ok()?.read_to_end(&mut bytes).ok()?;
        serde_json::from_slice::<Marked>(&bytes).ok()?.journal
    };
    mark_at_end(path).or_else(whole)
}

/// The mark at the end of a state file of this program, without reading the rest.
fn mark_at_end(path: &Path) -> Option<JournalMark> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MARK_BYTES))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    // JSON strings contain no line breaks, so this is a top-level key.
    let start = memmem::rfind(&end, MARK_KEY)? + MARK_KEY.len();
    serde_json::from_slice(end[start..].trim_ascii_end().strip_suffix(b"}")?).ok()
}

/// Replaces the state file.
pub(super) fn write_state(path: &Path, state: &StateFile) -> Result<(), StoreError> {
    #[derive(Serialize)]
    struct File<'a> {
        #[serde(flatten)]
        state: DebateFile<'a>,
        journal: &'a JournalMark,
    }

    let file = File { state: DebateFile::of(&state.debate), journal: &state.journal };
    write_atomically(path, Readers::Owner, |out| {
        serde_json::to_writer_pretty(&mut *out, &file)?;
        out.write_all(b"\n")
    })
}
