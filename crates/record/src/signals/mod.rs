//! The signals of a running debate: published once, taken in by any number of subscribers.
//!
//! Publishing never waits. Each subscriber has a queue of its own, of a bounded length; who does not empty it gets a
//! [`Gap`] in place of what did not fit, with a snapshot to go on from. So nobody who watches can hold up a debate or
//! make its memory grow, whether they are slow, stopped or gone. Events that are in the journal are lost to nobody:
//! a [`Follower`] reads those again that passed in a gap.

mod follower;
mod subscription;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::debate::{PanelInfo, Progress, Signal};

pub use follower::{EventLog, Followed, Follower};
pub use subscription::{Gap, Subscription, Update};

use subscription::Queue;

/// How many signals wait for a subscriber at most. A debate of five agents and ten rounds gives fewer, words aside.
const CAPACITY: usize = 4096;
/// How often somebody who waits for room looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Whether a subscriber wants the words of answers on their way: they are most of all signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// They are shown.
    Wanted,
    /// They are left out.
    Unwanted,
}

/// Where the signals of a debate are published and subscribed to. Clones are the same place; when the last of them is
/// gone, subscribers find the end after what still waits for them.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Hub>);

#[derive(Debug)]
struct Hub {
    state: Mutex<PublisherState>,
    capacity: usize,
}

#[derive(Debug)]
struct PublisherState {
    /// Everything that was published, reduced: the start for a subscriber who comes late or has fallen behind.
    progress: Progress,
    /// The last event of the journal that was published.
    recorded: u64,
    subscribers: Vec<Weak<Queue>>,
}

impl Signals {
    /// Of a debate with that panel that begins, or is taken up, now.
    pub fn new(panel: PanelInfo) -> Self {
        Self::behind(panel, 0)
    }

    /// Of a debate that is taken up after event number `recorded`.
    pub fn behind(panel: PanelInfo, recorded: u64) -> Self {
        Self::with(panel, recorded, CAPACITY)
    }

    fn with(panel: PanelInfo, recorded: u64, capacity: usize) -> Self {
        let state = PublisherState { progress: Progress::new(panel, now()), recorded, subscribers: Vec::new() };
        Self(Arc::new(Hub { state: Mutex::new(state), capacity }))
    }

    /// Restarts the snapshot with a panel that knows what was already spent: once, before anybody subscribes.
    pub fn begin(&self, panel: PanelInfo) {
        self.0.state().progress = Progress::new(panel, now());
    }

    /// Hands a signal to everybody who has subscribed. Never waits for any of them.
    pub fn publish(&self, signal: Signal) {
        let mut state = self.0.state();
        let PublisherState { progress, recorded, subscribers } = &mut *state;
        let signal = Arc::new(signal);
        // The snapshot of a gap is that of the moment before this signal, which is the first after the gap.
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

    /// A subscription to everything from now on, and where the debate stands.
    pub fn subscribe(&self, words: Words) -> (Progress, Subscription) {
        let (_, progress, subscription) = self.subscribe_behind(words);
        (progress, subscription)
    }

    /// The number of the last event so far, and a subscription to all that follows.
    pub fn subscribe_at(&self, words: Words) -> (u64, Subscription) {
        let (recorded, _, subscription) = self.subscribe_behind(words);
        (recorded, subscription)
    }

    /// The number of the last event so far, the progress after it, and a subscription to all later signals.
    pub fn subscribe_behind(&self, words: Words) -> (u64, Progress, Subscription) {
        let mut state = self.0.state();
        let queue = Arc::new(Queue::new(words));
        state.subscribers.push(Arc::downgrade(&queue));
        (state.recorded, state.progress.clone(), Subscription::new(queue))
    }

    /// Whether the debate goes on at the moment: not while it waits for the user.
    pub fn is_running(&self) -> bool {
        self.0.state().progress.is_running()
    }

    /// Waits until everybody who has subscribed has room. Not for a debate, which waits for nobody: for a past one that
    /// is shown again, where nothing is lost by waiting.
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

/// The runtime's clock, which tests can move.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
