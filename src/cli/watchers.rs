//! Connects a run with its watchers: the live view, the event stream and the tracer. Also handles the user's keys and
//! interrupts. Each watcher has its own thread, so that it cannot delay the debate.

use std::time::Duration;
use std::{io, thread};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::trace::Tracer;
use dialectic_record::live::{Follower, Signals, Words};
use dialectic_report::display::{
    DisplayOptions, EventSink, EventStream, KeysMeaning, LiveView, Messages, ProgressMode, StreamEnd,
};

use super::interrupt::{Interrupts, give_way, interrupt};
use super::keys::{Key, Keyboard};

/// How long watchers may take to finish after an interrupt.
const GRACE: Duration = Duration::from_secs(1);

pub(super) struct Watchers {
    view: LiveView,
    stream: Option<EventStream>,
    tracer: Option<oneshot::Receiver<Tracer>>,
    pub(super) keyboard: Option<Keyboard>,
    interrupts: JoinHandle<()>,
    pub(super) cancel: CancellationToken,
}

pub(super) struct Seen {
    /// `Complete` if there is no event stream.
    pub(super) stream: StreamEnd,
    /// False if watchers did not finish in time after an interrupt.
    pub(super) is_whole: bool,
}

impl Watchers {
    /// The first interrupt cancels `cancel`. Must be called before the run starts, because watchers miss earlier
    /// signals.
    pub(super) fn start(signals: &Signals, options: DisplayOptions, cancel: &CancellationToken) -> Result<Self, Error> {
        let interrupts = Interrupts::listen();
        let words = if options.progress == ProgressMode::Live { Words::Wanted } else { Words::Unwanted };
        let view = LiveView::start(signals.subscribe(words), options).map_err(Error::Runtime)?;
        let interrupts = tokio::spawn(interrupt(interrupts, cancel.clone(), view.clone()));
        Ok(Self { view, stream: None, tracer: None, keyboard: None, interrupts, cancel: cancel.clone() })
    }

    pub(super) fn add_stream(&mut self, sink: EventSink, follower: Follower) -> Result<(), Error> {
        self.stream = Some(EventStream::start(follower, sink, self.messages()).map_err(Error::Runtime)?);
        Ok(())
    }

    pub(super) fn add_tracer(&mut self, tracer: Tracer, follower: Follower) -> Result<(), Error> {
        self.tracer = Some(trace(tracer, follower).map_err(Error::Runtime)?);
        Ok(())
    }

    /// Starts to read keys if there is a live view and standard input is a terminal; otherwise, the result never yields
    /// a key. The view shows `meaning` to explain the keys.
    pub(super) fn read_keys(&mut self, options: DisplayOptions, meaning: KeysMeaning) -> UnboundedReceiver<Key> {
        let (pressed, keys) = unbounded_channel();
        if options.progress == ProgressMode::Live {
            self.keyboard = Keyboard::listen(pressed);
            give_way(self.messages(), self.keyboard.clone());
            if self.keyboard.is_some() {
                self.messages().key(meaning);
            }
        }
        keys
    }

    pub(super) fn messages(&self) -> Messages {
        self.view.messages()
    }

    /// Resolves when the reader of the event stream is gone. Never resolves if there is no event stream.
    pub(super) async fn reader_gone(&mut self) {
        match &mut self.stream {
            Some(stream) => stream.reader_gone().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until all watchers have finished, or one second after an interrupt. They finish once the last publisher of
    /// signals is dropped. Returns the tracer if it has received all signals.
    pub(super) async fn finish(mut self) -> (Seen, Option<Tracer>) {
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
                self.cancel.cancelled().await;
                tokio::time::sleep(GRACE).await;
            } => false,
        };
        if let Some(keyboard) = &self.keyboard {
            // From here on, the terminal may belong to a pager or the shell, so keep the keyboard off.
            std::mem::forget(keyboard.off());
        }
        self.interrupts.abort();
        let unread = if self.stream.is_some() { StreamEnd::Incomplete } else { StreamEnd::Complete };
        (Seen { stream: stream.unwrap_or(unread), is_whole }, traced)
    }
}

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
