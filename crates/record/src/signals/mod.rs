//! The signals of a running debate: published once, received by any number of subscribers.
//!
//! Publishing never waits. Each subscriber has its own bounded queue; when that is full, a [`Gap`] with a snapshot
//! replaces its contents. So no watcher, however slow, can delay a debate or grow its memory. Recorded events are never
//! lost: a [`Follower`] reads those in a gap from the journal.

mod subscription;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::debate::{PanelInfo, Progress, Signal};

pub use subscription::{EventLog, Followed, Follower, Gap, Subscription, Update};

use subscription::Queue;

/// The maximum queued signals per subscriber. A debate of five agents and ten rounds sends fewer, apart from words.
const CAPACITY: usize = 4096;
/// The polling interval while waiting for room.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Whether a subscriber wants streamed words, which make up most signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Words are delivered.
    Wanted,
    /// Words are left out.
    Unwanted,
}

/// Publishes the signals of a debate to subscribers. Clones share the same subscribers; when the last one is dropped,
/// subscribers receive the rest and then the end.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Hub>);

#[derive(Debug)]
struct Hub {
    state: Mutex<PublisherState>,
    capacity: usize,
}

#[derive(Debug)]
struct PublisherState {
    /// The reduced state of everything published, for late or slow subscribers.
    progress: Progress,
    /// The last published event.
    recorded: u64,
    subscribers: Vec<Weak<Queue>>,
}

impl Signals {
    /// The signals of a debate that begins or resumes now.
    pub fn new(panel: PanelInfo) -> Self {
        Self::behind(panel, 0)
    }

    /// The signals of a debate that resumes after event number `recorded`.
    pub fn behind(panel: PanelInfo, recorded: u64) -> Self {
        Self::with(panel, recorded, CAPACITY)
    }

    fn with(panel: PanelInfo, recorded: u64, capacity: usize) -> Self {
        let state = PublisherState { progress: Progress::new(panel, now()), recorded, subscribers: Vec::new() };
        Self(Arc::new(Hub { state: Mutex::new(state), capacity }))
    }

    /// Restarts the snapshot with the earlier spending: once, before the first subscription.
    pub fn begin(&self, panel: PanelInfo) {
        self.0.state().progress = Progress::new(panel, now());
    }

    /// Sends a signal to all subscribers without waiting.
    pub fn publish(&self, signal: Signal) {
        let mut state = self.0.state();
        let PublisherState { progress, recorded, subscribers } = &mut *state;
        let signal = Arc::new(signal);
        // A gap's snapshot is the state before this signal, which is the first after the gap.
        subscribers.retain(|subscriber| match subscriber.upgrade() {
            Some(queue) => {
                queue.push(&signal, self.0.capacity, || (progress.clone(), *recorded));
                true
            }
            None => false,
        });
        progress.see(&signal, now());
        if let Signal::Recorded(event) = &*signal {
            *recorded = event.seq;
        }
    }

    /// The current progress, and a subscription to everything later.
    pub fn subscribe(&self, words: Words) -> (Progress, Subscription) {
        let (_, progress, subscription) = self.subscribe_behind(words);
        (progress, subscription)
    }

    /// The number of the last event, the progress after it, and a subscription to everything later.
    pub fn subscribe_behind(&self, words: Words) -> (u64, Progress, Subscription) {
        let mut state = self.0.state();
        let queue = Arc::new(Queue::new(words));
        state.subscribers.push(Arc::downgrade(&queue));
        (state.recorded, state.progress.clone(), Subscription::new(queue))
    }

    /// Whether the debate is running: not while it waits for the user.
    pub fn is_running(&self) -> bool {
        self.0.state().progress.is_running()
    }

    /// Waits until all subscribers have room. Only for replays of past debates; a running debate never waits.
    pub async fn room(&self) {
        let has_room =
            |subscriber: &Weak<Queue>| subscriber.upgrade().is_none_or(|queue| queue.len() < self.0.capacity / 2);
        while !self.0.state().subscribers.iter().all(has_room) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, PublisherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        for queue in self.state().subscribers.iter().filter_map(Weak::upgrade) {
            queue.close();
        }
    }
}

/// The runtime's clock, which tests can control.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
