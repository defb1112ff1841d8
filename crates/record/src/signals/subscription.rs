//! One subscriber's queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::debate::{Progress, Signal};

use super::Words;

/// How many warnings are kept over a gap: more than anybody reads.
const WARNINGS: usize = 100;

/// What a subscriber is told next.
#[derive(Debug, Clone)]
pub enum Update {
    /// A signal.
    Signal(Arc<Signal>),
    /// Signals that are left out, because too many waited.
    Gap(Box<Gap>),
}

/// What there is in place of signals that were left out.
#[derive(Debug, Clone)]
pub struct Gap {
    /// How many signals that are not recorded are left out.
    pub missed: u64,
    /// The warnings among what is left out: those are kept, the latest hundred of them.
    pub warnings: VecDeque<Arc<Signal>>,
    /// Where the debate stands after the gap.
    pub progress: Progress,
    /// The last event of the journal that is before the end of the gap.
    pub recorded: u64,
}

/// Signals of a running debate, in their order.
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
    /// Before all that waits.
    gap: Option<Box<Gap>>,
    waiting: VecDeque<Arc<Signal>>,
    closed: bool,
}

impl Subscription {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }

    /// The next signal, or the gap before it; nothing when the debate's run has ended and all of it was told. May be
    /// dropped while it waits: nothing is lost then.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(next) = self.0.take() {
                return next;
            }
            // A permit is kept where something came in between.
            self.0.filled.notified().await;
        }
    }

    /// Whether nothing waits at present.
    pub fn is_empty(&self) -> bool {
        let contents = self.0.contents();
        contents.gap.is_none() && contents.waiting.is_empty()
    }

    /// Lets signals gather for so long, or until no more can come.
    pub async fn gather(&self, time: Duration) {
        // Either is as good.
        let _ = timeout(time, self.0.ended.notified()).await;
    }
}

impl Queue {
    pub(super) fn new(words: Words) -> Self {
        Self { contents: Mutex::default(), filled: Notify::new(), ended: Notify::new(), words }
    }

    /// Puts a signal at the end. When there is no room, everything that waits becomes a gap that ends where `snapshot`
    /// stands.
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
                // A subscriber reads events again from the journal.
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

    /// How many signals wait.
    pub(super) fn len(&self) -> usize {
        self.contents().waiting.len()
    }

    /// What is next; absent while nothing is there. `Some(None)` is the end.
    #[expect(clippy::option_option, reason = "the one says whether anything is there, the other whether it is the end")]
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
