//! Runs the program itself for one command.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

#[derive(Debug, Clone)]
pub(super) struct Program(PathBuf);

/// The result of a command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Program {
    pub(super) fn this() -> io::Result<Self> {
        std::env::current_exe().map(Self)
    }

    /// Runs a command to its end, with text on its standard input. Dropping the future ends it; a run that it detached
    /// continues.
    pub(super) async fn run(&self, arguments: Vec<OsString>, input: &str) -> io::Result<Done> {
        let mut command = Command::new(&self.0);
        command.args(["--color", "never"]).args(arguments).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input reports the reason itself.
                drop(stdin.write_all(input.as_bytes()).await);
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        let output = output?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Done { code: output.status.code().unwrap_or(1), stdout: text(output.stdout), stderr: text(output.stderr) })
    }
}
