//! Reads a journal while a debate runs.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use crate::debate::Recorded;
use crate::signals::EventLog;
use crate::store::journal::{read_line, unchecked};
use crate::store::snapshot::open_regular;

/// Reads the events of a journal once in order, for subscribers that missed them. Hashes are not checked, since the
/// running process has locked the journal.
#[derive(Debug)]
pub struct JournalReader {
    file: BufReader<File>,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
}

impl JournalReader {
    /// Opens the journal at `path`; it stays readable after a move.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(open_regular(path)?), line: Vec::new() })
    }

    /// The next event; `None` if the next line is not complete yet.
    ///
    /// # Errors
    /// It cannot be read, or is not an event.
    pub fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        if read_line(&mut self.file, &mut self.line)?.is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the text after its last line is not a line"));
        }
        if !self.line.ends_with(b"\n") {
            return Ok(None);
        }
        let event = unchecked(&self.line)?;
        self.line.clear();
        Ok(Some(event))
    }

    /// Whether it is between two lines. Otherwise the rest of the line may never arrive: a killed process left it
    /// incomplete, and the next process overwrites it. The journal must then be reopened.
    pub fn is_between_lines(&self) -> bool {
        self.line.is_empty()
    }
}

impl EventLog for JournalReader {
    fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        JournalReader::next_event(self)
    }
}
