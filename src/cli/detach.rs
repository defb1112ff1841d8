//! Detached runs: the program starts a copy of itself, which detaches once the debate is recorded. Other processes
//! control the run only through the debate's files.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::{Error, UserError};
use crate::status::{ASKS, TRY_AGAIN};
use dialectic_engine::runner::Ready;
use dialectic_record::store::Entry;

use super::args::{ContinueArgs, KeyArgs, VouchArgs};
use super::terminal::Terminal;

#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
const LOCK_ATTEMPTS: u32 = 20;
#[cfg(unix)]
const LOCK_PAUSE: Duration = Duration::from_millis(10);

const DETACHED: &str = "--detached";

/// Starts a copy of the program with the same arguments and `--detached`, and prints the id of the copy's debate. Until
/// the debate has begun, the copy prints its own messages. If the copy exits before that, returns an error with its
/// exit code, unless the code is 0.
///
/// `command` is the name of the subcommand.
pub(super) fn start(command: &str, terminal: &mut Terminal) -> Result<(), Error> {
    check()?;
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let place = arguments.iter().position(|word| word == command).map_or(0, |place| place + 1);
    arguments.insert(place, DETACHED.into());
    match begun(Command::new(this()?).args(arguments))? {
        Begun::Runs(id) => terminal.text(&id),
        Begun::Ended(0) => Ok(()),
        Begun::Ended(code) => Err(Error::Said { code }),
    }
}

/// Resumes the debate in another process. Returns false if that process exits with [`TRY_AGAIN`], as it does if the
/// debate is already running.
pub(super) fn resume(entry: &Entry, keys: &KeyArgs) -> Result<bool, Error> {
    let mut command = Command::new(this()?);
    command.arg("resume").arg(&entry.state).arg("--quiet").stdin(Stdio::null());
    if cfg!(unix) {
        command.args(["--detach", DETACHED]);
    }
    let KeyArgs { env_file, going_on: ContinueArgs { max_cost, calls, vouch: VouchArgs { config, context } } } = keys;
    for (option, path) in [("--env-file", env_file), ("--config", config), ("--context", context)] {
        command.args(path.iter().flat_map(|path| [OsStr::new(option), path.as_os_str()]));
    }
    command.args(max_cost.iter().flat_map(|most| ["--max-cost".to_owned(), most.dollars().to_string()]));
    command.args(calls.max_calls.iter().flat_map(|most| ["--max-calls".to_owned(), most.to_string()]));
    match begun(&mut command)? {
        Begun::Runs(_) | Begun::Ended(0 | ASKS) => Ok(true),
        Begun::Ended(TRY_AGAIN) => Ok(false),
        Begun::Ended(code) => Err(Error::Said { code }),
    }
}

fn this() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::Detach)
}

enum Begun {
    Runs(String),
    /// The process exited with this code before its debate began, and has reported why.
    Ended(u8),
}

fn begun(command: &mut Command) -> Result<Begun, Error> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(Error::Detach)?;
    let mut id = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut id).map_err(Error::Detach)?;
    }
    if !id.trim().is_empty() {
        return Ok(Begun::Runs(id.trim().to_owned()));
    }
    let ended = child.wait().map_err(Error::Detach)?;
    Ok(Begun::Ended(ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Fails on Windows, where a process cannot redirect its own standard streams to a log.
pub(super) fn check() -> Result<(), UserError> {
    if cfg!(unix) {
        return Ok(());
    }
    Err(UserError::input("runs cannot be detached on Windows").with_hint("use a separate window, or WSL"))
}

/// Detaches this process from the terminal and redirects its output to the debate's log. First prints the debate's id,
/// for which [`start`] waits. The log stays locked until the process ends.
#[cfg(unix)]
pub(super) fn leave(ready: &Ready, terminal: &mut Terminal) -> Result<(), Error> {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

    let path = Entry::of_state(ready.state_path()).log_path();
    // Do not follow links: a planted link could redirect model-written text into another file.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let open = || {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(&path)?;
        let is_file = file.metadata()?.is_file();
        if is_file { Ok(file) } else { Err(io::Error::other("not a regular file")) }
    };
    let failed = |source| Error::Output { path: path.clone(), source };
    let (log, lock) = (open().map_err(failed)?, open().map_err(failed)?);
    // Retry: another process may be testing the lock, or an earlier run may still be ending. Both take only a moment.
    for _ in 0..LOCK_ATTEMPTS {
        if lock.try_lock().is_ok() {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    let nothing = File::open("/dev/null").map_err(Error::Detach)?;
    terminal.text(ready.debate().id.as_str())?;
    // Fails only if the process already leads a process group.
    let _ = rustix::process::setsid();
    let redirected = dup2_stdin(&nothing).and_then(|()| dup2_stdout(&log)).and_then(|()| dup2_stderr(&log));
    redirected.map_err(|error| Error::Detach(error.into()))?;
    std::mem::forget(lock);
    Ok(())
}

/// Never called, because [`check`] fails first.
#[cfg(windows)]
pub(super) fn leave(_: &Ready, _: &mut Terminal) -> Result<(), Error> {
    Ok(check()?)
}
