//! The program in a real terminal.

use std::ffi::OsStr;
use std::process::Command;

use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::sys::termios::{ControlFlags, InputFlags, LocalFlags, OutputFlags, Termios, tcgetattr};
use rexpect::session::{PtySession, spawn_command};

use super::{Sandbox, Screen, TEST_KEY};

const COLUMNS: usize = 90;
/// Milliseconds that the program may take for what is waited for.
const PATIENCE: u64 = 120_000;

/// A program that runs in a terminal of its own.
pub(crate) struct Terminal {
    session: PtySession,
    output: String,
    columns: usize,
}

impl Terminal {
    /// Starts the sandbox's program in a terminal of 90 columns and 30 rows.
    pub(crate) fn start<S: AsRef<OsStr>>(sandbox: &Sandbox, arguments: impl IntoIterator<Item = S>) -> Self {
        Self::start_in(COLUMNS, 30, sandbox, arguments)
    }

    /// Starts the sandbox's program in a terminal of that size.
    pub(crate) fn start_in<S: AsRef<OsStr>>(
        columns: usize,
        rows: usize,
        sandbox: &Sandbox,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let program = sandbox.command(arguments);
        let mut command = Command::new("/bin/sh");
        let script = format!("stty rows {rows} cols {columns} && exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(program.get_program()).args(program.get_args());
        command.current_dir(sandbox.directory()).env_clear().env("TERM", "xterm-256color").env("PAGER", "cat");
        // Nothing is asked about costs unless a test wants to be: the models of most tests have no price.
        if program
            .get_args()
            .next()
            .is_some_and(|first| ["debate", "fork", "resume", "ask", "eval"].iter().any(|pays| first == *pays))
        {
            command.env("CI", "1");
        }
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let session = spawn_command(command, Some(PATIENCE)).expect("a terminal can be opened");
        Self { session, output: String::new(), columns }
    }

    /// Waits until the program has written `text`, in one piece.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let needle = as_read(text);
        match self.session.exp_string(&needle) {
            Ok(before) => self.output += &(before + &needle),
            Err(error) => panic!("{text:?} never came: {error}\nbefore: {:?}", self.output),
        }
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.session.send_line(line).expect("the terminal takes input");
    }

    /// Types text without Enter.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.session.send(text).and_then(|_| self.session.flush()).expect("the terminal takes input");
    }

    /// Types a key together with Ctrl.
    pub(crate) fn type_control(&mut self, key: char) {
        self.session.send_control(key).expect("the terminal takes input");
    }

    /// Sends a signal.
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.session.process_mut().signal(signal).expect("a program that runs can be signalled");
    }

    /// Waits for the end with that exit code. Returns all that was written, and what the screen shows then. Panics when
    /// the terminal is not left as it was found.
    #[track_caller]
    pub(crate) fn expect_code(self, expected: i32) -> (String, Screen) {
        let (code, output, screen) = self.finish();
        assert_eq!(code, expected, "{output}");
        assert!(screen.is_left_as_found(), "{output:?}");
        (output, screen)
    }

    /// Waits for the end, whatever the exit code and the screen. Panics when the terminal is left in other modes than it
    /// was found in.
    pub(crate) fn finish(mut self) -> (i32, String, Screen) {
        match self.session.exp_eof() {
            Ok(rest) => self.output += &rest,
            Err(error) => panic!("the program did not end: {error}\nbefore: {:?}", self.output),
        }
        let status = self.session.process().wait().expect("the program can be waited for");
        let rexpect::process::WaitStatus::Exited(_, code) = status else { panic!("it ended with {status:?}") };
        let output = as_written(&self.output);
        assert!(!output.contains(TEST_KEY), "the API key shows in the output");
        let left = self.session.process().get_file_handle().map(tcgetattr);
        let left = left.expect("the terminal is still there").expect("a terminal has modes");
        assert_eq!(Modes::of(&left), Modes::fresh(), "the terminal is left in other modes: {output:?}");
        let screen = Screen::showing(&output, self.columns);
        (code, output, screen)
    }
}

/// What a program may change of a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Modes(InputFlags, OutputFlags, ControlFlags, LocalFlags);

impl Modes {
    fn of(terminal: &Termios) -> Self {
        Self(terminal.input_flags, terminal.output_flags, terminal.control_flags, terminal.local_flags)
    }

    /// Of a terminal that nobody has changed, but for the echo, which the session switches off.
    fn fresh() -> Self {
        let pair = openpty(None, None).expect("a terminal can be opened");
        let mut modes = Self::of(&tcgetattr(pair.slave).expect("a terminal has modes"));
        modes.3.remove(LocalFlags::ECHO);
        modes
    }
}

/// The session reads a character for each byte.
fn as_read(text: &str) -> String {
    text.bytes().map(char::from).collect()
}

/// What was written, from what the session has read.
fn as_written(read: &str) -> String {
    let bytes = read.chars().map(|c| u8::try_from(c).expect("a character stands for a byte"));
    String::from_utf8(bytes.collect()).expect("the program writes UTF-8")
}
