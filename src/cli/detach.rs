//! A run without a terminal: the program starts itself once more, and that process goes on by itself when its debate is on
//! record. Nothing ties it to anybody but the record.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

use crate::error::Error;
use dialectic_engine::runner::Ready;

use super::terminal::Terminal;

/// How often the log is tried to be locked, and how long after each other.
#[cfg(unix)]
const LOCK_ATTEMPTS: u32 = 20;
#[cfg(unix)]
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The flag that tells the program that it is the detached process.
const DETACHED: &str = "--detached";

/// Starts the program with the same arguments, and comes back when its debate has begun: then the id is printed. What it
/// has to say until then, it says itself, and an error of it is the error of this process.
///
/// `command` is the word for what it does.
pub(super) fn start(command: &str, terminal: &mut Terminal) -> Result<(), Error> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let place = arguments.iter().position(|word| word == command).map_or(0, |place| place + 1);
    arguments.insert(place, DETACHED.into());
    let program = std::env::current_exe().map_err(Error::Detach)?;
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().map_err(Error::Detach)?;
    let mut id = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut id).map_err(Error::Detach)?;
    }
    if id.trim().is_empty() {
        let ended = child.wait().map_err(Error::Detach)?;
        let code = ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        return if code == 0 { Ok(()) } else { Err(Error::Said { code }) };
    }
    terminal.text(id.trim())
}

/// Says that the debate has begun, and leaves the terminal: from here on the process is a session of its own, reads nothing
/// and writes to the log beside the record. The log is locked until the process ends.
#[cfg(unix)]
pub(super) fn leave(ready: &Ready, terminal: &mut Terminal) -> Result<(), Error> {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt as _;

    use dialectic_record::store::Entry;
    use rustix::fs::OFlags;
    use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

    let path = Entry::of_state(ready.state_path()).log_path();
    // A link that somebody laid there would lead what models say into another file.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let open = || {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(&path)?;
        let is_file = file.metadata()?.is_file();
        if is_file { Ok(file) } else { Err(io::Error::other("it is no file")) }
    };
    let failed = |source| Error::Output { path: path.clone(), source };
    let (log, lock) = (open().map_err(failed)?, open().map_err(failed)?);
    // Somebody may be looking whether it is locked; an earlier run may still be at what comes after its debate, and is not
    // waited for.
    for _ in 0..LOCK_ATTEMPTS {
        if lock.try_lock().is_ok() {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    let nothing = File::open("/dev/null").map_err(Error::Detach)?;
    terminal.text(ready.debate().id.as_str())?;
    // It fails only where this is a session already.
    let _ = rustix::process::setsid();
    let redirected = dup2_stdin(&nothing).and_then(|()| dup2_stdout(&log)).and_then(|()| dup2_stderr(&log));
    redirected.map_err(|error| Error::Detach(error.into()))?;
    std::mem::forget(lock);
    Ok(())
}

/// Elsewhere nobody has tried it.
#[cfg(not(unix))]
pub(super) fn leave(_: &Ready, _: &mut Terminal) -> Result<(), Error> {
    Err(Error::Detach(io::ErrorKind::Unsupported.into()))
}
