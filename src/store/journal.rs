//! The journal: one event a line, append-only, locked while a debate runs.
//!
//! Each line carries the SHA-256 of the line before, so that a later change of any line shows.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::debate::Recorded;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be opened or created.
    #[error("cannot open the journal {path}")]
    Open {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process runs this debate.
    #[error("the debate is running in another process (the journal {path} is locked)")]
    Locked {
        /// The journal.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read the journal {path}")]
    Read {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not an event.
    #[error("line {line} of the journal {path} is not an event")]
    Line {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// A line does not follow the line before it.
    #[error("line {line} of the journal {path} does not follow line {}: one of them was changed", line - 1)]
    Chain {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// An event cannot be appended.
    #[error("cannot append to the journal {path}")]
    Append {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// An open journal. Dropping it releases the lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    previous: String,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    recorded: &'a Recorded,
    prev: &'a str,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    prev: String,
}

/// What a journal holds.
#[derive(Debug)]
pub struct Contents {
    /// The events.
    pub events: Vec<Recorded>,
    /// Set when a last line was cut short by a crash and left out.
    pub cut_short: bool,
    length: u64,
    last_hash: String,
}

impl Journal {
    /// Creates the journal of a new debate and locks it.
    ///
    /// # Errors
    /// When the file exists (`source` is then of kind `AlreadyExists`) or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let open = OpenOptions::new().append(true).create_new(true).open(path);
        let file = open.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
        lock(&file, path)?;
        Ok(Self { file, path: path.to_owned(), previous: String::new() })
    }

    /// Opens the journal of a saved debate and locks it; a last line cut short by a crash is removed from the file.
    ///
    /// # Errors
    /// When it is locked by another process, unreadable, or damaged.
    pub fn reopen(path: &Path) -> Result<(Self, Contents), JournalError> {
        let open = OpenOptions::new().read(true).append(true).open(path);
        let mut file = open.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
        lock(&file, path)?;
        let contents = parse(&file, path)?;
        let append = |source| JournalError::Append { path: path.to_owned(), source };
        file.set_len(contents.length).map_err(append)?;
        file.seek(std::io::SeekFrom::End(0)).map_err(append)?;
        Ok((Self { file, path: path.to_owned(), previous: contents.last_hash.clone() }, contents))
    }

    /// Appends an event with one write, so that it survives the end of this process, however that comes.
    ///
    /// # Errors
    /// When it cannot be written. What was written of it is removed again, as far as that is possible.
    pub fn append(&mut self, recorded: &Recorded) -> Result<(), JournalError> {
        let failed = |source| JournalError::Append { path: self.path.clone(), source };
        let line = Line { recorded, prev: &self.previous };
        let mut bytes = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
        let hash = hash(&bytes);
        bytes.push(b'\n');
        let before = self.file.metadata().map_err(failed)?.len();
        if let Err(source) = self.file.write_all(&bytes) {
            // A cut line would be dropped on reload anyway; removing it keeps the file readable for other programs.
            drop(self.file.set_len(before));
            return Err(failed(source));
        }
        self.previous = hash;
        Ok(())
    }

    /// A handle for syncing the journal to disk from another thread.
    ///
    /// # Errors
    /// When the handle cannot be made.
    pub fn sync_handle(&self) -> Result<File, JournalError> {
        self.file.try_clone().map_err(|source| JournalError::Append { path: self.path.clone(), source })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads a journal without locking it.
///
/// # Errors
/// When it is unreadable or damaged.
pub fn read_journal(path: &Path) -> Result<Contents, JournalError> {
    let file = File::open(path).map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
    parse(&file, path)
}

fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::Locked { path: path.to_owned() },
        TryLockError::Error(source) => JournalError::Open { path: path.to_owned(), source },
    })
}

fn parse(file: &File, path: &Path) -> Result<Contents, JournalError> {
    let mut reader = BufReader::new(file);
    let mut contents = Contents { events: Vec::new(), cut_short: false, length: 0, last_hash: String::new() };
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|source| JournalError::Read { path: path.to_owned(), source })? == 0 {
            break;
        }
        let Some(text) = bytes.strip_suffix(b"\n") else {
            contents.cut_short = true;
            break;
        };
        let damaged = |source| JournalError::Line { path: path.to_owned(), line, source };
        let link: Link = serde_json::from_slice(text).map_err(damaged)?;
        if link.prev != contents.last_hash {
            return Err(JournalError::Chain { path: path.to_owned(), line });
        }
        contents.events.push(serde_json::from_slice(text).map_err(damaged)?);
        contents.last_hash = hash(text);
        contents.length += bytes.len() as u64;
    }
    Ok(contents)
}

fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::{Event, Node, Timestamp};

    fn event(seq: u64) -> Recorded {
        Recorded { seq, at: Timestamp::now(), event: Event::NodeEntered { node: Node::Proposal } }
    }

    fn journal_of(count: u64, path: &Path) -> Vec<Recorded> {
        let mut journal = Journal::create(path).unwrap();
        let events: Vec<_> = (1..=count).map(event).collect();
        for event in &events {
            journal.append(event).unwrap();
        }
        events
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        let events = journal_of(3, &path);
        assert_eq!(read_journal(&path).unwrap().events, events);
    }

    #[test]
    fn a_cut_last_line_is_dropped_and_writing_goes_on_behind_the_last_whole_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        let mut events = journal_of(2, &path);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":3,\"at").unwrap();
        let (mut journal, contents) = Journal::reopen(&path).unwrap();
        assert!(contents.cut_short);
        assert_eq!(contents.events, events);
        events.push(event(3));
        journal.append(&events[2]).unwrap();
        drop(journal);
        assert_eq!(read_journal(&path).unwrap().events, events);
    }

    #[test]
    fn a_second_process_is_told_that_the_debate_runs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        let _running = Journal::create(&path).unwrap();
        assert!(matches!(Journal::reopen(&path), Err(JournalError::Locked { .. })));
    }

    #[test]
    fn a_changed_line_breaks_the_chain() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        journal_of(3, &path);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("proposal", "critique", 1)).unwrap();
        assert!(matches!(read_journal(&path), Err(JournalError::Chain { line: 2, .. })));
    }
}
