//! Runs debates for coding agents and other programs that speak the Model Context Protocol, over standard input and
//! output.
//!
//! The server keeps no state: each debate is a detached run that continues when the server ends, and its status is read
//! from its record. Tools that change or spend something run a command of this program in a separate process, so that
//! all checks of the command line apply.

mod limits;
mod server;
mod tools;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

pub use limits::Limits;
pub use server::{Options, serve};

#[derive(Debug)]
struct Done {
    code: i32,
    stdout: String,
    stderr: String,
}

/// `input` goes to the command's standard input. Dropping the future kills the process, but not a run that the command
/// detached.
async fn run(program: &Path, arguments: Vec<OsString>, input: &str) -> io::Result<Done> {
    let mut command = Command::new(program);
    command.args(["--color", "never"]).args(arguments).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // Ignore the error: a program that does not read its input reports the reason itself.
            drop(stdin.write_all(input.as_bytes()).await);
        }
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    let output = output?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Done { code: output.status.code().unwrap_or(1), stdout: text(output.stdout), stderr: text(output.stderr) })
}
