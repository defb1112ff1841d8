//! One line of a journal: an event, the hash of the line before, and a hash of its own.
//!
//! The link to the line before shows that lines were removed, added or moved. The line's own hash shows a change of
//! the line itself, of the last one too, which no later line speaks of. Lines of older versions have the link only.

use std::io::{self, BufRead};

use memchr::memchr;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::debate::Recorded;
use dialectic_base::encoding::hexadecimal;

/// A line that is to be written.
pub(super) struct Sealed {
    /// The line with its line break.
    pub(super) bytes: Vec<u8>,
    /// Its hash: what the next line names.
    pub(super) hash: String,
}

/// A line that was read and is as it was written.
pub(super) struct Checked {
    pub(super) recorded: Recorded,
    /// Its hash: what the next line must name.
    pub(super) hash: String,
}

/// What is wrong with a line.
#[derive(Debug)]
pub enum LineFault {
    /// Its own hash does not fit.
    Altered,
    /// It ends neither with a hash of its own nor, as in older journals, with the link.
    Unsealed,
    /// It names another line than the one before it.
    Chain,
    /// It is not an event.
    NotAnEvent(serde_json::Error),
}

impl LineFault {
    /// What is said of the line with that number.
    pub(super) fn in_words(&self, line: usize) -> String {
        let before = if line == 1 { "the beginning".to_owned() } else { format!("line {}", line - 1) };
        match self {
            Self::Altered => "was changed: its hash does not fit".to_owned(),
            Self::Unsealed => "was changed: its hash is not where it belongs".to_owned(),
            Self::Chain => format!("does not follow {before}: lines were changed, removed, added or moved"),
            Self::NotAnEvent(_) => "is not an event".to_owned(),
        }
    }
}

#[derive(Serialize)]
struct JournalLine<'a> {
    #[serde(flatten)]
    recorded: &'a Recorded,
    prev: &'a str,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    prev: String,
}

const HEX_LENGTH: usize = 64;
const OWN_HASH: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";

/// The line of an event after the line with the hash `previous`, which is empty for the first.
pub(super) fn seal(recorded: &Recorded, previous: &str) -> serde_json::Result<Sealed> {
    let mut bytes = serde_json::to_vec(&JournalLine { recorded, prev: previous })?;
    // The object is closed after its own hash.
    bytes.pop();
    // One pass over the event serves both hashes.
    let mut hasher = Sha256::new_with_prefix(&bytes);
    let own = hex(hasher.clone());
    let rest = [OWN_HASH, own.as_bytes(), END].concat();
    hasher.update(&rest);
    bytes.extend(rest);
    bytes.push(b'\n');
    Ok(Sealed { bytes, hash: hex(hasher) })
}

/// Reads a line, given without its line break. `previous` is the hash of the line before.
pub(super) fn open(text: &[u8], previous: &str) -> Result<Checked, LineFault> {
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
    if own.is_none() && !text.ends_with(format!(",\"prev\":\"{previous}\"}}").as_bytes()) {
        return Err(LineFault::Unsealed);
    }
    let recorded = unchecked(text).map_err(LineFault::NotAnEvent)?;
    Ok(Checked { recorded, hash: hex(Sha256::new_with_prefix(text)) })
}

/// The event of a line that is not checked against the line before.
pub(super) fn unchecked(text: &[u8]) -> serde_json::Result<Recorded> {
    serde_json::from_slice(text)
}

/// How many NULs are read after a line that a crash cut short: more than any file system leaves.
pub(super) const MOST_ZEROS: usize = 16 * 1024 * 1024;

/// Adds to `line` what `reader` has up to a line break and with it, or up to the end. Returns how many bytes that is;
/// nothing if [`MOST_ZEROS`] NULs in a row come before: no line holds one, and a file may have gigabytes.
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

/// Whether the rest of a file, after its last line break, is a line that a crash cut short: the beginning of an
/// object, perhaps with the zeros that some file systems leave. A whole object with anything after it is none.
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

/// What a line says its own hash is, and the part of it that the hash is of.
fn own_hash(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let open = text.strip_suffix(END)?;
    let (head, hash) = open.split_at_checked(open.len().checked_sub(HEX_LENGTH)?)?;
    Some((head.strip_suffix(OWN_HASH)?, hash))
}

/// The hash of all that the hasher was given, in hexadecimal.
pub(super) fn hex(hasher: Sha256) -> String {
    hexadecimal(&hasher.finalize())
}
