//! Texts on standard input: whether there may be one, and reading it without leaving anybody in the dark.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::terminal::Terminal;

/// How long a pipe may be silent before it is said what is waited for.
const SILENT: Duration = Duration::from_secs(1);

/// Whether standard input is something that a text is sent through: a pipe, a file or a socket. A terminal does not
/// count, and neither does a device such as `/dev/null`.
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

/// Whether a text lies on standard input: in a file, or in a pipe already. It waits for none.
#[cfg(unix)]
pub(super) fn has_text() -> bool {
    may_have_text() && rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| bytes > 0)
}

#[cfg(not(unix))]
pub(super) fn has_text() -> bool {
    // There is no portable way to look without waiting.
    false
}

/// Reads at most `limit` bytes of standard input. After a while without input, it says that it waits for `what`.
pub(super) fn read(what: &str, limit: u64, terminal: &mut Terminal) -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        terminal.notice(&format!("Type {what}; press Ctrl-D on an empty line to end it."));
    }
    let (begun, has_begun) = channel();
    let reading = thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        // Whatever is wrong, reading on says it.
        let _ = begun.send(stdin.fill_buf().is_ok());
        let mut bytes = Vec::new();
        stdin.take(limit).read_to_end(&mut bytes).map(|_| bytes)
    });
    if has_begun.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) && !io::stdin().is_terminal() {
        terminal.notice(&format!("Waiting for {what} on standard input"));
    }
    reading.join().unwrap_or_else(|_| Err(io::Error::other("reading was abandoned")))
}
