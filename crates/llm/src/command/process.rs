//! A program that runs: its input, its lines as they come, and its end.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Stdio;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{FailedAttempt, ModelError};

use super::transcript::Exit;

/// How long a program may take to end after its last word, and its output after its end: something that it started can
/// hold the pipe.
const AFTERMATH: Duration = Duration::from_secs(5);
/// Bytes that are kept of what it says on its standard error: the end, where the reason stands.
const COMPLAINT: usize = 4000;
/// Bytes of output that no answer needs.
const MOST: usize = 64 << 20;

/// What is started.
pub(super) struct Invocation<'a> {
    pub(super) executable: &'a Path,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, SecretString)>,
    pub(super) directory: &'a Path,
    pub(super) input: String,
    /// How long it may be silent after the first text.
    pub(super) idle: Duration,
}

/// Why no more is read.
enum Stop {
    Enough,
    Failed(ModelError),
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

/// The processes that a program has started. Dropping it ends them.
struct Group {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    fn start(invocation: &Invocation<'_>) -> io::Result<Self> {
        let mut command = Command::new(invocation.executable);
        command.args(&invocation.arguments).current_dir(invocation.directory).env_clear();
        command.envs(invocation.environment.iter().map(|(name, value)| (name, value.expose_secret())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // A group of its own, so that whatever it starts can be ended with it, and Ctrl-C is ours alone.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        #[cfg(unix)]
        let id = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        #[cfg(unix)]
        running().extend(id.map(|id| id.as_raw_nonzero().get()));
        Ok(Self {
            child,
            #[cfg(unix)]
            id,
        })
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended by itself; elsewhere than on Unix the child alone is ended.
        if let Some(id) = self.id {
            end(id);
            running().remove(&id.as_raw_nonzero().get());
        }
    }
}

/// The groups that run.
#[cfg(unix)]
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

#[cfg(unix)]
fn running() -> MutexGuard<'static, BTreeSet<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn end(id: rustix::process::Pid) {
    let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
}

/// Ends every program that runs: for a process that is about to end without dropping anything.
pub fn end_all() {
    #[cfg(unix)]
    for id in running().iter().filter_map(|id| rustix::process::Pid::from_raw(*id)) {
        end(id);
    }
}

/// What a line means for the program that printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It may go on.
    GoOn,
    /// The same, and there has been text: from now on it may not be silent for long.
    Text,
    /// It has said that this was all: it may end now.
    Complete,
    /// It is ended: what it goes on to do is not wanted.
    Enough,
}

/// Runs a program to its end, or until `hear`, which is told of each line, has heard enough. When the future is
/// dropped, and when it ends, so does whatever the program started and left in its process group.
pub(super) async fn run(
    invocation: &Invocation<'_>,
    mut hear: impl FnMut(&str) -> Heard,
) -> Result<Exit, FailedAttempt> {
    let unstarted = |error: io::Error| ModelError::Unsendable {
        message: format!("`{}` cannot be started: {error}", invocation.executable.display()),
    };
    let mut group = Group::start(invocation).map_err(unstarted)?;
    #[cfg(unix)]
    let id = group.id;
    let child = &mut group.child;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read what it is given says why by itself.
            let _ = stdin.write_all(invocation.input.as_bytes()).await;
        }
        Ok(())
    };
    let complain = async { Ok(tail(stderr).await) };
    let read = async {
        let Some(stdout) = stdout else { return Ok(()) };
        let mut lines = BufReader::new(stdout);
        let (mut line, mut seen, mut has_spoken, mut is_complete) = (Vec::new(), 0, false, false);
        loop {
            line.clear();
            let mut next = (&mut lines).take((MOST - seen) as u64);
            let next = next.read_until(b'\n', &mut line);
            let read = if has_spoken || is_complete {
                match timeout(invocation.idle, next).await {
                    Ok(read) => read,
                    // It has said all and does not end: what it said counts.
                    Err(_) if is_complete => return Err(Stop::Enough),
                    Err(_) => {
                        let message = format!("it was silent for longer than {} s", invocation.idle.as_secs_f64());
                        return Err(Stop::Failed(ModelError::Broken { message }));
                    }
                }
            } else {
                next.await
            };
            seen += read.map_err(|error| ModelError::Broken { message: error.to_string() })?;
            if line.is_empty() {
                return Ok(());
            }
            if seen >= MOST {
                return Err(Stop::Failed(ModelError::Broken {
                    message: format!("it printed more than {} MB", MOST >> 20),
                }));
            }
            match hear(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])) {
                Heard::GoOn => {}
                Heard::Text => has_spoken = true,
                Heard::Complete => is_complete = true,
                Heard::Enough => {
                    // At once: a program whose model calls a tool asks again.
                    #[cfg(unix)]
                    id.into_iter().for_each(end);
                    return Err(Stop::Enough);
                }
            }
        }
    };
    // The first that ends early ends all.
    let work = async { tokio::try_join!(write, read, complain).map(|((), (), complaint)| complaint) };
    tokio::pin!(work);
    let (status, complaint) = tokio::select! {
        biased;
        complaint = &mut work => {
            let complaint = match complaint {
                Ok(complaint) => complaint,
                Err(Stop::Enough) => return Ok(Exit { code: Some(0), is_whole: true, complaint: String::new() }),
                Err(Stop::Failed(error)) => return Err(error.into()),
            };
            (timeout(AFTERMATH, group.child.wait()).await, Some(complaint))
        }
        status = group.child.wait() => {
            // What it left behind could hold its output.
            #[cfg(unix)]
            id.into_iter().for_each(end);
            match timeout(AFTERMATH, &mut work).await {
                Ok(Ok(complaint)) => (Ok(status), Some(complaint)),
                Ok(Err(Stop::Enough)) => return Ok(Exit { code: Some(0), is_whole: true, complaint: String::new() }),
                Ok(Err(Stop::Failed(error))) => return Err(error.into()),
                Err(_) => (Ok(status), None),
            }
        }
    };
    let (code, has_ended) = match status {
        Ok(Ok(status)) => (status.code(), true),
        Ok(Err(error)) => return Err(ModelError::Broken { message: error.to_string() }.into()),
        // It has closed its output and does not end: what it said counts, if it has said that this was all.
        Err(_) => (Some(0), false),
    };
    Ok(Exit { code, is_whole: has_ended && complaint.is_some(), complaint: complaint.unwrap_or_default() })
}

/// Reads a stream to its end, so that nobody waits for room in the pipe, and keeps its end.
async fn tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return String::new() };
    let mut buffer = vec![0; 8192];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * COMPLAINT {
            kept.drain(..kept.len() - COMPLAINT);
        }
    }
    let text = String::from_utf8_lossy(&kept);
    let start = text.ceil_char_boundary(text.len().saturating_sub(COMPLAINT));
    text[start..].to_owned()
}
