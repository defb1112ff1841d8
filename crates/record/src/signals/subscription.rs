//! A subscriber's queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::debate::{Progress, Signal};

use super::Words;

/// The maximum warnings kept over a gap.
const WARNINGS: usize = 100;

/// The next item for a subscriber.
#[derive(Debug, Clone)]
pub enum Update {
    Signal(Arc<Signal>),
    /// Dropped signals, because too many were queued.
    Gap(Box<Gap>),
}

/// The replacement for dropped signals.
#[derive(Debug, Clone)]
pub struct Gap {
    /// The number of dropped unrecorded signals.
    pub missed: u64,
    /// The latest hundred dropped warnings.
    pub warnings: VecDeque<Arc<Signal>>,
    /// The progress after the gap.
    pub progress: Progress,
    /// The last event before the end of the gap.
    pub recorded: u64,
}

/// The signals of a running debate in order.
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
    /// Before everything queued.
    gap: Option<Box<Gap>>,
    waiting: VecDeque<Arc<Signal>>,
    closed: bool,
}

impl Subscription {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }

    /// The next signal or gap; `None` when the run has ended and everything was delivered. Cancel-safe.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(next) = self.0.take() {
                return next;
            }
            // A stored permit covers arrivals in between.
            self.0.filled.notified().await;
        }
    }

    pub fn is_empty(&self) -> bool {
        let contents = self.0.contents();
        contents.gap.is_none() && contents.waiting.is_empty()
    }

    /// Waits that long for signals to accumulate, or until the end.
    pub async fn gather(&self, time: Duration) {
        // Either outcome is fine.
        let _ = timeout(time, self.0.ended.notified()).await;
    }
}

impl Queue {
    pub(super) fn new(words: Words) -> Self {
        Self { contents: Mutex::default(), filled: Notify::new(), ended: Notify::new(), words }
    }

    /// Appends a signal. If there is no room, the queue becomes a gap that ends at `snapshot`.
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
                // Subscribers read events from the journal.
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

    pub(super) fn len(&self) -> usize {
        self.contents().waiting.len()
    }

    /// The next item; `None` if the queue is empty, `Some(None)` at the end.
    #[expect(
        clippy::option_option,
        reason = "the outer option is whether there is an item, the inner one whether \
        it is the end"
    )]
    fn take(&self) -> Option<Option<Update>> {
        let mut contents = self.contents();
        if let Some(gap) = contents.gap.take() {
            return Some(Some(Update::Gap(gap)));
        }
        match contents.waiting.pop_front() {
            Some(signal) => Some(Some(Update::Signal(signal))),
            None => contents.closed.then_some(None),
        }
    }

    fn contents(&self) -> MutexGuard<'_, QueueState> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
