//! Who watches a run: the user, a program that reads the event stream, a collector of traces. Each has a thread of its
//! own, and none of them holds up the debate.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::trace::Tracer;
use dialectic_record::signals::{Followed, Follower, Signals, Words};
use dialectic_record::store::JournalReader;
use dialectic_report::display::{DisplayOptions, EventSink, EventStream, LiveView, Messages, ProgressMode, StreamEnd};

/// How long, after an interrupt, watchers may take for what is still to be shown.
const GRACE: Duration = Duration::from_secs(1);

/// What reads the signals of a run.
pub(super) struct Watchers {
    view: LiveView,
    stream: Option<EventStream>,
    tracer: Option<oneshot::Receiver<Tracer>>,
}

/// What is left when the run is over.
pub(super) struct Seen {
    /// How the event stream ended; complete where there is none.
    pub(super) stream: StreamEnd,
    /// The tracer, with all signals taken in.
    pub(super) tracer: Option<Tracer>,
    /// Whether the user waited until all was shown.
    pub(super) waited: Waited,
}

/// Whether the user waited for the reader of the program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// Everything is shown.
    ToTheEnd,
    /// The user interrupted, and something is still unread.
    NotToTheEnd,
}

/// From where events are read again that somebody was too slow for.
pub(super) struct Log<'a> {
    /// The journal.
    pub(super) journal: &'a Path,
    /// How many events there are before those that are published.
    pub(super) before: u64,
}

impl Watchers {
    /// Subscribes everybody. Nobody who subscribes later would hear what was published before.
    pub(super) fn start(
        signals: &Signals,
        log: &Log<'_>,
        options: DisplayOptions,
        sink: Option<EventSink>,
        tracer: Option<Tracer>,
    ) -> Result<Self, Error> {
        let words = if options.progress == ProgressMode::Live { Words::Wanted } else { Words::Unwanted };
        let view = LiveView::start(signals.subscribe(words), options).map_err(Error::Runtime)?;
        let follow = |words| {
            let journal = JournalReader::open(log.journal).map_err(Error::Runtime)?;
            let (_, subscription) = signals.subscribe(words);
            Ok::<_, Error>(Follower::new(subscription, Box::new(journal), log.before))
        };
        let stream = sink.map(|sink| {
            let stream = EventStream::start(follow(Words::Wanted)?, sink, view.messages());
            stream.map_err(Error::Runtime)
        });
        let tracer = tracer.map(|tracer| trace(tracer, follow(Words::Unwanted)?).map_err(Error::Runtime));
        Ok(Self { view, stream: stream.transpose()?, tracer: tracer.transpose()? })
    }

    /// What the user sees.
    pub(super) fn view(&self) -> &LiveView {
        &self.view
    }

    /// Where something can be said to the user.
    pub(super) fn messages(&self) -> Messages {
        self.view.messages()
    }

    /// Waits until the reader of the event stream on standard output has gone.
    pub(super) async fn reader_gone(&mut self) {
        match &mut self.stream {
            Some(stream) => stream.reader_gone().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until everybody has taken in everything, once nothing more is published. They may never: from an interrupt
    /// on they have a second.
    pub(super) async fn finish(mut self, cancel: &CancellationToken) -> Seen {
        let (mut stream, mut traced) = (None, None);
        let all = async {
            if let Some(tracer) = self.tracer.take() {
                traced = tracer.await.ok();
            }
            if let Some(events) = &mut self.stream {
                stream = Some(events.ended().await);
            }
            self.view.ended().await;
        };
        let waited = tokio::select! {
            biased;
            () = all => Waited::ToTheEnd,
            () = async {
                cancel.cancelled().await;
                tokio::time::sleep(GRACE).await;
            } => Waited::NotToTheEnd,
        };
        let unread = if self.stream.is_some() { StreamEnd::Incomplete } else { StreamEnd::Complete };
        Seen { stream: stream.unwrap_or(unread), tracer: traced, waited }
    }
}

/// Has a tracer take in what `follower` is told.
fn trace(mut tracer: Tracer, mut follower: Follower) -> io::Result<oneshot::Receiver<Tracer>> {
    let (sender, ended) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    thread::Builder::new().name("trace".to_owned()).spawn(move || {
        runtime.block_on(async {
            // Events that cannot be read again end the trace there: it is no reason to disturb anybody.
            while let Ok(Some(told)) = follower.next().await {
                match told {
                    Followed::Signal(signal) => tracer.see(&signal),
                    Followed::Gap { .. } => {}
                }
            }
        });
        tracer.close();
        drop(sender.send(tracer));
    })?;
    Ok(ended)
}
