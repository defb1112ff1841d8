//! Streams answers, and limits how long models may be idle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

use super::ModelError;

/// How long a model may be idle. The total time is unlimited, since a slow model is not broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit for the first token of a request, or for the whole answer if it is not streamed.
    pub first_token: Duration,
    /// The maximum gap in a stream after its first token.
    pub idle: Duration,
}

#[derive(Clone, Copy)]
pub struct Live<'a> {
    pub listener: &'a dyn Listener,
    /// The [`ChatModel`](super::ChatModel) aborts a stream that is idle for longer than `idle` after its first token;
    /// the [`Caller`](super::Caller) enforces the limit for the first token.
    pub timeouts: Timeouts,
    /// The number of this attempt within its call, from 1.
    pub attempt: u32,
    /// Grants further requests. Ask it before sending another request in the same attempt.
    pub further: Option<&'a dyn Further>,
}

/// Decides whether an attempt may send another request, because the attempt's reservation covers only one.
pub trait Further: Send + Sync {
    /// Charges the failed request and reserves money for another. Returns the new output limit in tokens, if there is a
    /// cost limit.
    ///
    /// # Errors
    ///
    /// Returns `failed`, which is then not charged, if the attempt may not send another request. Returns
    /// [`ModelError::OverBudget`] if the limit leaves no room for another request.
    fn after(&self, failed: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>>;

    /// Whether requests reserve money. If so, a failure that is charged in full allows only one retry, so alternatives
    /// must be tried immediately.
    fn repeats_once(&self) -> bool;
}

pub trait Listener: Send + Sync {
    /// `text` continues the earlier text. It is empty for tokens such as reasoning and tool calls, which show that the
    /// model is working.
    fn on_token(&self, text: &str);
}

impl Listener for () {
    fn on_token(&self, _: &str) {}
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedAttempt {
    pub error: ModelError,
    pub usage: StatedUsage,
    /// Whether the provider may bill the attempt. If so, and no cost is stated, the whole reservation is charged.
    pub may_be_billed: bool,
}

impl FailedAttempt {
    pub fn with_usage(error: ModelError, usage: StatedUsage) -> Self {
        Self { may_be_billed: error.may_be_billed(), error, usage }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatedUsage {
    pub tokens: Option<Tokens>,
    pub cost: Option<Usd>,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self::with_usage(error, StatedUsage::default())
    }
}

/// Measures for how long none of a round's calls has received a token. Every token restarts the measurement, which
/// pauses while a call waits for its next attempt. Reaching the limit only prevents further attempts, and never
/// interrupts calls in flight.
#[derive(Debug)]
pub struct IdleTimeout {
    limit: Duration,
    heard: Mutex<LastToken>,
}

#[derive(Debug)]
struct LastToken {
    last: Instant,
    waiting: u32,
    still_since: Option<Instant>,
}

/// Pauses the timeout until dropped.
pub(super) struct RetryWait(Arc<IdleTimeout>);

impl IdleTimeout {
    pub fn of_at_most(limit: Duration) -> Self {
        Self { limit, heard: Mutex::new(LastToken { last: Instant::now(), waiting: 0, still_since: None }) }
    }

    pub fn is_too_long(&self) -> bool {
        let heard = self.heard();
        let until = heard.still_since.unwrap_or_else(Instant::now);
        until.saturating_duration_since(heard.last) >= self.limit
    }

    /// Restarts the timeout, because a token arrived.
    pub(super) fn end(&self) {
        let (mut heard, now) = (self.heard(), Instant::now());
        heard.last = now;
        heard.still_since = heard.still_since.map(|_| now);
    }

    pub(super) fn stand_still(self: &Arc<Self>) -> RetryWait {
        let mut heard = self.heard();
        heard.waiting += 1;
        heard.still_since.get_or_insert_with(Instant::now);
        RetryWait(Arc::clone(self))
    }

    fn heard(&self) -> MutexGuard<'_, LastToken> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RetryWait {
    fn drop(&mut self) {
        let mut heard = self.0.heard();
        heard.waiting -= 1;
        if heard.waiting == 0
            && let Some(since) = heard.still_since.take()
        {
            heard.last += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_starts_again_at_every_token() {
        let silence = IdleTimeout::of_at_most(10 * SECOND);
        for _ in 0..100 {
            advance(9 * SECOND).await;
            assert!(!silence.is_too_long());
            silence.end();
        }
        advance(10 * SECOND).await;
        assert!(silence.is_too_long());
        silence.end();
        assert!(!silence.is_too_long());
    }

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_while_anybody_waits() {
        let silence = Arc::new(IdleTimeout::of_at_most(10 * SECOND));
        advance(4 * SECOND).await;
        let first = silence.stand_still();
        advance(60 * SECOND).await;
        let second = silence.stand_still();
        drop(first);
        advance(60 * SECOND).await;
        assert!(!silence.is_too_long());
        drop(second);
        advance(5 * SECOND).await;
        assert!(!silence.is_too_long());
        advance(SECOND).await;
        assert!(silence.is_too_long());
        let third = silence.stand_still();
        assert!(silence.is_too_long(), "what is too long already stays so");
        silence.end();
        advance(60 * SECOND).await;
        drop(third);
        advance(9 * SECOND).await;
        assert!(!silence.is_too_long());
    }
}
