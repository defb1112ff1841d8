//! The journal: one event per line, append-only, locked while a debate runs. Each line contains its own SHA-256 and
//! that of the previous line, which reveals later changes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use memchr::memchr;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::event::{FORMAT_VERSION, Recorded};
use crate::live::EventLog;
use dialectic_base::encoding::hexadecimal;

use super::lock::{FileLock, try_lock};
use super::snapshot::{is_special, open_regular};
use super::{Directory, Readers, StoreError, write_atomically};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot open the journal {path}")]
    Open { path: PathBuf, source: std::io::Error },
    #[error("the journal {path} is a pipe, a socket or a device, not a file")]
    NotAFile { path: PathBuf },
    #[error("the debate is running in another process (the journal {path} is locked)")]
    Locked { path: PathBuf },
    #[error("cannot read the journal {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "the journal {path} was written by a newer version (format {found}; this version reads up to {FORMAT_VERSION})"
    )]
    Newer { path: PathBuf, found: u32 },
    #[error("line {line} of the journal {path} is not an event")]
    Line {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        source: serde_json::Error,
    },
    #[error("line {line} of the journal {path} {}", fault.in_words(*line))]
    Altered {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        fault: LineFault,
    },
    #[error("the end of the journal {path} was changed: the text after line {line} is not a journal line")]
    End {
        path: PathBuf,
        /// The number of the last line; 0 if there is none.
        line: usize,
    },
    #[error("the journal {path} is incomplete: it has {found} events, but had {saved} at the last save")]
    EndMissing { path: PathBuf, found: u64, saved: u64 },
    #[error("the journal {path} was moved, removed or replaced while the debate was running")]
    Displaced { path: PathBuf },
    #[error("the journal {path} was changed by another program while the debate was running")]
    Changed { path: PathBuf },
    #[error("cannot append to the journal {path}")]
    Append { path: PathBuf, source: std::io::Error },
}

impl JournalError {
    /// The number of the first damaged line, from 1.
    pub fn bad_line(&self) -> Option<usize> {
        match self {
            Self::Line { line, .. } | Self::Altered { line, .. } => Some(*line),
            Self::End { line, .. } => Some(line + 1),
            _ => None,
        }
    }

    fn of_line(path: &Path, line: usize, fault: LineFault) -> Self {
        let path = path.to_owned();
        match fault {
            LineFault::NotAnEvent(source) => Self::Line { path, line, source },
            fault => Self::Altered { path, line, fault },
        }
    }
}

fn foreign_format(line: &[u8], path: &Path) -> Option<JournalError> {
    let found = u32::try_from(number(line, "formatVersion")?).ok()?;
    (found > FORMAT_VERSION).then(|| JournalError::Newer { path: path.to_owned(), found })
}

/// Reads a whole number from a field of a line. Ignores the types of all other fields, because a newer version may have
/// changed them.
fn number(line: &[u8], field: &str) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get(field)?.as_u64()
}

/// An open and locked journal. Dropping it releases the lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    _lock: FileLock,
    path: PathBuf,
    mark: JournalMark,
    /// The length of the file, in bytes.
    length: u64,
}

/// How far a journal extends. Saved with the state to detect truncation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JournalMark {
    pub events: u64,
    /// The SHA-256 of the last line without its line break, in hexadecimal; empty if there are no lines.
    pub sha256: String,
}

#[derive(Debug)]
pub struct JournalContents {
    pub events: Vec<Recorded>,
    /// Set if a crash cut off the last line, whose event is left out.
    pub cut_short: bool,
    /// The SHA-256 of each event's line, in hexadecimal.
    pub hashes: Vec<String>,
    length: u64,
}

impl JournalContents {
    fn mark(&self) -> JournalMark {
        let sha256 = self.hashes.last().cloned().unwrap_or_default();
        JournalMark { events: self.events.len() as u64, sha256 }
    }
}

impl Journal {
    /// Creates and locks the journal of a new debate.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists (`source` is then of kind `AlreadyExists`) or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let mut options = appending();
        options.create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = options.open(path);
        let file = open.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
        let lock = lock(&file, path)?;
        Ok(Self { file, _lock: lock, path: path.to_owned(), mark: JournalMark::default(), length: 0 })
    }

    /// Opens and locks the journal of a saved debate, and removes a last line that a crash cut off. `known` is the
    /// number of events known to exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal is locked by another process, unreadable or damaged; nothing is written then.
    pub fn reopen(path: &Path, known: u64) -> Result<(Self, JournalContents), JournalError> {
        if is_special(path) {
            return Err(JournalError::NotAFile { path: path.to_owned() });
        }
        let open = appending().open(path);
        let mut file = open.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
        let lock = lock(&file, path)?;
        let contents = parse(&file, path)?;
        let mark = contents.mark();
        if mark.events < known {
            return Err(JournalError::EndMissing { path: path.to_owned(), found: mark.events, saved: known });
        }
        let append = |source| JournalError::Append { path: path.to_owned(), source };
        file.set_len(contents.length).map_err(append)?;
        file.seek(std::io::SeekFrom::End(0)).map_err(append)?;
        Ok((Self { file, _lock: lock, path: path.to_owned(), mark, length: contents.length }, contents))
    }

    /// Appends an event with a single write, so that it survives a crash of this process. Returns the line.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be written, or another program wrote to the file. An incomplete line is
    /// removed if possible.
    pub fn append(&mut self, recorded: &Recorded) -> Result<Vec<u8>, JournalError> {
        let failed = |source| JournalError::Append { path: self.path.clone(), source };
        let (line, sha256) = seal(recorded, &self.mark.sha256).map_err(|error| failed(error.into()))?;
        if self.file.metadata().map_err(failed)?.len() != self.length {
            return Err(JournalError::Changed { path: self.path.clone() });
        }
        if let Err(source) = self.file.write_all(&line) {
            // Loading ignores an incomplete line; removing it keeps the file readable for other programs.
            drop(self.file.set_len(self.length));
            return Err(failed(source));
        }
        self.length += line.len() as u64;
        self.mark = JournalMark { events: self.mark.events + 1, sha256 };
        Ok(line)
    }

    pub fn mark(&self) -> &JournalMark {
        &self.mark
    }

    /// A handle for syncing the journal from another thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the handle cannot be created.
    pub fn sync_handle(&self) -> Result<File, JournalError> {
        self.file.try_clone().map_err(|source| JournalError::Append { path: self.path.clone(), source })
    }

    /// Checks that the path still refers to this file, since writes to a removed file succeed but are lost.
    ///
    /// # Errors
    ///
    /// Returns an error if the file was moved, removed or replaced.
    pub fn check_place(&self) -> Result<(), JournalError> {
        let (open, found) = (self.file.metadata(), fs::metadata(&self.path));
        let is_here = open.is_ok_and(|open| found.is_ok_and(|found| is_same(&open, &found)));
        if is_here { Ok(()) } else { Err(JournalError::Displaced { path: self.path.clone() }) }
    }

    /// Restores a removed journal and its directory, unless something replaced it. The new file is not locked.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn restore(&self) -> Result<(), StoreError> {
        let is_removed =
            !fs::exists(&self.path).unwrap_or(true) && self.file.metadata().is_ok_and(|open| is_unlinked(&open));
        if is_removed { restore(&self.file, &self.path) } else { Ok(()) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks the journal at `path`, even a damaged one, until the returned pair is dropped.
///
/// # Errors
///
/// Returns an error if another process is running the debate, or the journal cannot be opened.
pub(super) fn hold(path: &Path) -> Result<(File, FileLock), JournalError> {
    let file = open_journal(path)?;
    let lock = lock(&file, path)?;
    Ok((file, lock))
}

/// Options to append to a journal, to read it (so that it can be restored) and to truncate an incomplete line. On
/// Windows, a file opened for appending cannot be truncated, so it is opened for plain writing: the caller must seek to
/// the end, and the lock keeps other writers out.
fn appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    if cfg!(windows) {
        options.write(true)
    } else {
        options.append(true)
    };
    options
}

pub(super) fn open_journal(path: &Path) -> Result<File, JournalError> {
    if is_special(path) {
        return Err(JournalError::NotAFile { path: path.to_owned() });
    }
    File::open(path).map_err(|source| JournalError::Open { path: path.to_owned(), source })
}

/// The number of bytes at the end of a journal that are searched first for the last line.
const LAST_BYTES: u64 = 64 * 1024;
/// The maximum number of bytes to search; a line followed by that many NULs is not found.
const MOST_LAST_BYTES: u64 = 2 * MOST_ZEROS as u64;

/// The number of the last event in the journal at `path`; `None` if there is no complete line. Reads only the end of
/// the file.
///
/// # Errors
///
/// Returns an error if the file cannot be read.
pub(super) fn last_event(path: &Path) -> std::io::Result<Option<u64>> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut looked = LAST_BYTES;
    loop {
        file.seek(std::io::SeekFrom::Start(length.saturating_sub(looked)))?;
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        let mut lines = end.split(|byte| *byte == b'\n').rev();
        // The text after the last line break is incomplete, and the first line may be cut off at its start.
        let last = lines.nth(1).and_then(|line| number(line, "seq"));
        if last.is_some() || looked >= length.min(MOST_LAST_BYTES) {
            return Ok(last);
        }
        looked = looked.saturating_mul(8).min(MOST_LAST_BYTES);
    }
}

/// The maximum number of retries; if all fail, another process is assumed to hold the lock.
const LOCK_MOMENTS: u32 = 20;
const LOCK_MOMENT: std::time::Duration = std::time::Duration::from_millis(5);

/// Reads a journal without locking it.
///
/// # Errors
///
/// Returns an error if the journal is unreadable or damaged.
pub fn read_journal(path: &Path) -> Result<JournalContents, JournalError> {
    parse(&open_journal(path)?, path)
}

/// Locks the journal. Retries, because a child process that is just starting briefly holds its parent's locks.
fn lock(file: &File, path: &Path) -> Result<FileLock, JournalError> {
    for moment in 0..=LOCK_MOMENTS {
        if moment > 0 {
            std::thread::sleep(LOCK_MOMENT);
        }
        let locked = try_lock(file, path);
        if let Some(lock) = locked.map_err(|source| JournalError::Open { path: path.to_owned(), source })? {
            return Ok(lock);
        }
    }
    Err(JournalError::Locked { path: path.to_owned() })
}

fn parse(file: &File, path: &Path) -> Result<JournalContents, JournalError> {
    let (contents, damage) = scan(file, path)?;
    damage.map_or(Ok(contents), Err)
}

/// Reads the journal up to the first damaged line. Returns its contents, and the damage if there is any.
///
/// # Errors
///
/// Returns an error if the journal cannot be read.
pub(super) fn scan(file: &File, path: &Path) -> Result<(JournalContents, Option<JournalError>), JournalError> {
    let mut reader = BufReader::new(file);
    let mut contents = JournalContents { events: Vec::new(), cut_short: false, hashes: Vec::new(), length: 0 };
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = read_line(&mut reader, &mut bytes);
        match read.map_err(|source| JournalError::Read { path: path.to_owned(), source })? {
            None => return Ok((contents, Some(JournalError::End { path: path.to_owned(), line: line - 1 }))),
            Some(0) => break,
            Some(_) => {}
        }
        let Some(text) = bytes.strip_suffix(b"\n") else {
            if !is_cut(&bytes) {
                return Ok((contents, Some(JournalError::End { path: path.to_owned(), line: line - 1 })));
            }
            contents.cut_short = true;
            break;
        };
        // Check the format first, because a newer one may be unreadable.
        if line == 1
            && let Some(error) = foreign_format(text, path)
        {
            return Ok((contents, Some(error)));
        }
        let previous = contents.hashes.last().map(String::as_str).unwrap_or_default();
        match open(text, previous) {
            Ok(recorded) => contents.events.push(recorded),
            Err(fault) => return Ok((contents, Some(JournalError::of_line(path, line, fault)))),
        }
        // The next line must repeat this hash.
        contents.hashes.push(hex(Sha256::new_with_prefix(text)));
        contents.length += bytes.len() as u64;
    }
    Ok((contents, None))
}

#[derive(Debug)]
pub enum LineFault {
    /// The line's own hash does not match.
    Altered,
    /// The line does not end with its own hash.
    Unsealed,
    /// The line's `prev` is not the hash of the previous line.
    Chain,
    NotAnEvent(serde_json::Error),
}

impl LineFault {
    /// Completes the sentence `line 7 of the journal …`.
    pub(super) fn in_words(&self, line: usize) -> String {
        let before = if line == 1 { "the beginning".to_owned() } else { format!("line {}", line - 1) };
        match self {
            Self::Altered => "was changed: its hash does not match".to_owned(),
            Self::Unsealed => "was changed: its hash is in the wrong place".to_owned(),
            Self::Chain => format!("does not follow {before}: lines were changed, removed, added or moved"),
            Self::NotAnEvent(_) => "is not an event".to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Link {
    prev: String,
}

const HEX_LENGTH: usize = 64;
const PREVIOUS_HASH: &[u8] = b",\"prev\":\"";
const OWN_HASH: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";

/// Builds an event's line, with the line break, and the line's hash, which the next line repeats. `previous` is the
/// hash of the line before; empty for the first line.
pub(super) fn seal(recorded: &Recorded, previous: &str) -> serde_json::Result<(Vec<u8>, String)> {
    let mut bytes = serde_json::to_vec(recorded)?;
    // The hashes go before the closing brace.
    bytes.pop();
    bytes.extend([PREVIOUS_HASH, previous.as_bytes(), b"\""].concat());
    // Computes both hashes in one pass over the event.
    let mut hasher = Sha256::new_with_prefix(&bytes);
    let own = hex(hasher.clone());
    let rest = [OWN_HASH, own.as_bytes(), END].concat();
    hasher.update(&rest);
    bytes.extend(rest);
    bytes.push(b'\n');
    Ok((bytes, hex(hasher)))
}

/// `text` is the line without its line break; `previous` is the hash of the line before.
pub(super) fn open(text: &[u8], previous: &str) -> Result<Recorded, LineFault> {
    let own = own_hash(text);
    if let Some((content, hash)) = own
        && hex(Sha256::new_with_prefix(content)).as_bytes() != hash
    {
        return Err(LineFault::Altered);
    }
    let link: Link = serde_json::from_slice(text).map_err(LineFault::NotAnEvent)?;
    if link.prev != previous {
        return Err(LineFault::Chain);
    }
    if own.is_none() {
        return Err(LineFault::Unsealed);
    }
    serde_json::from_slice(text).map_err(LineFault::NotAnEvent)
}

/// The maximum number of NULs to read after an incomplete line, more than any file system leaves.
pub(super) const MOST_ZEROS: usize = 16 * 1024 * 1024;

/// Reads up to and including the next line break, or to the end of the file, and appends the bytes to `line`. Returns
/// their number, or `None` after [`MOST_ZEROS`] consecutive NULs, because lines contain no NULs and a file may end in
/// gigabytes of them.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let (mut read, mut zeros) = (0, 0);
    loop {
        let chunk = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        let end = memchr(b'\n', chunk).map(|at| at + 1);
        let chunk = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let at_end = chunk.iter().rev().take_while(|byte| **byte == 0).count();
        zeros = if at_end == chunk.len() { zeros + at_end } else { at_end };
        if zeros >= MOST_ZEROS {
            return Ok(None);
        }
        line.extend_from_slice(chunk);
        let length = chunk.len();
        reader.consume(length);
        read += length;
        if end.is_some() || length == 0 {
            return Ok(Some(read));
        }
    }
}

/// Whether `rest`, the text after the last line break, is an incomplete line. It is one if it breaks off within an
/// object, even if NULs follow, which some file systems leave; or if it is a complete object that lacks only the line
/// break.
pub(super) fn is_cut(rest: &[u8]) -> bool {
    let zeros = rest.iter().rev().take_while(|byte| **byte == 0).count();
    let written = rest.get(..rest.len() - zeros).unwrap_or_default();
    if written.first().is_some_and(|byte| *byte != b'{') {
        return false;
    }
    match serde_json::from_slice::<serde_json::Value>(written) {
        Ok(_) => zeros == 0 && written.ends_with(b"}"),
        Err(error) => error.is_eof(),
    }
}

/// The part of a line that its own hash covers, and that hash; `None` if the line does not end with a hash.
fn own_hash(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let open = text.strip_suffix(END)?;
    let (head, hash) = open.split_at_checked(open.len().checked_sub(HEX_LENGTH)?)?;
    Some((head.strip_suffix(OWN_HASH)?, hash))
}

pub(super) fn hex(hasher: Sha256) -> String {
    hexadecimal(&hasher.finalize())
}

fn restore(mut file: &File, path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent() {
        Directory::at(directory).create()?;
    }
    let permissions = file.metadata().map(|open| open.permissions());
    write_atomically(path, Readers::Owner, |mut out| {
        file.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut file, &mut out)?;
        Ok(())
    })?;
    // Tries to keep the old permissions. If this fails, only the owner can read the file.
    if let Ok(permissions) = permissions {
        drop(fs::set_permissions(path, permissions));
    }
    Ok(())
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Outside Unix, metadata does not identify an open file, so this detects only that the file is missing.
#[cfg(not(unix))]
fn is_same(_: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}

#[cfg(unix)]
fn is_unlinked(open: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(open) == 0
}

/// Always false: without link counts, a removed file cannot be told from a moved one, which must not be restored.
#[cfg(not(unix))]
fn is_unlinked(_: &Metadata) -> bool {
    false
}

/// Reads the events of a journal once and in order, for subscribers that missed them. Does not check hashes, since the
/// running process has locked the journal.
#[derive(Debug)]
pub struct JournalReader {
    file: BufReader<File>,
    /// The start of an incomplete line.
    line: Vec<u8>,
}

impl JournalReader {
    /// Opens the journal at `path`; moving the file does not affect reading.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(open_regular(path)?), line: Vec::new() })
    }

    /// The next event; `None` if its line is not complete yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be read, or is not an event.
    pub fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        if read_line(&mut self.file, &mut self.line)?.is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the journal contains a long run of NUL characters",
            ));
        }
        if !self.line.ends_with(b"\n") {
            return Ok(None);
        }
        let event = serde_json::from_slice(&self.line)?;
        self.line.clear();
        Ok(Some(event))
    }

    /// Whether the reader is at the start of a line. If not, the rest of the line may never arrive: if a killed process
    /// left it incomplete, the next process overwrites it, and the journal must be reopened.
    pub fn is_between_lines(&self) -> bool {
        self.line.is_empty()
    }
}

impl EventLog for JournalReader {
    fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        JournalReader::next_event(self)
    }
}

#[cfg(test)]
mod tests;
