//! Runs the user's commands in a shell with a time limit and an output limit, and without providers' keys.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use dialectic_llm::command::ProcessGroup;

/// How long to read output after the command has ended. A background process can keep the pipe open.
const AFTERMATH: Duration = Duration::from_millis(500);
/// The maximum number of bytes kept of a command's standard error.
const COMPLAINT: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    pub cut: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Limited<'a> {
    pub command: &'a str,
    pub input: Option<&'a [u8]>,
    pub limit: Duration,
    /// The maximum number of bytes kept of the command's standard output; further output is discarded.
    pub keep: usize,
    pub without: &'a BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("it cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    #[error("it was stopped because it took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("it exited unsuccessfully ({status}){}", after_colon(complaint))]
    Failed { status: std::process::ExitStatus, complaint: String },
    #[error("its output cannot be read: {0}")]
    Unreadable(#[source] io::Error),
}

fn after_colon(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.raw_arg(cmd_arguments(command));
    shell
}

/// Arguments that make `cmd` run a command verbatim: `/S` removes only the outer quotes, so the command needs no
/// escaping. `/D` skips `AutoRun` commands from the registry.
#[cfg(any(windows, test))]
fn cmd_arguments(command: &str) -> String {
    format!("/D /S /C \"{command}\"")
}

/// Returns the command's standard output, with invalid UTF-8 replaced. The command's process group is killed when the
/// future is dropped, when the command ends, and when the time limit is exceeded.
///
/// # Errors
///
/// Returns an error if the command cannot be started, fails, or takes too long, or if its output cannot be read.
pub async fn run(limited: &Limited<'_>) -> Result<Excerpt, ProcessError> {
    let mut command = shell(limited.command);
    command.stdin(if limited.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for variable in limited.without {
        command.env_remove(variable);
    }
    let mut group = ProcessGroup::start(&mut command).map_err(ProcessError::NotStarted)?;
    match timeout(limited.limit, finish(&mut group.child, limited)).await {
        Ok(printed) => printed,
        Err(_) => Err(ProcessError::TimedOut(limited.limit)),
    }
}

async fn finish(child: &mut Child, limited: &Limited<'_>) -> Result<Excerpt, ProcessError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let (Some(mut stdin), Some(input)) = (stdin, limited.input) {
            // A command may ignore its input, so a failed write is not an error.
            let _ = stdin.write_all(input).await;
        }
        std::future::pending::<Infallible>().await
    };
    let (mut output, mut said) = (Vec::new(), Vec::new());
    let read = async {
        tokio::try_join!(drain(stdout, limited.keep, &mut output), drain(stderr, COMPLAINT, &mut said)).map(drop)
    };
    let status = async {
        tokio::pin!(read);
        let status = tokio::select! {
            biased;
            all = &mut read => {
                all.map_err(ProcessError::Unreadable)?;
                child.wait().await
            }
            status = child.wait() => {
                if let Ok(all) = timeout(AFTERMATH, &mut read).await {
                    all.map_err(ProcessError::Unreadable)?;
                }
                status
            }
        };
        status.map_err(ProcessError::Unreadable)
    };
    let status = tokio::select! {
        status = status => status?,
        never = write => match never {},
    };
    if !status.success() {
        return Err(ProcessError::Failed { status, complaint: excerpt(said, COMPLAINT).text });
    }
    Ok(excerpt(output, limited.keep))
}

/// Drains a stream, so that the writer never blocks. Keeps one byte more than `most`, so that the caller can tell
/// whether the output was longer.
async fn drain(stream: Option<impl AsyncRead + Unpin>, most: usize, kept: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; 8192];
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let room = most.saturating_add(1) - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}

/// `kept` must come from a call of [`drain`] with the same `most`.
fn excerpt(mut kept: Vec<u8>, most: usize) -> Excerpt {
    let is_longer = kept.len() > most;
    if is_longer {
        kept.truncate(most);
        let whole = match std::str::from_utf8(&kept) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => kept.len(),
        };
        kept.truncate(whole);
    }
    let text = String::from_utf8_lossy(&kept);
    // Replacement characters can be longer than the bytes that they replace.
    let end = text.floor_char_boundary(most);
    Excerpt { text: text[..end].to_owned(), cut: is_longer || end < text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reaches_the_shell_of_windows_as_it_was_written() {
        let command = r#"type "C:\My Files\a.txt" | find "x""#;
        assert_eq!(cmd_arguments(command), r#"/D /S /C "type "C:\My Files\a.txt" | find "x"""#);
    }
}

#[cfg(all(test, unix))]
mod unix_tests {
    use super::*;

    async fn run_it(
        command: &str,
        input: Option<&[u8]>,
        limit: Duration,
        keep: usize,
    ) -> Result<Excerpt, ProcessError> {
        let without = BTreeSet::from(["PATH_OF_A_KEY".to_owned(), "HOME".to_owned()]);
        run(&Limited { command, input, limit, keep, without: &without }).await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_is_printed_is_kept_up_to_the_bound_and_the_command_never_waits() {
        let printed = run_it("printf 'a\\303\\251b'", None, LONG, 100).await.unwrap();
        assert_eq!(printed, Excerpt { text: "aéb".to_owned(), cut: false });
        let printed = run_it("printf 'a\\303\\251b'", None, LONG, 2).await.unwrap();
        assert_eq!(printed, Excerpt { text: "a".to_owned(), cut: true });
        let printed = run_it("head -c 3000000 /dev/zero | tr '\\0' x", None, LONG, 10).await.unwrap();
        assert_eq!(printed, Excerpt { text: "x".repeat(10), cut: true });
    }

    #[tokio::test]
    async fn input_is_given_and_need_not_be_read() {
        let input = vec![b'y'; 2_000_000];
        let printed = run_it("wc -c | tr -d ' '", Some(&input), LONG, 100).await.unwrap();
        assert_eq!(printed.text.trim(), "2000000");
        assert_eq!(run_it("echo no", Some(&input), LONG, 100).await.unwrap().text, "no\n");
    }

    #[tokio::test]
    async fn a_failure_says_why_and_variables_are_left_out() {
        let error = run_it("echo oh dear >&2; exit 3", None, LONG, 100).await.unwrap_err().to_string();
        assert!(error.contains('3') && error.ends_with(": oh dear"), "{error}");
        assert_eq!(run_it("echo ${HOME-none}", None, LONG, 100).await.unwrap().text, "none\n");
    }

    #[tokio::test]
    async fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let command = format!("sleep 60 & echo $! > {}; sleep 60", file.path().display());
        let error = run_it(&command, None, Duration::from_secs(1), 100).await.unwrap_err();
        assert!(matches!(error, ProcessError::TimedOut(_)), "{error}");
        let started = std::fs::read_to_string(file.path()).unwrap();
        assert_ne!(started.trim(), "", "the shell did not start in time");
        let status = format!("/proc/{}/stat", started.trim());
        let begun = std::time::Instant::now();
        while std::fs::read_to_string(&status).is_ok_and(|status| !status.contains(") Z ")) {
            assert!(begun.elapsed() < LONG, "{started} goes on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn what_a_command_leaves_behind_holds_up_nobody() {
        // Waiting for the background process would exceed the limit.
        assert_eq!(run_it("sleep 60 & echo done", None, LONG, 100).await.unwrap().text, "done\n");
    }
}
