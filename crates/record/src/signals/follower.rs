//! A subscriber that misses no event.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use crate::debate::{Recorded, Signal};

use super::{Gap, Subscription, Update};

/// The events of a debate, read once in order up to the last existing one.
pub trait EventLog: Send {
    /// The next event; `None` if it is not there yet.
    ///
    /// # Errors
    /// It cannot be read.
    fn next_event(&mut self) -> io::Result<Option<Recorded>>;
}

/// The next item for a follower.
#[derive(Debug, Clone)]
pub enum Followed {
    /// A signal. Events are in order and complete.
    Signal(Arc<Signal>),
    /// Unrecorded signals were dropped here.
    Gap {
        /// The number of dropped signals.
        missed: u64,
    },
}

/// A subscription that misses no event: it reads dropped events from the journal.
pub struct Follower {
    subscription: Subscription,
    log: Box<dyn EventLog>,
    /// The last delivered event.
    last: u64,
    /// The last event that must be read from the journal.
    behind: u64,
    /// Warnings to deliver after the events from the journal.
    warnings: VecDeque<Arc<Signal>>,
}

impl Follower {
    /// Follows from the event after number `told`: events up to number `recorded`, which precede `subscription`, are
    /// read from the log.
    pub fn new(subscription: Subscription, log: Box<dyn EventLog>, told: u64, recorded: u64) -> Self {
        Self { subscription, log, last: told, behind: recorded, warnings: VecDeque::new() }
    }

    /// The next item; `None` when the run has ended and everything was delivered. May read a file.
    ///
    /// # Errors
    /// The journal cannot be read. Do not call it again after that.
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
