//! The program as a process: what goes in, what comes out, and how it is stopped.

use std::fmt;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::TEST_KEY;

/// A program that runs. Dropped, it is killed.
pub(crate) struct Running {
    child: Child,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Closed when both outputs have ended.
    outputs: Receiver<()>,
    deadline: Instant,
    directory: PathBuf,
}

/// What a program left behind.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    /// The exit code; absent if it was killed by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    directory: PathBuf,
}

impl Running {
    pub(crate) fn start(mut command: Command, input: &[u8], limit: Duration, directory: PathBuf) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let (closing, outputs) = channel();
        let stdout = collect(child.stdout.take().expect("stdout is piped"), closing.clone());
        let stderr = collect(child.stderr.take().expect("stderr is piped"), closing);
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let input = input.to_vec();
        // In a thread: a program that does not read must not block the test. One that ends early breaks the pipe.
        if input.len() <= 4096 {
            // A pipe holds this much, so a program that ends soon still finds it.
            drop(stdin.write_all(&input));
        } else {
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        Self { child, stdout, stderr, outputs, deadline: Instant::now() + limit, directory }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stdout so far.
    pub(crate) fn stdout(&self) -> String {
        text(&self.stdout)
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().cast_signed());
        kill(id, signal).expect("a child that was not waited for can be signalled");
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) -> Finished {
        self.child.kill().expect("a child can be killed");
        self.wait()
    }

    /// Waits for its end. Panics when it takes longer than the limit, and when a panic or the API key shows in its
    /// output: neither may ever reach a user.
    pub(crate) fn wait(mut self) -> Finished {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // Nobody sends: the channel ends with the outputs, and those normally end with the process.
        let mut in_time = self.outputs.recv_timeout(left) != Err(RecvTimeoutError::Timeout);
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break Some(status),
                None if Instant::now() >= self.deadline => break None,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        in_time &= status.is_some();
        let finished = Finished {
            code: status.and_then(|status| status.code()),
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
            directory: self.directory.clone(),
        };
        assert!(in_time, "the program did not end in time:\n{finished}");
        for (unwanted, name) in [(TEST_KEY, "the API key"), ("panicked at", "a panic")] {
            let shows = finished.stdout.contains(unwanted) || finished.stderr.contains(unwanted);
            assert!(!shows, "{name} shows in the output:\n{finished}");
        }
        finished
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Panics with everything the program said when the exit code is another one.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The JSON that it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Panics with everything the program said when one of these is not in stderr.
    #[track_caller]
    pub(crate) fn says<S: AsRef<str>>(self, parts: impl IntoIterator<Item = S>) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part.as_ref()), "{:?} is not said\n{self}", part.as_ref());
        }
        self
    }

    /// The same of stdout.
    #[track_caller]
    pub(crate) fn prints<S: AsRef<str>>(self, parts: impl IntoIterator<Item = S>) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part.as_ref()), "{:?} is not printed\n{self}", part.as_ref());
        }
        self
    }
}

/// Exit code and both outputs in one text, for snapshots: the directory and debate ids are replaced.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit: {code}")?,
            None => writeln!(f, "exit: by a signal")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let text = text.replace(&*self.directory.to_string_lossy(), "[directory]");
            writeln!(f, "--- {name}\n{}", without_ids(&text))?;
        }
        Ok(())
    }
}

/// For snapshots of what was said about a run: times and the port of the model server are replaced.
pub(crate) fn redactions() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b\d+\.\d s\b", "[time]");
    settings.add_filter(r"127\.0\.0\.1:\d+", "[server]");
    settings.add_filter(r"dialectic (show|ask|report) [0-9a-z]{4}\b", "dialectic $1 [id]");
    settings
}

/// `deb-20250101-010203-ab12` becomes `[id]`.
fn without_ids(text: &str) -> String {
    const SHAPE: &str = "deb-00000000-000000-aaaa";
    let fits = |candidate: &str| {
        candidate.chars().zip(SHAPE.chars()).all(|(c, shape)| match shape {
            '0' => c.is_ascii_digit(),
            'a' => c.is_ascii_digit() || c.is_ascii_lowercase(),
            other => c == other,
        })
    };
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("deb-") {
        let (before, found) = rest.split_at(start);
        result.push_str(before);
        let (shown, length) =
            if found.get(..SHAPE.len()).is_some_and(fits) { ("[id]", SHAPE.len()) } else { ("deb-", "deb-".len()) };
        result.push_str(shown);
        rest = &found[length..];
    }
    result + rest
}

/// Waits until it is so; panics after two minutes, which no machine is too busy for.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn collect(mut from: impl Read + Send + 'static, closing: Sender<()>) -> Arc<Mutex<Vec<u8>>> {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&collected);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            into.lock().expect("no holder of the output panics").extend_from_slice(&buffer[..count]);
        }
        drop(closing);
    });
    collected
}

fn text(output: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&output.lock().expect("no holder of the output panics")).into_owned()
}
