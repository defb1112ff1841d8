//! The account of a call: it approves each attempt before it is sent, and learns of each failure at once.

use futures_util::future::BoxFuture;

use dialectic_base::call::CallRecord;

use super::{ModelError, Request};

/// The account that pays for a call's attempts. The cost of an attempt must be recorded at once: a call that waits for
/// its next attempt may be abandoned.
pub trait Account: Send + Sync {
    /// Asks for permission to send an attempt, and waits for it under a limit of cost or calls. Without a limit it
    /// reserves nothing.
    ///
    /// # Errors
    /// [`ModelError::OverBudget`] if the limit has no room for it.
    fn reserve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>>;

    /// Charges a failed attempt; `call` is its usage.
    fn enter_failure(&self, error: &ModelError, call: CallRecord);
}

/// The reservation for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// The number of its event.
    pub number: u64,
    /// The output limit to send, in tokens; `None` if the cost requires none.
    pub max_tokens: Option<u32>,
}
