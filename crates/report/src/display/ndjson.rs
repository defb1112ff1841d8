//! The event stream: every signal as one line of JSON.

#![expect(clippy::disallowed_methods, reason = "output is escaped before it is printed here")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use dialectic_base::sanitize::escaped_json;
use dialectic_record::debate::Signal;

/// The destination of the event stream. Each line is flushed at once.
pub struct EventSink {
    out: Box<dyn Write + Send>,
    target: EventTarget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EventTarget {
    Stdout,
    Other { name: String },
}

#[derive(Serialize)]
struct GapLine {
    signal: &'static str,
    missed: u64,
}

/// Why the event stream ended before the debate.
#[derive(Debug, thiserror::Error)]
pub enum EventSinkError {
    /// The reader has closed stdout, which is not an error.
    #[error("the event stream has no reader any more")]
    ReaderGone,
    /// Events that were missed cannot be read from the journal.
    #[error("the event stream cannot be rebuilt from the journal")]
    Unread(#[source] io::Error),
    #[error("the event stream cannot be written to {target}")]
    Unwritable {
        /// The file's path, or `stdout`.
        target: String,
        source: io::Error,
    },
}

/// A signal as one line of JSON without anything that could control a terminal.
///
/// # Errors
/// None for this program's signals.
pub fn event_line(signal: &Signal) -> serde_json::Result<String> {
    as_line(signal)
}

/// The line for `missed` dropped signals, none of them an event.
///
/// # Errors
/// None.
pub fn gap_line(missed: u64) -> serde_json::Result<String> {
    as_line(&GapLine { signal: "gap", missed })
}

fn as_line(line: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(line).map(escaped_json)
}

impl EventSink {
    pub fn stdout() -> Self {
        Self::of_stdout(Box::new(io::stdout()))
    }

    pub(super) fn of_stdout(out: Box<dyn Write + Send>) -> Self {
        Self { out, target: EventTarget::Stdout }
    }

    /// A sink to the file at `path`, which is created or truncated.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path.display().to_string(), Box::new(File::create(path)?)))
    }

    /// A sink to any writer, which errors call `name`.
    pub fn new(name: String, out: Box<dyn Write + Send>) -> Self {
        Self { out, target: EventTarget::Other { name } }
    }

    /// Writes `signal` as one line.
    ///
    /// # Errors
    /// It cannot be written; write nothing more after that.
    pub fn write(&mut self, signal: &Signal) -> Result<(), EventSinkError> {
        self.line(signal)
    }

    /// Writes the number of dropped signals, none of them an event.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn write_gap(&mut self, missed: u64) -> Result<(), EventSinkError> {
        self.line(&GapLine { signal: "gap", missed })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), EventSinkError> {
        let mut line = as_line(line).map_err(|error| self.failed(error.into()))?;
        line.push('\n');
        let written = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> EventSinkError {
        match &self.target {
            EventTarget::Stdout if source.kind() == io::ErrorKind::BrokenPipe => EventSinkError::ReaderGone,
            EventTarget::Stdout => EventSinkError::Unwritable { target: "stdout".to_owned(), source },
            EventTarget::Other { name } => EventSinkError::Unwritable { target: name.clone(), source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use dialectic_record::debate::fixture::{
        CRITIQUE, PROPOSAL, call_started, contributed, retrying, round_begun, warning, words,
    };

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct FailingWriter(io::ErrorKind);

    impl Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(signals: &[Signal]) -> Vec<String> {
        let shared = SharedBuffer::default();
        let mut sink = EventSink::new("memory".to_owned(), Box::new(shared.clone()));
        for signal in signals {
            sink.write(signal).unwrap();
        }
        let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    #[test]
    fn every_signal_is_one_line_that_parses() {
        let signals = [
            round_begun(1),
            call_started(CRITIQUE, "agent-kiss", Some("agent-architect")),
            retrying(CRITIQUE, "agent-kiss", None, "rate\nlimited"),
            contributed(PROPOSAL, "agent-kiss", None),
            warning("look"),
            words(PROPOSAL, "agent-kiss", None, "one\ntwo "),
        ];
        let lines = lines(&signals);
        assert_eq!(lines.len(), signals.len());
        let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(parsed[0]["signal"], "recorded");
        assert_eq!(parsed[0]["type"], "round-begun");
        assert_eq!(parsed[1]["key"]["targetAgentId"], "agent-architect");
        assert_eq!(parsed[2]["waitMs"], 4_000);
        assert_eq!(parsed[2]["error"], "rate\nlimited");
        assert_eq!(parsed[3]["contribution"]["content"], "text");
        assert_eq!(parsed[4], serde_json::json!({"signal": "warning", "message": "look"}));
        assert_eq!((&parsed[5]["signal"], &parsed[5]["text"]), (&"words".into(), &"one\ntwo ".into()));
    }

    #[test]
    fn a_gap_is_a_line_of_its_own() {
        let shared = SharedBuffer::default();
        let mut sink = EventSink::new("memory".to_owned(), Box::new(shared.clone()));
        sink.write_gap(12).unwrap();
        assert_eq!(*shared.0.lock().unwrap(), *b"{\"signal\":\"gap\",\"missed\":12}\n");
    }

    #[test]
    fn no_line_steers_a_terminal_or_breaks_in_two_and_nothing_is_lost() {
        let message = "esc \u{1b}[2J c1 \u{9b} nel \u{85} del \u{7f} bidi \u{202e} ls \u{2028} ok é";
        let [line] = lines(&[warning(message)]).try_into().unwrap();
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}' || c == '\u{2028}'), "{line}");
        assert!(line.contains("ok é"));
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["message"], message);
    }

    #[test]
    fn only_a_closed_stdout_is_no_error() {
        let fail = |target: EventTarget, kind| {
            let mut sink = EventSink { out: Box::new(FailingWriter(kind)), target };
            sink.write(&warning("x")).unwrap_err()
        };
        let file = || EventTarget::Other { name: "events.ndjson".to_owned() };
        assert!(matches!(fail(EventTarget::Stdout, io::ErrorKind::BrokenPipe), EventSinkError::ReaderGone));
        let full = fail(EventTarget::Stdout, io::ErrorKind::StorageFull);
        assert_eq!(full.to_string(), "the event stream cannot be written to stdout");
        let closed = fail(file(), io::ErrorKind::BrokenPipe);
        assert_eq!(closed.to_string(), "the event stream cannot be written to events.ndjson");
    }
}
