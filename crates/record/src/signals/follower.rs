//! A subscriber to whom no event is lost.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use crate::debate::{Recorded, Signal};

use super::{Gap, Subscription, Update};

/// The events of a debate, read once from the first to the last that is there.
pub trait EventLog: Send {
    /// The next event; nothing where no further one is there yet.
    ///
    /// # Errors
    /// When it cannot be read.
    fn next_event(&mut self) -> io::Result<Option<Recorded>>;
}

/// What a follower is told next.
#[derive(Debug, Clone)]
pub enum Followed {
    /// A signal. Events come in their order, without one missing.
    Signal(Arc<Signal>),
    /// This many unrecorded signals are left out here.
    Gap {
        /// How many.
        missed: u64,
    },
}

/// A subscription that misses no event: those that passed while it was not looked at are read from the journal.
pub struct Follower {
    subscription: Subscription,
    log: Box<dyn EventLog>,
    /// The last event that was told.
    last: u64,
    /// What is read again, up to this event.
    behind: u64,
    /// Warnings to hand on after the events that are read again.
    warnings: VecDeque<Arc<Signal>>,
}

impl Follower {
    /// Follows a run whose first event has a number above `before`.
    pub fn new(subscription: Subscription, log: Box<dyn EventLog>, before: u64) -> Self {
        Self { subscription, log, last: before, behind: before, warnings: VecDeque::new() }
    }

    /// Of all events from the first on: those up to number `recorded`, which happened before `subscription` began, are
    /// read from the log.
    pub fn from_beginning(subscription: Subscription, log: Box<dyn EventLog>, recorded: u64) -> Self {
        Self::going_on(subscription, log, 0, recorded)
    }

    /// Of all events after number `told`, for somebody who comes again: those up to number `recorded`, which happened
    /// before `subscription` began, are read from the log.
    pub fn going_on(subscription: Subscription, log: Box<dyn EventLog>, told: u64, recorded: u64) -> Self {
        Self { subscription, log, last: told, behind: recorded, warnings: VecDeque::new() }
    }

    /// What is next; nothing when the run has ended and all of it was told. May read a file.
    ///
    /// # Errors
    /// When events have to be read again and cannot be. Nothing is to be asked for after that.
    pub async fn next(&mut self) -> io::Result<Option<Followed>> {
        loop {
            if self.last < self.behind {
                let event = self.read_again()?;
                self.last = event.seq;
                return Ok(Some(Followed::Signal(Arc::new(Signal::Recorded(Arc::new(event))))));
            }
            if let Some(warning) = self.warnings.pop_front() {
                return Ok(Some(Followed::Signal(warning)));
            }
            match self.subscription.next().await {
                None => return Ok(None),
                Some(Update::Signal(signal)) => {
                    if let Signal::Recorded(event) = &*signal {
                        self.last = self.last.max(event.seq);
                    }
                    return Ok(Some(Followed::Signal(signal)));
                }
                Some(Update::Gap(gap)) => {
                    let Gap { missed, warnings, recorded, .. } = *gap;
                    (self.behind, self.warnings) = (recorded, warnings);
                    if missed > 0 {
                        return Ok(Some(Followed::Gap { missed }));
                    }
                }
            }
        }
    }

    fn read_again(&mut self) -> io::Result<Recorded> {
        loop {
            match self.log.next_event()? {
                Some(event) if event.seq > self.last => return Ok(event),
                Some(_) => {}
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the journal ends too early")),
            }
        }
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("last", &self.last).finish_non_exhaustive()
    }
}
