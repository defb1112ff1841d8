//! The watchers of a run: the user, the reader of the event stream, and a trace collector. Each has its own thread, so
//! that it cannot delay the debate.

use std::path::Path;
use std::time::Duration;
use std::{io, thread};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::trace::Tracer;
use dialectic_record::signals::{Follower, Signals, Words};
use dialectic_record::store::JournalReader;
use dialectic_report::display::{DisplayOptions, EventSink, EventStream, LiveView, Messages, ProgressMode, StreamEnd};

/// The time limit for watchers after an interrupt.
const GRACE: Duration = Duration::from_secs(1);

/// The consumers of a run's signals.
pub(super) struct Watchers {
    view: LiveView,
    stream: Option<EventStream>,
    tracer: Option<oneshot::Receiver<Tracer>>,
}

/// The watchers' results after a run.
pub(super) struct Seen {
    /// How the event stream ended; complete without a stream.
    pub(super) stream: StreamEnd,
    /// The tracer after all signals.
    pub(super) tracer: Option<Tracer>,
    /// Whether the user waited for all output to be read.
    pub(super) is_whole: bool,
}

/// The source of events that a watcher missed.
pub(super) struct Log<'a> {
    pub(super) journal: &'a Path,
    /// The number of events before the published ones.
    pub(super) before: u64,
}

impl Watchers {
    /// Subscribes all watchers; later subscribers would miss signals.
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
            Ok::<_, Error>(Follower::new(subscription, Box::new(journal), log.before, log.before))
        };
        let stream = sink.map(|sink| {
            let stream = EventStream::start(follow(Words::Wanted)?, sink, view.messages());
            stream.map_err(Error::Runtime)
        });
        let tracer = tracer.map(|tracer| trace(tracer, follow(Words::Unwanted)?).map_err(Error::Runtime));
        Ok(Self { view, stream: stream.transpose()?, tracer: tracer.transpose()? })
    }

    pub(super) fn view(&self) -> &LiveView {
        &self.view
    }

    pub(super) fn messages(&self) -> Messages {
        self.view.messages()
    }

    /// Waits until the reader of the event stream closes standard output.
    pub(super) async fn reader_gone(&mut self) {
        match &mut self.stream {
            Some(stream) => stream.reader_gone().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until all watchers have finished after the last signal. After an interrupt they have one second.
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
        let is_whole = tokio::select! {
            biased;
            () = all => true,
            () = async {
                cancel.cancelled().await;
                tokio::time::sleep(GRACE).await;
            } => false,
        };
        let unread = if self.stream.is_some() { StreamEnd::Incomplete } else { StreamEnd::Complete };
        Seen { stream: stream.unwrap_or(unread), tracer: traced, is_whole }
    }
}

/// Feeds a tracer with the items of `follower`.
fn trace(mut tracer: Tracer, mut follower: Follower) -> io::Result<oneshot::Receiver<Tracer>> {
    let (sender, ended) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    thread::Builder::new().name("trace".to_owned()).spawn(move || {
        runtime.block_on(async {
            // Unreadable events end the trace without a message.
            while let Ok(Some(signal)) = follower.next().await {
                tracer.see(&signal);
            }
        });
        tracer.close();
        drop(sender.send(tracer));
    })?;
    Ok(ended)
}
