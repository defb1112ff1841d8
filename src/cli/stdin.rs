//! Reads texts from standard input or files, and detects whether there may be one.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::terminal::Terminal;
use crate::error::UserError;
use dialectic_base::encoding::decode;
use dialectic_base::problem::check_problem_text;

/// A mebibyte: the maximum size of answers and replies.
pub(super) const MIB: u64 = 1024 * 1024;
/// How long a pipe may be silent before a notice.
const SILENT: Duration = Duration::from_secs(1);

/// Whether standard input is a pipe, a file or a socket, and not a terminal or a device such as `/dev/null`.
#[cfg(unix)]
pub(super) fn may_have_text() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

#[cfg(not(unix))]
pub(super) fn may_have_text() -> bool {
    !io::stdin().is_terminal()
}

/// Whether standard input already has a text: in a file, or in a pipe. Does not wait.
#[cfg(unix)]
pub(super) fn has_text() -> bool {
    may_have_text() && rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| bytes > 0)
}

#[cfg(not(unix))]
pub(super) fn has_text() -> bool {
    // There is no portable non-blocking check.
    false
}

pub(super) const STANDARD_INPUT: &str = "standard input";

/// Reads a file, or standard input for `-`, of at most `most` bytes. `what` names the content in messages.
pub(super) fn read_file(what: &str, path: &Path, most: u64, terminal: &mut Terminal) -> Result<Vec<u8>, UserError> {
    let (is_stdin, limit) = (path == Path::new("-"), most.saturating_add(1));
    let read = if is_stdin {
        read(what, limit, terminal)
    } else {
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map(|_| bytes)
    };
    let bytes = read.map_err(|source| {
        let from = if is_stdin { STANDARD_INPUT.into() } else { path.to_string_lossy() };
        UserError::input(format!("cannot read {what} from {from}")).with_source(source)
    })?;
    if bytes.len() as u64 > most {
        return Err(UserError::input(format!("{what} is larger than {} MiB", most / MIB)));
    }
    Ok(bytes)
}

/// Decodes UTF-8 text, without the byte order mark of Windows editors. `what` names it in messages.
pub(super) fn text_of(what: &str, bytes: &[u8]) -> Result<String, UserError> {
    let text =
        decode(bytes).map_err(|fault| UserError::input(format!("{what} is not UTF-8 text")).with_hint(fault.hint()))?;
    check_problem_text(text).map_err(|fault| UserError::input(format!("{what} {fault}")).with_hint(fault.hint()))?;
    Ok(text.to_owned())
}

/// Reads at most `limit` bytes from standard input. If no input arrives for a while, it reports that it waits for
/// `what`.
pub(super) fn read(what: &str, limit: u64, terminal: &mut Terminal) -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        terminal.notice(&format!("Type {what}; press Ctrl-D on an empty line to end it."));
    }
    let (begun, has_begun) = channel();
    let reading = thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        // A further read reports any error.
        let _ = begun.send(stdin.fill_buf().is_ok());
        let mut bytes = Vec::new();
        stdin.take(limit).read_to_end(&mut bytes).map(|_| bytes)
    });
    if has_begun.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) && !io::stdin().is_terminal() {
        terminal.notice(&format!("Waiting for {what} on standard input"));
    }
    reading.join().unwrap_or_else(|_| Err(io::Error::other("reading was abandoned")))
}
