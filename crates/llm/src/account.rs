//! The account of a call: it approves each attempt before it is sent, and learns of each failure at once.

use futures_util::future::BoxFuture;

use dialectic_base::call::CallRecord;

use super::{ModelError, Request};

/// What the attempts of one call are charged to. What an attempt cost must be on record before anything else can happen
/// to it: a call that is repeated may be abandoned before its next attempt.
pub trait Account: Send + Sync {
    /// Asks for leave to send an attempt, and waits for it where there is a limit of cost or calls. Without one nothing
    /// is set aside.
    ///
    /// # Errors
    /// [`ModelError::OverBudget`] when the limit has no room for it.
    fn reserve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>>;

    /// An attempt failed, and `call` is what it took.
    fn enter_failure(&self, error: &ModelError, call: CallRecord);
}

/// What was set aside for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// The number of the event that says so.
    pub number: u64,
    /// The output limit to send, in tokens; absent where the cost sets none.
    pub max_tokens: Option<u32>,
}
