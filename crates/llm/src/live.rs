//! Answers that are followed while they come in.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

use super::ModelError;

/// How long a model may keep silent. How long it may speak has no limit: slow is not broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first token of an attempt, from the moment it is sent; for all of an answer that comes as a whole.
    pub first_token: Duration,
    /// The longest silence of a stream after its first token.
    pub idle: Duration,
}

/// How an answer is followed.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// Told of the answer's tokens.
    pub listener: &'a dyn Listener,
    /// A model breaks off a stream that is silent for longer than `idle` after its first token. That a first token
    /// comes in time is seen to by the [`Caller`](super::Caller), for every kind of model alike.
    pub timeouts: Timeouts,
    /// Which attempt of its call this is, from 1.
    pub attempt: u32,
    /// Asked before a further request of the attempt, where somebody keeps account.
    pub further: Option<&'a dyn Further>,
}

/// Grants an attempt another request after one that may be on the bill: what was set aside was for one.
pub trait Further: Send + Sync {
    /// Charges the request that failed, and sets money aside for another. Returns the output limit of that, in tokens,
    /// where there is a cost limit.
    ///
    /// # Errors
    /// The failure with which the attempt has to end: `failed`, not charged yet, or that there is no room for more.
    fn after(&self, failed: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>>;

    /// Whether a failure that counts in full is repeated only once. Other ways of asking are then tried immediately.
    fn repeats_once(&self) -> bool;
}

/// Told of the tokens of an answer while it comes in.
pub trait Listener: Send + Sync {
    /// `text` follows on what was heard before. It is empty for tokens that are not part of the text, as those of
    /// reasoning and of tool calls: they show that the model is at work.
    fn on_token(&self, text: &str);
}

/// An attempt that failed, and what it took all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedAttempt {
    /// Why.
    pub error: ModelError,
    /// What the server has said of its cost.
    pub usage: StatedUsage,
    /// Whether the provider may bill it. Where nothing is said of its cost, it then counts as all that was set aside.
    pub may_be_billed: bool,
}

impl FailedAttempt {
    /// A failure with these figures.
    pub fn with_usage(error: ModelError, usage: StatedUsage) -> Self {
        Self { may_be_billed: error.may_be_billed(), error, usage }
    }
}

/// What a server says that an attempt took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatedUsage {
    /// Token counts; absent when none were reported.
    pub tokens: Option<Tokens>,
    /// The cost, where it is stated.
    pub cost: Option<Usd>,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self::with_usage(error, StatedUsage::default())
    }
}

/// What has been heard of an answer and not yet passed on: words come in far more often than anybody can look.
#[derive(Default)]
pub(super) struct Batch {
    text: Mutex<String>,
    /// A token has been heard, of the text or not.
    has_more: AtomicBool,
}

impl Batch {
    /// Resolves when a token has arrived. Poll it in the receiving task, after the answer: a token wakes no other task.
    pub(super) async fn first_token(&self) {
        poll_fn(|_| if self.has_more.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The text that was heard since the last time, possibly empty; nothing without a token.
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
