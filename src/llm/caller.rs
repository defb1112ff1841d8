//! What surrounds every call: concurrency, a time-out for each attempt, retry, price. The only retry loop there is.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::debate::{CallKey, CallRecord, Usd};

use super::{ChatModel, FinishReason, ModelError, Reply, Request};

/// The first wait between attempts; each further one doubles, with jitter.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// No wait of our own is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A server that wants to be left alone for longer than this is not waited for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);

/// Told of attempts that failed and will be repeated.
pub trait CallObserver: Send + Sync {
    /// `attempt` attempts of the call have failed, the last with `error`; the next follows after `wait`.
    fn retrying(&self, key: &CallKey, attempt: u32, error: &ModelError, wait: Duration);
}

/// Bounds that all calls of a debate share.
#[derive(Clone)]
pub struct CallerLimits {
    /// One permit for each attempt in flight.
    pub in_flight: Arc<Semaphore>,
    /// Attempts after the first at most.
    pub max_retries: u32,
}

/// A model with everything that surrounds a call of it.
#[derive(Clone)]
pub struct Caller {
    /// The model.
    pub chat: Arc<dyn ChatModel>,
    /// The configured provider's name.
    pub provider: Arc<str>,
    /// What tokens cost; absent when unknown.
    pub price: Option<crate::debate::Price>,
    /// The limit of one attempt.
    pub attempt_timeout: Duration,
    /// Shared bounds.
    pub limits: CallerLimits,
    /// Told of retries.
    pub observer: Arc<dyn CallObserver>,
}

/// A call that came back.
#[derive(Debug, Clone)]
pub struct Answered {
    /// What came back.
    pub reply: Reply,
    /// What it took.
    pub record: CallRecord,
}

/// A call that failed for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedCall {
    /// The failure of the last attempt.
    pub error: ModelError,
    /// Attempts made.
    pub attempts: u32,
}

impl Caller {
    /// Asks, and asks again after transient failures.
    ///
    /// # Errors
    /// The last attempt's failure, when it is not transient or no attempt is left.
    pub async fn call(&self, request: &Request) -> Result<Answered, FailedCall> {
        let started = Instant::now();
        let mut waits = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(self.limits.max_retries as usize)
            .with_jitter()
            .build();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match self.attempt(request).await {
                Ok(reply) => {
                    let record = self.record(request, &reply, started.elapsed(), attempts);
                    return Ok(Answered { reply, record });
                }
                Err(error) => error,
            };
            let asked = error.retry_after();
            let wait = waits
                .next()
                .filter(|_| error.is_transient() && asked.is_none_or(|asked| asked <= LONGEST_RETRY_AFTER))
                .map(|wait| asked.unwrap_or(wait));
            let Some(wait) = wait else {
                return Err(FailedCall { error, attempts });
            };
            self.observer.retrying(&request.brief.key, attempts, &error, wait);
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, request: &Request) -> Result<Reply, ModelError> {
        // The semaphore is never closed; were it, an attempt without a permit would still be right.
        let _permit = self.limits.in_flight.acquire().await;
        let reply = timeout(self.attempt_timeout, self.chat.complete(request))
            .await
            .map_err(|_| ModelError::TimedOut { after: self.attempt_timeout })??;
        if reply.text.trim().is_empty() && reply.tool_calls.is_empty() {
            return Err(match reply.finish {
                FinishReason::Length => ModelError::OutputLimit,
                FinishReason::Filtered => ModelError::Filtered { message: "no text came back".to_owned() },
                FinishReason::Complete => ModelError::Empty,
            });
        }
        Ok(reply)
    }

    fn record(&self, request: &Request, reply: &Reply, took: Duration, attempts: u32) -> CallRecord {
        let priced = self.price.zip(reply.tokens).map(|(price, tokens)| {
            let cached = price.cached_input_per_m_tok.unwrap_or(price.input_per_m_tok);
            Usd::for_tokens(tokens.input_tokens.saturating_sub(tokens.cached_input_tokens), price.input_per_m_tok)
                + Usd::for_tokens(tokens.cached_input_tokens, cached)
                + Usd::for_tokens(tokens.output_tokens, price.output_per_m_tok)
        });
        CallRecord {
            model: request.model.to_string(),
            provider: self.provider.to_string(),
            served_model: reply.served_model.clone(),
            tokens: reply.tokens,
            cost_usd: reply.stated_cost.or(priced),
            latency_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            attempts,
            truncated: reply.finish == FinishReason::Length,
        }
    }
}
