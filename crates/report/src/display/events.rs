//! Writes the event stream: every signal as a line of JSON, on a separate thread.

#![expect(clippy::disallowed_methods, reason = "output is escaped before it is printed here")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use tokio::sync::watch;

use dialectic_base::sanitize::escaped_json;
use dialectic_record::live::{Follower, Signal};

use super::view::Messages;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    Complete,
    /// Some events were not written, and the user was notified.
    Incomplete,
    /// The reader closed standard output, which is not an error.
    ReaderGone,
}

/// The stream ends after the last signal or an error, or when the reader closes standard output.
#[derive(Debug)]
pub struct EventStream {
    end: watch::Receiver<Option<StreamEnd>>,
}

impl EventStream {
    /// Writes the signals of `follower` to `sink` on a separate thread, and shows errors through `messages`.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot start a thread.
    pub fn start(follower: Follower, sink: EventSink, messages: Messages) -> io::Result<Self> {
        let (ended, end) = watch::channel(None);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        thread::Builder::new().name("events".to_owned()).spawn(move || {
            let end = runtime.block_on(write(follower, sink, &messages));
            ended.send_replace(Some(end));
        })?;
        Ok(Self { end })
    }

    /// Resolves when the reader closes standard output. Never resolves if the stream ends for a different reason.
    pub async fn reader_gone(&mut self) {
        if self.end.wait_for(|end| *end == Some(StreamEnd::ReaderGone)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the end of the stream. A stalled reader may delay it forever.
    pub async fn ended(&mut self) -> StreamEnd {
        let end = self.end.wait_for(Option::is_some).await;
        end.ok().and_then(|end| *end).unwrap_or(StreamEnd::Incomplete)
    }
}

async fn write(mut follower: Follower, mut sink: EventSink, messages: &Messages) -> StreamEnd {
    loop {
        let written = match follower.next().await {
            Ok(None) => return StreamEnd::Complete,
            Ok(Some(signal)) => sink.write(&signal),
            Err(source) => Err(EventSinkError::Unread(source)),
        };
        match written {
            Ok(()) => {}
            Err(EventSinkError::ReaderGone) => return StreamEnd::ReaderGone,
            Err(error @ (EventSinkError::Unwritable { .. } | EventSinkError::Unread(_))) => {
                messages.error(error);
                return StreamEnd::Incomplete;
            }
        }
    }
}

/// Writes events to a file or to stdout. Flushes each line, so that readers see events immediately.
pub struct EventSink {
    out: Box<dyn Write + Send>,
    /// The name to use in errors; `None` for stdout.
    name: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum EventSinkError {
    #[error("the reader closed the event stream")]
    ReaderGone,
    #[error("cannot read missed events from the journal")]
    Unread(#[source] io::Error),
    #[error("cannot write the event stream to {target}")]
    Unwritable {
        /// The file's path, or `stdout`.
        target: String,
        source: io::Error,
    },
}

/// Serializes a signal as one line of JSON, without a line break. Escapes everything that could control a terminal.
///
/// # Errors
///
/// Never fails for this program's signals.
pub fn event_line(signal: &Signal) -> serde_json::Result<String> {
    serde_json::to_string(signal).map(escaped_json)
}

impl EventSink {
    pub fn stdout() -> Self {
        Self { out: Box::new(io::stdout()), name: None }
    }

    /// Creates or truncates the file at `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path.display().to_string(), Box::new(File::create(path)?)))
    }

    /// Errors refer to `out` as `name`.
    pub fn new(name: String, out: Box<dyn Write + Send>) -> Self {
        Self { out, name: Some(name) }
    }

    /// Writes `signal` as one line.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be written. Do not write to the sink after an error.
    pub fn write(&mut self, signal: &Signal) -> Result<(), EventSinkError> {
        let mut line = event_line(signal).map_err(|error| self.failed(error.into()))?;
        line.push('\n');
        let written = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> EventSinkError {
        match &self.name {
            None if source.kind() == io::ErrorKind::BrokenPipe => EventSinkError::ReaderGone,
            name => EventSinkError::Unwritable { target: name.clone().unwrap_or_else(|| "stdout".to_owned()), source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use crate::display::tests::{FailingWriter, SharedBuffer};
    use crate::display::{ColorMode, DisplayOptions, LiveView, ProgressMode};
    use dialectic_base::money::BudgetLimit;
    use dialectic_record::debate::fixture::{
        CRITIQUE, PROPOSAL, SUMMARIZATION, call_started, contributed, panel, retrying, round_begun, warning, words,
    };
    use dialectic_record::event::{Event, Recorded};
    use dialectic_record::ids::Timestamp;
    use dialectic_record::live::{EventLog, Gap, Progress, Signal, Signals, Words, now};

    use super::*;

    fn lines(signals: &[Signal]) -> Vec<String> {
        let shared = SharedBuffer::default();
        let mut sink = EventSink::new("memory".to_owned(), Box::new(shared.clone()));
        for signal in signals {
            sink.write(signal).unwrap();
        }
        shared.text().split_terminator('\n').map(str::to_owned).collect()
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
        let progress = Progress::new(panel(), now());
        let gap = Gap { missed: 12, warnings: [warning("x").into()].into(), progress, recorded: 3 };
        assert_eq!(lines(&[Signal::Gap(gap.into())]), [r#"{"signal":"gap","missed":12}"#]);
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
        let fail = |name: Option<&str>, kind| {
            let mut sink = EventSink { out: Box::new(FailingWriter(kind)), name: name.map(str::to_owned) };
            sink.write(&warning("x")).unwrap_err()
        };
        let file = || Some("events.ndjson");
        assert!(matches!(fail(None, io::ErrorKind::BrokenPipe), EventSinkError::ReaderGone));
        let full = fail(None, io::ErrorKind::StorageFull);
        assert_eq!(full.to_string(), "cannot write the event stream to stdout");
        let closed = fail(file(), io::ErrorKind::BrokenPipe);
        assert_eq!(closed.to_string(), "cannot write the event stream to events.ndjson");
    }

    /// An append-only journal in memory.
    #[derive(Clone, Default)]
    struct EventSource(Arc<Mutex<Vec<Recorded>>>);

    struct SourceReader(EventSource, usize);

    impl EventLog for SourceReader {
        fn next_event(&mut self) -> io::Result<Option<Recorded>> {
            let event = self.0.0.lock().unwrap().get(self.1).cloned();
            self.1 += usize::from(event.is_some());
            Ok(event)
        }
    }

    /// A sink that accepts each line only when permitted.
    struct Stopped {
        may_go_on: Receiver<()>,
        lines: Sender<String>,
    }

    impl Write for Stopped {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.may_go_on.recv().ok();
            self.lines.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn follower(signals: &Signals, journal: &EventSource, before: u64) -> Follower {
        Follower::new(signals.subscribe(Words::Wanted).1, Box::new(SourceReader(journal.clone(), 0)), before, before)
    }

    fn messages(signals: &Signals) -> Messages {
        let options = DisplayOptions { progress: ProgressMode::Quiet, color: ColorMode::Never };
        LiveView::start(signals.subscribe(Words::Unwanted), options).unwrap().messages()
    }

    fn record(signals: &Signals, journal: &EventSource, round: u32) {
        let mut events = journal.0.lock().unwrap();
        let seq = events.len() as u64 + 1;
        let event = Recorded { seq, at: Timestamp::now(), event: Event::RoundBegun { round, stage: SUMMARIZATION } };
        events.push(event.clone());
        signals.publish(Signal::Recorded(Arc::new(event)));
    }

    #[tokio::test]
    async fn a_reader_that_stops_misses_words_and_no_event() {
        let (signals, journal) = (Signals::new(panel()), EventSource::default());
        // Events of an earlier run are neither published nor read again.
        for round in 1..=2 {
            let event = Recorded { seq: round, at: Timestamp::now(), event: Event::Resumed(BudgetLimit::default()) };
            journal.0.lock().unwrap().push(event);
        }
        let (go_on, may_go_on) = channel();
        let (lines, written) = channel();
        let sink = EventSink::new("memory".to_owned(), Box::new(Stopped { may_go_on, lines }));
        let mut stream = EventStream::start(follower(&signals, &journal, 2), sink, messages(&signals)).unwrap();
        record(&signals, &journal, 1);
        // The thread blocks on its first line, but nothing else does.
        for round in 2..=20_000 {
            if round % 10 == 0 {
                record(&signals, &journal, round);
            } else {
                signals.publish(words(PROPOSAL, "agent-kiss", None, "and"));
            }
            if round == 5 {
                signals.publish(warning("look out"));
            }
        }
        drop(signals);
        drop(go_on);
        assert_eq!(stream.ended().await, StreamEnd::Complete);
        let written: Vec<Value> = written.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        let recorded = written.iter().filter(|line| line["signal"] == "recorded").map(|line| line["seq"].as_u64());
        assert!(recorded.eq((3..=2_003).map(Some)), "{:?}", &written[..20]);
        let count = |signal: &str| written.iter().filter(|line| line["signal"] == signal).count();
        let missed: u64 = written.iter().filter_map(|line| line["missed"].as_u64()).sum();
        assert_eq!(count("words") as u64 + missed, 19_999 - 2_000);
        assert!(count("words") < 5_000, "the queue is not bounded");
        assert_eq!(count("warning"), 1);
        assert!((1..=2).contains(&count("gap")), "{}", count("gap"));
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_and_a_disk_that_is_full_end_the_stream() {
        let ends = |sink: EventSink| {
            let (signals, journal) = (Signals::new(panel()), EventSource::default());
            let stream = EventStream::start(follower(&signals, &journal, 0), sink, messages(&signals)).unwrap();
            signals.publish(warning("unseen"));
            (stream, signals)
        };
        let closed = EventSink { out: Box::new(FailingWriter(io::ErrorKind::BrokenPipe)), name: None };
        let (mut gone, signals) = ends(closed);
        // The debate is still running.
        gone.reader_gone().await;
        drop(signals);
        let full = EventSink::new("events.ndjson".to_owned(), Box::new(FailingWriter(io::ErrorKind::StorageFull)));
        let (mut full, signals) = ends(full);
        assert_eq!(full.ended().await, StreamEnd::Incomplete);
        drop(signals);
    }

    #[tokio::test]
    async fn a_journal_that_cannot_be_read_again_is_an_incomplete_stream() {
        let (signals, journal) = (Signals::new(panel()), EventSource::default());
        let (go_on, may_go_on) = channel();
        let (lines, written) = channel();
        let sink = EventSink::new("memory".to_owned(), Box::new(Stopped { may_go_on, lines }));
        let mut stream = EventStream::start(follower(&signals, &journal, 0), sink, messages(&signals)).unwrap();
        for round in 1..=20_000 {
            record(&signals, &journal, round);
        }
        journal.0.lock().unwrap().clear();
        drop((signals, go_on));
        assert_eq!(stream.ended().await, StreamEnd::Incomplete);
        assert!(written.iter().count() < 20_000);
    }
}
