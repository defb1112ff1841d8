//! The thread that writes the event stream.

use std::io;
use std::thread;

use tokio::sync::watch;

use dialectic_record::signals::{Followed, Follower};

use super::ndjson::{EventSink, EventSinkError};
use super::view::Messages;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// All of it was written.
    Complete,
    /// Something is missing, and the user was notified.
    Incomplete,
    /// The reader of standard output has closed it, which is not an error.
    ReaderGone,
}

/// An event stream being written. It ends with the signals, or when standard output is closed.
#[derive(Debug)]
pub struct EventStream {
    end: watch::Receiver<Option<StreamEnd>>,
}

impl EventStream {
    /// Writes the items of `follower` to `sink` on a separate thread. Errors go to `messages`.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(follower: Follower, sink: EventSink, messages: Messages) -> io::Result<Self> {
        let (ended, end) = watch::channel(None);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        thread::Builder::new().name("events".to_owned()).spawn(move || {
            let end = runtime.block_on(write(follower, sink, &messages));
            ended.send_replace(Some(end));
        })?;
        Ok(Self { end })
    }

    /// Waits until the reader has closed standard output. Never resolves if the stream ends otherwise.
    pub async fn reader_gone(&mut self) {
        if self.end.wait_for(|end| *end == Some(StreamEnd::ReaderGone)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the stream has ended. A stalled reader may delay this forever.
    pub async fn ended(&mut self) -> StreamEnd {
        let end = self.end.wait_for(Option::is_some).await;
        end.ok().and_then(|end| *end).unwrap_or(StreamEnd::Incomplete)
    }
}

async fn write(mut follower: Follower, mut sink: EventSink, messages: &Messages) -> StreamEnd {
    loop {
        let written = match follower.next().await {
            Ok(None) => return StreamEnd::Complete,
            Ok(Some(Followed::Signal(signal))) => sink.write(&signal),
            Ok(Some(Followed::Gap { missed })) => sink.write_gap(missed),
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use crate::display::{ColorMode, DisplayOptions, LiveView, ProgressMode};
    use dialectic_record::debate::fixture::{PROPOSAL, SUMMARIZATION, panel, warning, words};
    use dialectic_record::debate::{Event, Recorded, Signal, Timestamp};
    use dialectic_record::signals::{EventLog, Signals, Words};

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

    /// A sink that accepts a line only when permitted.
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

    struct FailingSink(io::ErrorKind);

    impl Write for FailingSink {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
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
            let event = Recorded { seq: round, at: Timestamp::now(), event: Event::Resumed };
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
        let (mut gone, signals) = ends(EventSink::of_stdout(Box::new(FailingSink(io::ErrorKind::BrokenPipe))));
        // The debate is still running.
        gone.reader_gone().await;
        drop(signals);
        let full = EventSink::new("events.ndjson".to_owned(), Box::new(FailingSink(io::ErrorKind::StorageFull)));
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
