//! Reads regular files, replaces files atomically, and saves the state in the background.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::debate::{Debate, DebateFile};

use super::{JournalMark, StoreError};

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Owner,
    /// Everyone that the user's umask allows.
    All,
}

/// Writes the output of `write` to a temporary file, syncs it, and renames it to `path`. Keeps the mode of a replaced
/// file, and the owner if permitted; `readers` applies to new files.
///
/// # Errors
///
/// Returns an error if a step fails; the file is then unchanged.
pub fn write_atomically(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::Write { path: path.to_owned(), source };
    let prefix = temporary_prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX);
    // Temporary files are private by default.
    #[cfg(unix)]
    if readers == Readers::All {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = readers;
    let temporary = builder.tempfile_in(directory_of(path)).map_err(failed)?;
    if let Ok(replaced) = path.metadata() {
        #[cfg(unix)]
        give_to_owner_of(&replaced, temporary.as_file());
        temporary.as_file().set_permissions(replaced.permissions()).map_err(failed)?;
    }
    let mut buffered = std::io::BufWriter::with_capacity(64 * 1024, temporary);
    write(&mut buffered).map_err(failed)?;
    let temporary = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    temporary.as_file().sync_all().map_err(failed)?;
    let written = temporary.into_temp_path().keep().map_err(|error| failed(error.error))?;
    let replaced = patiently(|error| cfg!(windows) && is_in_use(error), || std::fs::rename(&written, path));
    replaced.inspect_err(|_| drop(std::fs::remove_file(&written))).map_err(failed)
}

/// Like [`write_atomically`], but readable only by the owner, and only if no file exists at `path`. Returns whether the
/// file was written.
///
/// # Errors
///
/// Returns an error if a step fails; there is then no file.
pub(super) fn write_once(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<bool, StoreError> {
    let written = || {
        let mut temporary = tempfile::NamedTempFile::new_in(directory_of(path))?;
        write(&mut temporary)?;
        temporary.as_file().sync_all()?;
        match temporary.persist_noclobber(path) {
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            persisted => persisted.map(|_| true).map_err(|error| error.error),
        }
    };
    written().map_err(|source| StoreError::Write { path: path.to_owned(), source })
}

/// The directory of a file; `.` for a bare file name.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The number of attempts to replace a file that is in use.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Windows refuses to replace a file that another program, such as a virus scanner, has open without sharing.
fn is_in_use(error: &std::io::Error) -> bool {
    // ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION
    matches!(error.raw_os_error(), Some(5 | 32))
}

fn patiently(
    passes: impl Fn(&std::io::Error) -> bool,
    action: impl Fn() -> std::io::Result<()>,
) -> std::io::Result<()> {
    for _ in 1..ATTEMPTS {
        match action() {
            Err(error) if passes(&error) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    action()
}

/// Gives a new file to the owner of the replaced one. Only a superuser may do so, and nobody else needs to, because
/// others replace their own files.
#[cfg(unix)]
fn give_to_owner_of(replaced: &std::fs::Metadata, file: &std::fs::File) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_ours = file.metadata().is_ok_and(|ours| (ours.uid(), ours.gid()) == (replaced.uid(), replaced.gid()));
    if !is_ours {
        drop(fchown(file, Some(replaced.uid()), Some(replaced.gid())));
    }
}

const TEMPORARY_SUFFIX: &str = ".tmp";

/// The prefix of a temporary file's name. Contains the target's name, so that leftovers of a killed process can be
/// recognized.
fn temporary_prefix(path: &Path) -> String {
    format!(".{}-", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Removes the temporary files of processes that were killed while replacing the file at `path`. The caller must be the
/// only writer.
pub(super) fn remove_leftovers(path: &Path) {
    let prefix = temporary_prefix(path);
    for file in std::fs::read_dir(directory_of(path)).into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(TEMPORARY_SUFFIX) {
            // A remaining file is harmless.
            drop(std::fs::remove_file(file.path()));
        }
    }
}

/// Whether a pipe, a socket or a device is at `path`.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens a file, but refuses pipes, sockets and devices, because opening a pipe blocks until it has a writer.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file"));
    }
    File::open(path)
}

/// The text before the [`JournalMark`] in a state file.
const MARK_KEY: &[u8] = b"\n  \"journal\": ";
/// The maximum distance of the mark from the end of the file, in bytes.
const MARK_BYTES: u64 = 256;

/// The interval between saves, unless a caller is waiting for a save.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Saver {
    orders: Sender<SaveOrder>,
    failure: Arc<Mutex<Option<StoreError>>>,
    state_path: PathBuf,
    _thread: JoinHandle<()>,
}

/// What to save: a state, and the extent of the journal from which it was folded.
#[derive(Debug)]
struct SaveOrder {
    debate: Debate,
    mark: JournalMark,
    done: Option<oneshot::Sender<Result<(), StoreError>>>,
}

impl Saver {
    /// Starts the saving thread, which ends once this value is dropped and everything is saved.
    pub(super) fn start(journal: File, state_path: PathBuf) -> Self {
        let (orders, received) = channel();
        let failure = Arc::new(Mutex::new(None));
        let report = Arc::clone(&failure);
        let path = state_path.clone();
        let thread = spawn_blocking(move || work(&received, &journal, &path, &report));
        Self { orders, failure, state_path, _thread: thread }
    }

    /// Saves `debate` at the next interval, unless a newer state replaces it first.
    ///
    /// # Errors
    ///
    /// Returns an error if an earlier save failed.
    pub(super) fn save(&self, debate: Debate, mark: JournalMark) -> Result<(), StoreError> {
        if let Some(failed) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failed);
        }
        // Sending fails only if the thread has died, which `flush` reports.
        drop(self.orders.send(SaveOrder { debate, mark, done: None }));
        Ok(())
    }

    /// Saves `debate` and waits until it is on disk. Success clears an earlier failure.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved.
    pub(super) async fn flush(&self, debate: Debate, mark: JournalMark) -> Result<(), StoreError> {
        let (done, saved) = oneshot::channel();
        drop(self.orders.send(SaveOrder { debate, mark, done: Some(done) }));
        saved.await.unwrap_or_else(|_| {
            let source = std::io::Error::other("the thread that saves the debate stopped unexpectedly");
            Err(StoreError::Write { path: self.state_path.clone(), source })
        })
    }
}

fn work(orders: &Receiver<SaveOrder>, journal: &File, path: &Path, failure: &Mutex<Option<StoreError>>) {
    let mut next = Instant::now();
    while let Ok(mut newest) = orders.recv() {
        while newest.done.is_none() {
            // When the sender is dropped, the last state is saved without delay.
            let Ok(newer) = orders.recv_timeout(next.saturating_duration_since(Instant::now())) else { break };
            newest = newer;
        }
        next = Instant::now() + INTERVAL;
        let saved = save(journal, path, &newest);
        match newest.done {
            Some(done) => {
                if saved.is_ok() {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                // The caller may have stopped waiting.
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

fn save(journal: &File, path: &Path, order: &SaveOrder) -> Result<(), StoreError> {
    journal.sync_data().map_err(|source| StoreError::Write { path: path.with_extension("events.jsonl"), source })?;
    write_state(path, &order.debate, &order.mark)
}

/// How far the journal extended when the state file was saved; `None` if the file is missing or has no mark.
pub(super) fn read_mark(path: &Path) -> Option<JournalMark> {
    // Reads only the mark and skips all other values.
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

/// The mark at the end of a state file of this program, without reading the whole file.
fn mark_at_end(path: &Path) -> Option<JournalMark> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MARK_BYTES))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    // JSON strings contain no line breaks, so this must be a top-level key.
    let start = memmem::rfind(&end, MARK_KEY)? + MARK_KEY.len();
    serde_json::from_slice(end[start..].trim_ascii_end().strip_suffix(b"}")?).ok()
}

pub(super) fn write_state(path: &Path, debate: &Debate, journal: &JournalMark) -> Result<(), StoreError> {
    #[derive(Serialize)]
    struct File<'a> {
        #[serde(flatten)]
        state: DebateFile<'a>,
        journal: &'a JournalMark,
    }

    let file = File { state: DebateFile::of(debate), journal };
    write_atomically(path, Readers::Owner, |out| {
        serde_json::to_writer_pretty(&mut *out, &file)?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_use_is_replaced_when_it_is_free_and_other_errors_are_final() {
        let attempts = std::cell::Cell::new(0);
        let failing = |code: i32, until: u32| {
            attempts.set(0);
            patiently(is_in_use, || {
                attempts.set(attempts.get() + 1);
                if attempts.get() < until { Err(std::io::Error::from_raw_os_error(code)) } else { Ok(()) }
            })
        };
        assert!(failing(32, 3).is_ok() && attempts.get() == 3);
        assert!(failing(2, 3).is_err() && attempts.get() == 1);
        assert!(failing(5, u32::MAX).is_err() && attempts.get() == ATTEMPTS);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        write_atomically(&path, Readers::Owner, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, Readers::Owner, |out| {
            out.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_leftovers_of_the_file_itself_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let name = |name: &str| directory.path().join(name);
        for file in [".a.json-x1.tmp", ".b.json-x1.tmp", "a.json"] {
            std::fs::write(name(file), "").unwrap();
        }
        remove_leftovers(&name("a.json"));
        assert!(!name(".a.json-x1.tmp").exists());
        assert!(name(".b.json-x1.tmp").exists() && name("a.json").exists());
    }
}
