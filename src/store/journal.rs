//! The journal: one event a line, append-only, locked while a debate runs.
//!
//! Each line carries the SHA-256 of the line before and one of its own, so that a later change of any line shows.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::debate::Recorded;

use super::line::{LineFault, is_cut, open, seal};

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
    #[error("line {line} of the journal {path} does not follow {}: lines were changed, removed, added or moved", before(*line))]
    Chain {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A line is not as it was written.
    #[error("line {line} of the journal {path} was changed: its hash does not fit")]
    Altered {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A line does not end as lines do.
    #[error("line {line} of the journal {path} was changed: its hash is not where it belongs")]
    Unsealed {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// What is behind the last line break is not the beginning of a line.
    #[error("the journal {path} was changed at its end: behind line {line} is something that is no line")]
    End {
        /// The journal.
        path: PathBuf,
        /// The last line, counted from 1; 0 when there is none.
        line: usize,
    },
    /// It is shorter than when the state was saved.
    #[error(
        "the end of the journal {path} is missing: it has {found} events, and had {saved} when the state was saved"
    )]
    EndMissing {
        /// The journal.
        path: PathBuf,
        /// How many events there are.
        found: u64,
        /// How many there were.
        saved: u64,
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

impl JournalError {
    /// Whether the journal is not as it was written.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        self.bad_line().is_some() || matches!(self, Self::EndMissing { .. })
    }

    /// The first line that is not as it should be, counted from 1.
    #[must_use]
    pub fn bad_line(&self) -> Option<usize> {
        match self {
            Self::Line { line, .. }
            | Self::Chain { line, .. }
            | Self::Altered { line, .. }
            | Self::Unsealed { line, .. } => Some(*line),
            Self::End { line, .. } => Some(line + 1),
            Self::Open { .. }
            | Self::Locked { .. }
            | Self::Read { .. }
            | Self::EndMissing { .. }
            | Self::Append { .. } => None,
        }
    }

    fn of_line(path: &Path, line: usize, fault: LineFault) -> Self {
        let path = path.to_owned();
        match fault {
            LineFault::Altered => Self::Altered { path, line },
            LineFault::Unsealed => Self::Unsealed { path, line },
            LineFault::Chain => Self::Chain { path, line },
            LineFault::NotAnEvent(source) => Self::Line { path, line, source },
        }
    }
}

fn before(line: usize) -> String {
    if line == 1 { "the beginning".to_owned() } else { format!("line {}", line - 1) }
}

/// An open journal. Dropping it releases the lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    mark: JournalMark,
}

/// How far a journal goes. Saved with the state, so that a missing end shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JournalMark {
    /// How many events there are.
    pub events: u64,
    /// The SHA-256 of the last line without its line break, in hexadecimal; empty when there is none.
    pub sha256: String,
}

/// What a journal holds.
#[derive(Debug)]
pub struct Contents {
    /// The events.
    pub events: Vec<Recorded>,
    /// Set when a last line was cut short by a crash and left out.
    pub cut_short: bool,
    /// The SHA-256 of each event's line.
    pub hashes: Vec<String>,
    length: u64,
}

impl Contents {
    fn mark(&self) -> JournalMark {
        let sha256 = self.hashes.last().cloned().unwrap_or_default();
        JournalMark { events: self.events.len() as u64, sha256 }
    }
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
        Ok(Self { file, path: path.to_owned(), mark: JournalMark::default() })
    }

    /// Opens the journal of a saved debate and locks it; a last line cut short by a crash is removed from the file.
    /// `known` is how many events it is known to have held.
    ///
    /// # Errors
    /// When it is locked by another process, unreadable, or damaged; nothing is written then.
    pub fn reopen(path: &Path, known: u64) -> Result<(Self, Contents), JournalError> {
        let open = OpenOptions::new().read(true).append(true).open(path);
        let mut file = open.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
        lock(&file, path)?;
        let contents = parse(&file, path)?;
        let mark = contents.mark();
        if mark.events < known {
            return Err(JournalError::EndMissing { path: path.to_owned(), found: mark.events, saved: known });
        }
        let append = |source| JournalError::Append { path: path.to_owned(), source };
        file.set_len(contents.length).map_err(append)?;
        file.seek(std::io::SeekFrom::End(0)).map_err(append)?;
        Ok((Self { file, path: path.to_owned(), mark }, contents))
    }

    /// Appends an event with one write, so that it survives the end of this process, however that comes.
    ///
    /// # Errors
    /// When it cannot be written. What was written of it is removed again, as far as that is possible.
    pub fn append(&mut self, recorded: &Recorded) -> Result<(), JournalError> {
        let failed = |source| JournalError::Append { path: self.path.clone(), source };
        let line = seal(recorded, &self.mark.sha256).map_err(|error| failed(error.into()))?;
        let before = self.file.metadata().map_err(failed)?.len();
        if let Err(source) = self.file.write_all(&line.bytes) {
            // A cut line would be dropped on reload anyway; removing it keeps the file readable for other programs.
            drop(self.file.set_len(before));
            return Err(failed(source));
        }
        self.mark = JournalMark { events: self.mark.events + 1, sha256: line.hash };
        Ok(())
    }

    /// How far it goes.
    #[must_use]
    pub fn mark(&self) -> &JournalMark {
        &self.mark
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
    let (contents, damage) = scan(file, path)?;
    damage.map_or(Ok(contents), Err)
}

/// What is before the first line that is damaged, and that damage.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn scan(file: &File, path: &Path) -> Result<(Contents, Option<JournalError>), JournalError> {
    let mut reader = BufReader::new(file);
    let mut contents = Contents { events: Vec::new(), cut_short: false, hashes: Vec::new(), length: 0 };
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|source| JournalError::Read { path: path.to_owned(), source })? == 0 {
            break;
        }
        let Some(text) = bytes.strip_suffix(b"\n") else {
            if !is_cut(&bytes) {
                return Ok((contents, Some(JournalError::End { path: path.to_owned(), line: line - 1 })));
            }
            contents.cut_short = true;
            break;
        };
        let previous = contents.hashes.last().map(String::as_str).unwrap_or_default();
        let checked = match open(text, previous) {
            Ok(checked) => checked,
            Err(fault) => return Ok((contents, Some(JournalError::of_line(path, line, fault)))),
        };
        contents.events.push(checked.recorded);
        contents.hashes.push(checked.hash);
        contents.length += bytes.len() as u64;
    }
    Ok((contents, None))
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
        let (mut journal, contents) = Journal::reopen(&path, 0).unwrap();
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
        assert!(matches!(Journal::reopen(&path, 0), Err(JournalError::Locked { .. })));
    }

    /// A journal as the version before wrote it, without hashes of the lines' own.
    fn older(text: &str) -> String {
        let mut previous = String::new();
        let mut older = String::new();
        for line in text.lines() {
            let event: Recorded = serde_json::from_str(line).unwrap();
            let mut value = serde_json::to_string(&event).unwrap();
            value.pop();
            let line = format!("{value},\"prev\":\"{previous}\"}}");
            previous = hex_of(&line);
            older += &(line + "\n");
        }
        older
    }

    fn hex_of(line: &str) -> String {
        use sha2::{Digest, Sha256};
        crate::store::line::hex(Sha256::new_with_prefix(line))
    }

    fn faults(text: &[u8]) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        std::fs::write(&path, text).unwrap();
        read_journal(&path).err().map(|error| error.to_string().replace(&path.display().to_string(), "a"))
    }

    fn journal_text(count: u64) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        journal_of(count, &path);
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn every_flip_of_every_byte_is_found() {
        let whole = journal_text(3).into_bytes();
        assert_eq!(faults(&whole), None);
        for place in 0..whole.len() {
            for pattern in (0..8).map(|bit| 1 << bit).chain([0x2a, 0x0a, 0x03, 0x07, 0xff]) {
                let mut flipped = whole.clone();
                flipped[place] ^= pattern;
                assert!(faults(&flipped).is_some(), "byte {place} ^ {pattern:#x}");
            }
        }
    }

    #[test]
    fn what_was_done_to_a_journal_is_named() {
        let text = journal_text(3);
        let lines: Vec<&str> = text.lines().collect();
        let joined = |lines: &[&str]| lines.join("\n") + "\n";
        let named = |text: &str| faults(text.as_bytes()).unwrap();
        let changed = text.replacen("\"seq\":3", "\"seq\":4", 1);
        let unsealed = text.replacen("\"hash\"", "\"hush\"", 1);
        let found = [
            named(&changed),
            named(&unsealed),
            named(&joined(&[lines[0], lines[2]])),
            named(&joined(&[lines[1], lines[2]])),
            named(&joined(&[lines[0], lines[2], lines[1]])),
            named(&joined(&[lines[0], lines[1], lines[1], lines[2]])),
            named(&text.replacen('\n', " ", 1)),
            named(&(text.trim_end().to_owned() + " ")),
            named(&(text.clone() + "\n")),
        ];
        insta::assert_snapshot!(found.join("\n"), @"
        line 3 of the journal a was changed: its hash does not fit
        line 1 of the journal a was changed: its hash is not where it belongs
        line 2 of the journal a does not follow line 1: lines were changed, removed, added or moved
        line 1 of the journal a does not follow the beginning: lines were changed, removed, added or moved
        line 2 of the journal a does not follow line 1: lines were changed, removed, added or moved
        line 3 of the journal a does not follow line 2: lines were changed, removed, added or moved
        line 1 of the journal a was changed: its hash does not fit
        the journal a was changed at its end: behind line 2 is something that is no line
        line 4 of the journal a is not an event
        ");
    }

    #[test]
    fn a_line_may_be_cut_anywhere() {
        let whole = journal_text(2);
        let first = whole.find('\n').unwrap() + 1;
        for length in first + 1..whole.len() {
            assert_eq!(faults(&whole.as_bytes()[..length]), None, "{length}");
        }
        // Some file systems leave zeros where a line was to be.
        assert_eq!(faults(format!("{}\0\0\0", &whole[..first + 20]).as_bytes()), None);
        assert_eq!(faults(format!("{}\0\0\0", &whole[..first]).as_bytes()), None);
    }

    #[test]
    fn the_numbers_of_a_line_may_be_cut_too() {
        for rest in ["{\"score\":71.", "{\"score\":-", "{\"score\":1e", "{\"score\":1e-", "{\"a\":\"\\u00", "{\"a\":tr"]
        {
            assert!(is_cut(rest.as_bytes()), "{rest}");
        }
        assert!(is_cut(&"{\"a\":\"é".as_bytes()[..7]));
        for rest in ["{} ", "{}\0", "{}x", "x", " ", "{x"] {
            assert!(!is_cut(rest.as_bytes()), "{rest:?}");
        }
    }

    #[test]
    fn a_journal_of_the_version_before_is_read_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.events.jsonl");
        std::fs::write(&path, older(&journal_text(3))).unwrap();
        let (mut journal, contents) = Journal::reopen(&path, 0).unwrap();
        assert_eq!(contents.events.len(), 3);
        journal.append(&event(4)).unwrap();
        assert_eq!(journal.mark().events, 4);
        drop(journal);
        let contents = read_journal(&path).unwrap();
        assert_eq!(contents.events.len(), 4);

        // In all but its last line every change shows; there a change of the event alone does not.
        let text = older(&journal_text(3));
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        for place in (0..last).chain(text.find("\"prev\"").unwrap() - 1..last) {
            let mut flipped = text.clone().into_bytes();
            flipped[place] ^= 1;
            assert!(faults(&flipped).is_some(), "byte {place}");
        }
    }
}
