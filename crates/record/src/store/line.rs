//! A journal line: an event, the previous line's hash, and its own.
//!
//! The previous hash detects removed, added and moved lines. The own hash detects changes of the line itself, including
//! the last one.

use std::io::{self, BufRead};

use memchr::memchr;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::debate::Recorded;
use dialectic_base::encoding::hexadecimal;

/// A line to write.
pub(super) struct Sealed {
    /// The line with its line break.
    pub(super) bytes: Vec<u8>,
    /// The hash, which the next line repeats.
    pub(super) hash: String,
}

/// A verified line.
pub(super) struct Checked {
    pub(super) recorded: Recorded,
    /// The hash, which the next line must repeat.
    pub(super) hash: String,
}

#[derive(Debug)]
pub enum LineFault {
    /// Its own hash does not match.
    Altered,
    /// It does not end with its own hash.
    Unsealed,
    /// The recorded previous hash differs from the previous line's.
    Chain,
    NotAnEvent(serde_json::Error),
}

impl LineFault {
    /// The message about the line with that number.
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

#[derive(Serialize)]
struct JournalLine<'a> {
    #[serde(flatten)]
    recorded: &'a Recorded,
    prev: &'a str,
}

#[derive(Deserialize)]
struct Link {
    prev: String,
}

const HEX_LENGTH: usize = 64;
const OWN_HASH: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";

/// Builds the line of an event after the line with the hash `previous`, which is empty for the first.
pub(super) fn seal(recorded: &Recorded, previous: &str) -> serde_json::Result<Sealed> {
    let mut bytes = serde_json::to_vec(&JournalLine { recorded, prev: previous })?;
    // Its own hash precedes the closing brace.
    bytes.pop();
    // One pass over the event computes both hashes.
    let mut hasher = Sha256::new_with_prefix(&bytes);
    let own = hex(hasher.clone());
    let rest = [OWN_HASH, own.as_bytes(), END].concat();
    hasher.update(&rest);
    bytes.extend(rest);
    bytes.push(b'\n');
    Ok(Sealed { bytes, hash: hex(hasher) })
}

/// Verifies a line without its line break. `previous` is the hash of the previous line.
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
    if own.is_none() {
        return Err(LineFault::Unsealed);
    }
    let recorded = unchecked(text).map_err(LineFault::NotAnEvent)?;
    Ok(Checked { recorded, hash: hex(Sha256::new_with_prefix(text)) })
}

/// The event of a line, not compared with the previous one.
pub(super) fn unchecked(text: &[u8]) -> serde_json::Result<Recorded> {
    serde_json::from_slice(text)
}

/// The maximum NULs read after a cut line: more than any file system leaves.
pub(super) const MOST_ZEROS: usize = 16 * 1024 * 1024;

/// Appends to `line` everything up to and including a line break, or up to the end. Returns the number of bytes; `None`
/// after [`MOST_ZEROS`] consecutive NULs, since no line contains one and a file may have gigabytes.
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

/// Whether the rest of a file after its last line break is a cut line: the beginning of an object, possibly with zeros
/// that some file systems leave. A complete object followed by anything is not.
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

/// A line's own hash, and the hashed part.
fn own_hash(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let open = text.strip_suffix(END)?;
    let (head, hash) = open.split_at_checked(open.len().checked_sub(HEX_LENGTH)?)?;
    Some((head.strip_suffix(OWN_HASH)?, hash))
}

/// The hasher's digest in hexadecimal.
pub(super) fn hex(hasher: Sha256) -> String {
    hexadecimal(&hasher.finalize())
}
