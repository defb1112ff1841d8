//! Saves in the background, one after the other, so that calls need not wait for the disk.
//!
//! Of states that come within a second only the newest is written: the cost of saving does not grow with the number of
//! node transitions. The journal holds every event in any case.

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

use super::regular::open_regular;
use super::{JournalMark, Readers, StoreError, write_atomically};

/// What stands before the mark in a state file, and how many bytes from the end it stands at most.
const MARK_KEY: &[u8] = b"\n  \"journal\": ";
const MARK_BYTES: u64 = 256;

/// From the beginning of one save to that of the next, unless somebody waits for it.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a state file holds: the state, and how far the journal went that it is the fold of.
#[derive(Debug)]
pub(super) struct StateFile {
    pub(super) debate: Debate,
    pub(super) journal: JournalMark,
}

/// A thread that saves states.
#[derive(Debug)]
pub(super) struct Saver {
    orders: Sender<Order>,
    failure: Arc<Mutex<Option<StoreError>>>,
    state_path: PathBuf,
    _thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Order {
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

    /// Has `state` saved soon.
    ///
    /// # Errors
    /// When an earlier save failed.
    pub(super) fn save(&self, state: StateFile) -> Result<(), StoreError> {
        if let Some(failed) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failed);
        }
        // The thread ends only when this value is gone.
        drop(self.orders.send(Order { state, done: None }));
        Ok(())
    }

    /// Saves `state` and returns when it is on disk. An earlier failure is made good by this: nothing is lost.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub(super) async fn flush(&self, state: StateFile) -> Result<(), StoreError> {
        let (done, saved) = oneshot::channel();
        drop(self.orders.send(Order { state, done: Some(done) }));
        saved.await.unwrap_or_else(|_| {
            let source = std::io::Error::other("the saving thread has died");
            Err(StoreError::Write { path: self.state_path.clone(), source })
        })
    }
}

fn work(orders: &Receiver<Order>, journal: &File, path: &Path, failure: &Mutex<Option<StoreError>>) {
    let mut next = Instant::now();
    while let Ok(mut newest) = orders.recv() {
        while newest.done.is_none() {
            // When the sender hangs up, the last state is to be saved at once.
            let Ok(newer) = orders.recv_timeout(next.saturating_duration_since(Instant::now())) else { break };
            newest = newer;
        }
        next = Instant::now() + INTERVAL;
        let saved = save(journal, path, &newest.state);
        match newest.done {
            // Nobody waiting for the answer is no reason to stop.
            Some(done) => {
                if saved.is_ok() {
                    // What failed before is made good: nothing is missing on disk.
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

/// How far the journal went when the state file was saved; nothing where the file does not say or is not there.
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

/// The mark at the end of a state file, where this program writes it; the rest, which may be long, is not read.
fn mark_at_end(path: &Path) -> Option<JournalMark> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MARK_BYTES))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    // No text in JSON holds a line break, so this is a key of the whole.
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
