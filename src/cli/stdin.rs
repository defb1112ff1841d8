//! Reads texts from standard input, and detects whether there may be one.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::terminal::Terminal;

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
