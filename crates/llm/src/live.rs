//! Answers as they stream in.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

use super::ModelError;

/// How long a model may be idle. The total time has no limit: slow is not broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit for the first token of an attempt, or for the whole answer without streaming.
    pub first_token: Duration,
    /// The maximum gap in a stream after its first token.
    pub idle: Duration,
}

/// The context of a streamed answer.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// Receives the answer's tokens.
    pub listener: &'a dyn Listener,
    /// A model aborts a stream that is idle for longer than `idle` after its first token. The [`Caller`](super::Caller)
    /// enforces the limit for the first token for every model.
    pub timeouts: Timeouts,
    /// The number of this attempt within its call, from 1.
    pub attempt: u32,
    /// Asked before a further request of the attempt, if there is an account.
    pub further: Option<&'a dyn Further>,
}

/// Permits another request of an attempt after one that may be billed, since the reservation was for one.
pub trait Further: Send + Sync {
    /// Charges the failed request and reserves money for another. Returns the new output limit in tokens, if there is a
    /// cost limit.
    ///
    /// # Errors
    /// The failure that ends the attempt: the uncharged `failed`, or the lack of room.
    fn after(&self, failed: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>>;

    /// Whether a failure charged in full is repeated only once. Other ways of asking are then tried immediately.
    fn repeats_once(&self) -> bool;
}

/// Receives the tokens of an answer as they arrive.
pub trait Listener: Send + Sync {
    /// `text` continues the earlier text. It is empty for other tokens, such as reasoning and tool calls, which show
    /// that the model is working.
    fn on_token(&self, text: &str);
}

/// A failed attempt and its usage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedAttempt {
    pub error: ModelError,
    /// The usage that the server stated.
    pub usage: StatedUsage,
    /// Whether the provider may bill it. Without a stated cost it is then charged its whole reservation.
    pub may_be_billed: bool,
}

impl FailedAttempt {
    /// A failure with these figures.
    pub fn with_usage(error: ModelError, usage: StatedUsage) -> Self {
        Self { may_be_billed: error.may_be_billed(), error, usage }
    }
}

/// The usage of an attempt as stated by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatedUsage {
    /// Token counts; `None` if not reported.
    pub tokens: Option<Tokens>,
    /// The cost, if stated.
    pub cost: Option<Usd>,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self::with_usage(error, StatedUsage::default())
    }
}

/// Text received but not yet passed on: words arrive much faster than anyone can read.
#[derive(Default)]
pub(super) struct Batch {
    text: Mutex<String>,
    /// A token arrived, with or without text.
    has_more: AtomicBool,
}

impl Batch {
    /// Resolves when a token has arrived. Poll it in the receiving task, after the answer: a token wakes no other task.
    pub(super) async fn first_token(&self) {
        poll_fn(|_| if self.has_more.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The text since the last call, possibly empty; `None` if no token arrived.
    pub(super) fn take(&self) -> Option<String> {
        self.has_more.swap(false, Ordering::Relaxed).then(|| std::mem::take(&mut *self.text()))
    }

    fn text(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Batch {
    fn on_token(&self, text: &str) {
        self.has_more.store(true, Ordering::Relaxed);
        self.text().push_str(text);
    }
}
