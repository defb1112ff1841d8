//! The signals of a running debate: published once, received by any number of subscribers.
//!
//! Publishing never waits. Each subscriber has its own bounded queue; when it is full, a [`Gap`] with a snapshot
//! replaces its contents. A slow watcher therefore cannot delay a debate or use up memory. Recorded events are never
//! lost, because a [`Follower`] reads the events in a gap from the journal.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::event::Recorded;
use crate::live::{Gap, PanelInfo, Progress, Signal};

/// The maximum number of queued signals per subscriber. Not counting words, a debate of five agents and ten rounds
/// sends fewer.
const CAPACITY: usize = 4096;
/// The interval between checks for room in the queues.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Whether a subscriber wants streamed words, which are most of the signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Wanted,
    Unwanted,
}

/// Publishes the signals of a debate to its subscribers. All clones share the same subscribers. After the last clone is
/// dropped, subscribers receive the remaining signals and then the end.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Mutex<Publisher>>);

#[derive(Debug)]
struct Publisher {
    /// The state after everything published so far, for late or slow subscribers.
    progress: Progress,
    /// The number of the last published event.
    recorded: u64,
    subscribers: Vec<Weak<Queue>>,
    capacity: usize,
}

impl Signals {
    pub fn new(panel: PanelInfo) -> Self {
        Self::behind(panel, 0)
    }

    /// `recorded` is the number of the last event in the journal.
    pub fn behind(panel: PanelInfo, recorded: u64) -> Self {
        Self::with(panel, recorded, CAPACITY)
    }

    fn with(panel: PanelInfo, recorded: u64, capacity: usize) -> Self {
        let progress = Progress::new(panel, now());
        Self(Arc::new(Mutex::new(Publisher { progress, recorded, subscribers: Vec::new(), capacity })))
    }

    fn state(&self) -> MutexGuard<'_, Publisher> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the snapshot to `panel`, which may include earlier spending. Call this once, before anyone subscribes.
    pub fn begin(&self, panel: PanelInfo) {
        self.state().progress = Progress::new(panel, now());
    }

    pub fn publish(&self, signal: Signal) {
        let mut state = self.state();
        let Publisher { progress, recorded, subscribers, capacity } = &mut *state;
        let signal = Arc::new(signal);
        subscribers.retain(|subscriber| match subscriber.upgrade() {
            Some(queue) => {
                // The snapshot in a gap is the state before this signal, which is the first one after the gap.
                queue.push(&signal, *capacity, || (progress.clone(), *recorded));
                true
            }
            None => false,
        });
        progress.see(&signal, now());
        if let Signal::Recorded(event) = &*signal {
            *recorded = event.seq;
        }
    }

    pub fn subscribe(&self, words: Words) -> (Progress, Subscription) {
        let (_, progress, subscription) = self.subscribe_behind(words);
        (progress, subscription)
    }

    /// Returns the number of the last event, the current progress, and a subscription to all later signals.
    pub fn subscribe_behind(&self, words: Words) -> (u64, Progress, Subscription) {
        let mut state = self.state();
        let queue = Arc::new(Queue::new(words));
        state.subscribers.push(Arc::downgrade(&queue));
        (state.recorded, state.progress.clone(), Subscription(queue))
    }

    pub fn is_running(&self) -> bool {
        self.state().progress.is_running()
    }

    /// Waits until every subscriber's queue is less than half full. Only for replays of past debates: a running debate
    /// never waits.
    pub async fn room(&self) {
        let has_room = |publisher: &Publisher| {
            let mut queues = publisher.subscribers.iter().filter_map(Weak::upgrade);
            queues.all(|queue| queue.contents().waiting.len() < publisher.capacity / 2)
        };
        while !has_room(&self.state()) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        for queue in self.subscribers.iter().filter_map(Weak::upgrade) {
            queue.close();
        }
    }
}

/// The time of the runtime's clock, which tests can control.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The maximum number of warnings kept for a gap.
const WARNINGS: usize = 100;

#[derive(Debug)]
pub struct Subscription(Arc<Queue>);

#[derive(Debug)]
pub(super) struct Queue {
    contents: Mutex<QueueState>,
    filled: Notify,
    ended: Notify,
    words: Words,
}

#[derive(Debug, Default)]
struct QueueState {
    /// Delivered before everything in `waiting`.
    gap: Option<Box<Gap>>,
    waiting: VecDeque<Arc<Signal>>,
    closed: bool,
}

impl Subscription {
    /// The next signal or gap; `None` once the run has ended and everything has been delivered. Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<Signal>> {
        loop {
            if let Some(next) = self.0.take() {
                return next;
            }
            // `Notify` remembers a notification that was sent after `take`.
            self.0.filled.notified().await;
        }
    }

    pub fn is_empty(&self) -> bool {
        let contents = self.0.contents();
        contents.gap.is_none() && contents.waiting.is_empty()
    }

    /// Waits for `time`, so that signals accumulate, or until the run ends.
    pub async fn gather(&self, time: Duration) {
        // A timeout is not an error here.
        let _ = timeout(time, self.0.ended.notified()).await;
    }
}

impl Queue {
    pub(super) fn new(words: Words) -> Self {
        Self { contents: Mutex::default(), filled: Notify::new(), ended: Notify::new(), words }
    }

    /// If the queue is full, a gap that ends at `snapshot` replaces the queued signals.
    pub(super) fn push(&self, signal: &Arc<Signal>, capacity: usize, snapshot: impl FnOnce() -> (Progress, u64)) {
        if self.words == Words::Unwanted && matches!(**signal, Signal::Words { .. }) {
            return;
        }
        let mut contents = self.contents();
        if contents.waiting.len() >= capacity {
            let (progress, recorded) = snapshot();
            let before = contents.gap.take();
            let (mut missed, mut warnings) = before.map_or_else(Default::default, |gap| (gap.missed, gap.warnings));
            for left_out in contents.waiting.drain(..) {
                // Recorded events do not count as missed, because a follower reads them from the journal.
                let is_read_again = matches!(*left_out, Signal::Recorded(_));
                if left_out.warning().is_some() {
                    warnings.push_back(left_out);
                } else if !is_read_again {
                    missed += 1;
                }
            }
            let surplus = warnings.len().saturating_sub(WARNINGS);
            warnings.drain(..surplus);
            missed += surplus as u64;
            contents.gap = Some(Box::new(Gap { missed, warnings, progress, recorded }));
        }
        contents.waiting.push_back(Arc::clone(signal));
        drop(contents);
        self.filled.notify_one();
    }

    pub(super) fn close(&self) {
        self.contents().closed = true;
        self.filled.notify_one();
        self.ended.notify_one();
    }

    /// The next item; `None` if there is none yet, `Some(None)` after the last one.
    #[expect(
        clippy::option_option,
        reason = "the outer option is whether there is an item, the inner one whether \
        it is the end"
    )]
    fn take(&self) -> Option<Option<Arc<Signal>>> {
        let mut contents = self.contents();
        let gap = contents.gap.take().map(|gap| Arc::new(Signal::Gap(gap)));
        let next = gap.or_else(|| contents.waiting.pop_front());
        if next.is_none() && !contents.closed { None } else { Some(next) }
    }

    fn contents(&self) -> MutexGuard<'_, QueueState> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the events of a debate in order, each once.
pub trait EventLog: Send {
    /// The next event; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the event cannot be read.
    fn next_event(&mut self) -> io::Result<Option<Recorded>>;
}

/// A subscription that misses no recorded event, because it reads dropped events from the journal.
pub struct Follower {
    subscription: Subscription,
    log: Box<dyn EventLog>,
    /// The number of the last delivered event.
    last: u64,
    /// The number of the last event to read from the journal.
    behind: u64,
    /// The warnings of a gap, to deliver after the events from the journal.
    warnings: VecDeque<Arc<Signal>>,
}

impl Follower {
    /// Follows the events after number `told`. Events up to number `recorded` precede `subscription` and are read from
    /// the log.
    pub fn new(subscription: Subscription, log: Box<dyn EventLog>, told: u64, recorded: u64) -> Self {
        Self { subscription, log, last: told, behind: recorded, warnings: VecDeque::new() }
    }

    /// The next signal; `None` once the run has ended and everything has been delivered. No recorded event is lost or
    /// reordered. A [`Signal::Gap`] stands for lost transient signals only; the last warnings among them are delivered
    /// after it. Blocks while it reads the journal.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be read. Do not call this method again afterwards.
    pub async fn next(&mut self) -> io::Result<Option<Arc<Signal>>> {
        loop {
            if self.last < self.behind {
                let event = self.read_again()?;
                self.last = event.seq;
                return Ok(Some(Arc::new(Signal::Recorded(Arc::new(event)))));
            }
            if let Some(warning) = self.warnings.pop_front() {
                return Ok(Some(warning));
            }
            let Some(signal) = self.subscription.next().await else { return Ok(None) };
            match &*signal {
                Signal::Recorded(event) => self.last = self.last.max(event.seq),
                Signal::Gap(gap) => {
                    self.behind = gap.recorded;
                    // Recorded warnings are read from the journal.
                    let is_recorded = |signal: &Arc<Signal>| matches!(**signal, Signal::Recorded(_));
                    self.warnings = gap.warnings.iter().filter(|warning| !is_recorded(warning)).cloned().collect();
                    if gap.missed == 0 {
                        continue;
                    }
                }
                _ => {}
            }
            return Ok(Some(signal));
        }
    }

    fn read_again(&mut self) -> io::Result<Recorded> {
        loop {
            match self.log.next_event()? {
                Some(event) if event.seq > self.last => return Ok(event),
                Some(_) => {}
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the journal is incomplete")),
            }
        }
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("last", &self.last).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
