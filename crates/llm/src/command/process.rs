//! Runs a program: writes its input, reads its output line by line, and waits until it exits.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Stdio;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{FailedAttempt, ModelError};

use super::transcript::{Exit, Transcript};

/// How long to wait for a program to exit after its last output, or for the output to end after the program has exited.
/// A background process can keep the pipe open.
const AFTERMATH: Duration = Duration::from_secs(5);
/// How many bytes to keep from the end of standard error, where the reason for a failure usually is.
const COMPLAINT: usize = 4000;
/// The maximum output of a program in bytes; more than any answer needs.
const MOST: usize = 64 << 20;

enum Stop {
    Enough,
    Failed(ModelError),
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

/// Dropping a group kills all of its processes; on systems other than Unix, only the child.
pub struct ProcessGroup {
    pub child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Starts a command in its own process group, which can be killed as a whole and does not receive Ctrl-C.
    ///
    /// # Errors
    ///
    /// Returns an error if the command cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Self {
            #[cfg(unix)]
            id: child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.id {
            end(id);
            running().remove(&id.as_raw_nonzero().get());
        }
    }
}

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

/// On Unix, kills all running programs with their background processes. Call this before exiting without running
/// destructors.
pub fn end_all() {
    #[cfg(unix)]
    for id in running().iter().filter_map(|id| rustix::process::Pid::from_raw(*id)) {
        end(id);
    }
}

/// Runs a program until it ends, its answer is over, or a tool is used. `read` adds each line to `heard`. After its
/// first text, the program may be idle for at most `idle`. The process group is killed when the program ends or the
/// future is dropped.
pub(super) async fn run(
    mut command: Command,
    input: &str,
    idle: Duration,
    heard: &mut Transcript,
    mut read: impl FnMut(&str, &mut Transcript),
) -> Result<Exit, FailedAttempt> {
    let executable = Path::new(command.as_std().get_program()).to_owned();
    let unstarted = |error: io::Error| ModelError::Unsendable {
        message: format!("cannot start `{}`: {error}", executable.display()),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = ProcessGroup::start(&mut command).map_err(unstarted)?;
    #[cfg(unix)]
    let id = group.id;
    #[cfg(unix)]
    running().extend(id.map(|id| id.as_raw_nonzero().get()));
    let child = &mut group.child;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // Ignore write errors: a program that does not read its input reports the reason itself.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        Ok(())
    };
    let complain = async { Ok(tail(stderr).await) };
    let listen = async {
        let Some(stdout) = stdout else { return Ok(()) };
        let mut lines = BufReader::new(stdout);
        let (mut line, mut seen) = (Vec::new(), 0);
        loop {
            line.clear();
            let mut next = (&mut lines).take((MOST - seen) as u64);
            let next = next.read_until(b'\n', &mut line);
            let count = if heard.has_spoken() || heard.is_complete {
                match timeout(idle, next).await {
                    Ok(count) => count,
                    // The answer is complete, so it is usable although the program does not exit.
                    Err(_) if heard.is_complete => return Err(Stop::Enough),
                    Err(_) => {
                        let message = format!("the program was idle for over {} s", idle.as_secs_f64());
                        return Err(Stop::Failed(ModelError::Broken { message }));
                    }
                }
            } else {
                next.await
            };
            seen += count.map_err(|error| ModelError::Broken { message: error.to_string() })?;
            if line.is_empty() {
                return Ok(());
            }
            if seen >= MOST {
                let message = format!("the program printed more than {} MB", MOST >> 20);
                return Err(Stop::Failed(ModelError::Broken { message }));
            }
            read(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']), heard);
            if heard.is_over || heard.tool.is_some() {
                // Kill the program now, because it would send further requests after a tool call.
                #[cfg(unix)]
                id.into_iter().for_each(end);
                return Err(Stop::Enough);
            }
        }
    };
    let work = async { tokio::try_join!(write, listen, complain).map(|((), (), complaint)| complaint) };
    tokio::pin!(work);
    let enough = || Exit { code: Some(0), is_whole: true, complaint: String::new() };
    let (status, complaint) = tokio::select! {
        biased;
        complaint = &mut work => {
            let complaint = match complaint {
                Ok(complaint) => complaint,
                Err(Stop::Enough) => return Ok(enough()),
                Err(Stop::Failed(error)) => return Err(error.into()),
            };
            (timeout(AFTERMATH, group.child.wait()).await, Some(complaint))
        }
        status = group.child.wait() => {
            // Kill background processes, which could keep the output open.
            #[cfg(unix)]
            id.into_iter().for_each(end);
            match timeout(AFTERMATH, &mut work).await {
                Ok(Ok(complaint)) => (Ok(status), Some(complaint)),
                Ok(Err(Stop::Enough)) => return Ok(enough()),
                Ok(Err(Stop::Failed(error))) => return Err(error.into()),
                Err(_) => (Ok(status), None),
            }
        }
    };
    let (code, has_ended) = match status {
        Ok(Ok(status)) => (status.code(), true),
        Ok(Err(error)) => return Err(ModelError::Broken { message: error.to_string() }.into()),
        // The program closed its output but does not exit. Its answer is still used if the program marked it as
        // complete.
        Err(_) => (Some(0), false),
    };
    Ok(Exit { code, is_whole: has_ended && complaint.is_some(), complaint: complaint.unwrap_or_default() })
}

/// Reads a stream to its end, so that the writer never blocks. Returns the last [`COMPLAINT`] bytes.
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
