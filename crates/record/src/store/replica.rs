//! A copy of a running debate's journal in another place, for debates that another machine may have to continue.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A copy of a journal, kept while the debate runs. The journal stays authoritative for this run; another run would
/// continue from the copy.
pub trait Replica: fmt::Debug + Send + Sync {
    /// Receives an event's line, with its line break, after the journal has it. Does not wait. A line that records a
    /// paid call `is_paid`, and has to be copied at once; the others may wait until [`holds`](Self::holds) is called.
    fn take(&self, line: &[u8], is_paid: bool);

    /// Waits until the copy contains all events so far. No request is sent before its reservation is copied, so an error
    /// keeps a run that was taken over from sending any.
    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), ReplicaError>> + Send + '_>>;
}

/// Why a copy accepts no more events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ReplicaError {
    /// The reason, as a clause.
    pub reason: String,
}
