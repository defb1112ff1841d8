//! Fake programs that print what the vendors' programs printed, with their exit codes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use tempfile::TempDir;

use super::*;
use crate::fixture::{self, Heard, IDLE};
use crate::{FinishReason, Turn};

mod fence;
mod replay;

/// How a program describes itself, like the vendors' programs when these recordings were made. `CLAUDE_HELP` and
/// `FEATURES` can select other files.
const ITSELF: &str = r#"
case "$1" in --version) echo "$VERSION"; exit;; --help) cat "${CLAUDE_HELP:-$RECORDINGS/claude-2.1.332-help.txt}"; exit;; auth|login) exit 1;; esac
FEATURES="${FEATURES:-$RECORDINGS/codex-0.171.0-features.txt}"
case "$*" in
"exec --help") cat "$RECORDINGS/codex-0.171.0-exec-help.txt"; exit;;
"features list") cat "$FEATURES"; exit;;
*"features list") sed 's/true$/false/' "$FEATURES"; exit;;
esac
"#;

/// A directory that contains a program.
struct Stage {
    directory: TempDir,
}

impl Stage {
    /// Creates the program from `script`, which can store files in `$KEPT`.
    fn new(script: &str) -> Self {
        let stage = Self { directory: tempfile::tempdir().unwrap() };
        stage.replace(script);
        stage
    }

    /// Replaces the program, as an update does.
    fn replace(&self, script: &str) {
        let (new, path) = (self.directory.path().join("new"), self.directory.path().join("program"));
        // Another process writes it: a file that this process, or one that another test is starting, has open for
        // writing cannot be executed ("Text file busy").
        let mut writer = std::process::Command::new("/bin/sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(&new)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(writer.stdin.take().unwrap(), "#!/bin/sh\n{script}").unwrap();
        assert!(writer.wait().unwrap().success());
        std::fs::rename(new, path).unwrap();
    }

    /// Returns when the process has ended whose id the program kept.
    async fn is_ended(&self) {
        let pid = self.kept("pid").trim().to_owned();
        assert!(!pid.is_empty());
        let runs = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        let begun = Instant::now();
        while runs() {
            assert!(begun.elapsed() < IDLE, "{pid} goes on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    fn program(&self, name: &str) -> Program {
        let environment = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("KEPT", self.directory.path().display().to_string()),
            ("RECORDINGS", recordings().display().to_string()),
        ];
        Program {
            name: name.into(),
            preset: program_preset(name),
            executable: self.directory.path().join("program"),
            leading: Vec::new(),
            environment: environment.map(|(name, value)| (name.to_owned(), value.into())).into(),
        }
    }

    async fn ask(&self, name: &str) -> (Result<Reply, FailedAttempt>, Vec<String>) {
        ask(&CommandModel::new(self.program(name)), &request("What now?")).await
    }
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/vendor-cli")
}

fn request(prompt: &str) -> Request {
    fixture::request("a-model", "You are terse.", prompt)
}

async fn ask(model: &CommandModel, request: &Request) -> (Result<Reply, FailedAttempt>, Vec<String>) {
    let words = Heard::default();
    let answer = model.ask(request, words.live(Duration::from_millis(400))).await;
    (answer, words.texts())
}
