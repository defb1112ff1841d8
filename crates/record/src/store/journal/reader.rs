//! A journal that is read while a debate runs.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use crate::debate::Recorded;
use crate::signals::EventLog;
use crate::store::line::{read_line, unchecked};
use crate::store::regular::open_regular;

/// Reads the events of a journal once, from the first to the last that is there: for somebody who was too slow to take
/// them when they happened. The hashes are not checked: the process that runs the debate has the journal locked.
#[derive(Debug)]
pub struct JournalReader {
    file: BufReader<File>,
    /// The beginning of a line that is not yet complete.
    line: Vec<u8>,
}

impl JournalReader {
    /// Opens the journal at `path`. It is found again by this reader wherever it is moved to.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(open_regular(path)?), line: Vec::new() })
    }

    /// The next event; nothing where no further whole line is there yet.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        if read_line(&mut self.file, &mut self.line)?.is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what follows its last line is not a line"));
        }
        if !self.line.ends_with(b"\n") {
            return Ok(None);
        }
        let event = unchecked(&self.line)?;
        self.line.clear();
        Ok(Some(event))
    }

    /// Whether it stands between two lines. Where it does not, the rest of a line may never come: a program that was
    /// killed left a part of it, and the process that carries on writes over that. The journal has to be opened anew
    /// then.
    pub fn is_between_lines(&self) -> bool {
        self.line.is_empty()
    }
}

impl EventLog for JournalReader {
    fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        JournalReader::next_event(self)
    }
}
