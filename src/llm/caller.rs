//! What surrounds every call: concurrency, a cost limit, the wait for the first token of each attempt, retry, price,
//! words on their way. The only retry loop there is.

mod in_flight;
mod retries;

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::time::{Instant, sleep, timeout};

use crate::debate::{CallKey, CallRecord, Tokens, Usd};

use super::budget::{Bill, Hold};
use super::live::Batch;
use super::models::explained;
use super::{
    Budget, ChatModel, FailedAttempt, Figures, FinishReason, Live, ModelError, Reply, Request, Silence, Timeouts,
};

use retries::Retries;

pub use in_flight::InFlight;

/// Between two updates of what has come in of an answer.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Told of what happens on the way to an answer.
pub trait CallObserver: Send + Sync {
    /// `attempt` attempts of the call have failed, the last with `error`; the next follows after `wait`.
    fn retrying(&self, key: &CallKey, attempt: u32, error: &ModelError, wait: Duration);

    /// `text` has come in of the call's answer, behind what was told before: once in 100 ms at most, and at the end of
    /// each attempt.
    fn words(&self, key: &CallKey, text: &str) {
        let _ = (key, text);
    }
}

/// Bounds that all calls of a debate share.
#[derive(Clone)]
pub struct CallerLimits {
    /// A place for each attempt in flight.
    pub in_flight: Arc<InFlight>,
    /// Attempts after the first at most.
    pub max_retries: u32,
    /// The debate's cost limit; absent when it has none.
    pub budget: Option<Arc<Budget>>,
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
    /// How long an attempt may be silent.
    pub timeouts: Timeouts,
    /// How long all calls of the same round may be; absent outside of rounds.
    pub silence: Option<Arc<Silence>>,
    /// Shared bounds.
    pub limits: CallerLimits,
    /// Told of retries and words.
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
    /// What its attempts took, where a server sent figures with an answer that was none; boxed, being rare.
    pub spent: Option<Box<Spent>>,
}

impl FailedCall {
    /// Whether no attempt was made: the cost limit had no room for any, or the round no time.
    #[must_use]
    pub fn was_never_sent(&self) -> bool {
        self.attempts == 0
    }
}

/// What attempts took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Token counts; absent when none were reported.
    pub tokens: Option<Tokens>,
    /// What they cost; absent when that is not known of all of them.
    pub cost_usd: Option<Usd>,
}

/// An attempt without an answer, and what it took if it came to an answer that was none.
struct Setback {
    error: ModelError,
    spent: Option<Spent>,
}

impl From<ModelError> for Setback {
    fn from(error: ModelError) -> Self {
        Self { error, spent: None }
    }
}

impl Spent {
    /// Together with what earlier attempts took. The sum of a known cost and an unknown one is unknown.
    fn and(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let sum = |a: Tokens, b: Tokens| Tokens {
            input_tokens: a.input_tokens + b.input_tokens,
            cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
            output_tokens: a.output_tokens + b.output_tokens,
        };
        Self {
            tokens: [self.tokens, earlier.tokens].into_iter().flatten().reduce(sum),
            cost_usd: self.cost_usd.zip(earlier.cost_usd).map(|(a, b)| a + b),
        }
    }
}

impl Caller {
    /// Asks, and asks again after transient failures. What was paid for answers that were empty is part of the record
    /// of the answer that was not.
    ///
    /// # Errors
    /// The last attempt's failure, when it is not transient or no attempt is left.
    pub async fn call(&self, request: &Request) -> Result<Answered, FailedCall> {
        let mut retries = Retries::at_most(self.limits.max_retries);
        let (mut attempts, mut started, mut spent) = (0, None, None);
        loop {
            let place = self.limits.in_flight.enter(&self.provider).await;
            let mut request = Cow::Borrowed(request);
            let hold = match self.hold(&mut request).await {
                Ok(hold) => hold,
                Err(error) => return Err(FailedCall { error, attempts, spent: spent.map(Box::new) }),
            };
            if self.is_out_of_time() {
                return Err(FailedCall { error: ModelError::OutOfTime, attempts, spent: spent.map(Box::new) });
            }
            // Waiting for a place and for room under the cost limit is the queue's time, not the call's.
            let started = *started.get_or_insert_with(Instant::now);
            attempts += 1;
            let outcome = self.attempt(&request).await;
            if let Some(hold) = hold {
                hold.settle(&self.bill(&outcome));
            }
            match &outcome {
                Ok(_) => place.answered(),
                Err(Setback { error: ModelError::RateLimited { retry_after: None, .. }, .. }) => place.refused(),
                Err(_) => {}
            }
            drop(place);
            let error = match outcome {
                Ok(reply) => {
                    let spent = self.spent(reply.figures()).and(spent);
                    let record = self.record(&request, &reply, spent, started.elapsed(), attempts);
                    return Ok(Answered { reply, record });
                }
                Err(setback) => {
                    spent = setback.spent.map(|this| this.and(spent)).or(spent);
                    setback.error
                }
            };
            let Some(wait) = retries.wait_after(&error).filter(|_| !self.is_out_of_time()) else {
                let error = explained(error, &self.provider, &request.model, Utc::now().date_naive());
                return Err(FailedCall { error, attempts, spent: spent.map(Box::new) });
            };
            self.observer.retrying(&request.brief.key, attempts, &error, wait);
            let still = self.silence.as_ref().map(Silence::stand_still);
            sleep(wait).await;
            drop(still);
        }
    }

    fn is_out_of_time(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.is_too_long())
    }

    /// Sets aside what an attempt could cost, where there is a cost limit and a price.
    async fn hold<'a>(&'a self, request: &mut Cow<'_, Request>) -> Result<Option<Hold<'a>>, ModelError> {
        match self.limits.budget.as_deref().zip(self.price) {
            Some((budget, price)) => budget.hold(request.to_mut(), price).await.map(Some),
            None => Ok(None),
        }
    }

    /// What an attempt is on the bill with.
    fn bill<'a>(&self, outcome: &'a Result<Reply, Setback>) -> Bill<'a> {
        let (spent, text) = match outcome {
            Ok(reply) => (Some(self.spent(reply.figures())), reply.text.as_str()),
            Err(setback) => (setback.spent, ""),
        };
        match (spent.and_then(|spent| Some((spent.tokens, spent.cost_usd?))), outcome) {
            (Some((tokens, cost)), _) => Bill::Known { tokens, cost, text },
            (None, Err(setback)) if !setback.error.may_be_billed() => Bill::Nothing,
            (None, _) => Bill::Unknown { text },
        }
    }

    async fn attempt(&self, request: &Request) -> Result<Reply, Setback> {
        let reply = self.follow(request).await.map_err(|failed| self.setback(failed.error, failed.figures))?;
        if !reply.text.trim().is_empty() || !reply.tool_calls.is_empty() {
            return Ok(reply);
        }
        let error = match reply.finish {
            FinishReason::Length => ModelError::OutputLimit,
            FinishReason::Filtered => ModelError::Filtered { message: "no text came back".to_owned() },
            FinishReason::Complete => ModelError::Empty,
        };
        Err(self.setback(error, reply.figures()))
    }

    /// Follows an answer and tells the observer what comes in of it, in batches. Only the first token has to come
    /// within a time: behind it the model itself breaks off what goes silent.
    async fn follow(&self, request: &Request) -> Result<Reply, FailedAttempt> {
        let batch = Batch::default();
        let tell = || {
            let Some(text) = batch.take() else { return };
            self.silence.iter().for_each(|silence| silence.end());
            if !text.is_empty() {
                self.observer.words(&request.brief.key, &text);
            }
        };
        let mut answer = self.chat.ask(request, Live { listener: &batch, timeouts: self.timeouts });
        let limit = self.timeouts.first_token;
        let first = timeout(limit, async {
            tokio::select! {
                biased;
                answer = &mut answer => Some(answer),
                () = batch.first_token() => None,
            }
        });
        let done = |answer: Result<Reply, FailedAttempt>| {
            tell();
            if answer.is_ok() {
                self.silence.iter().for_each(|silence| silence.end());
            }
            answer
        };
        if let Some(answer) = first.await.map_err(|_| ModelError::TimedOut { after: limit })? {
            return done(answer);
        }
        let mut next = pin!(sleep(UPDATE_INTERVAL));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return done(answer),
                () = &mut next => {
                    tell();
                    next.as_mut().reset(Instant::now() + UPDATE_INTERVAL);
                }
            }
        }
    }

    fn setback(&self, error: ModelError, figures: Figures) -> Setback {
        let spent = Some(self.spent(figures)).filter(|spent| spent.tokens.is_some() || spent.cost_usd.is_some());
        Setback { error, spent }
    }

    /// What the provider states as the cost beats the price table.
    fn spent(&self, figures: Figures) -> Spent {
        let priced = self.price.zip(figures.tokens).map(|(price, tokens)| price.cost(tokens));
        Spent { tokens: figures.tokens, cost_usd: figures.cost.or(priced) }
    }

    /// The record of a call that was never sent.
    #[must_use]
    pub fn unsent(&self, request: &Request) -> CallRecord {
        CallRecord {
            model: request.model.to_string(),
            provider: self.provider.to_string(),
            served_model: None,
            tokens: None,
            cost_usd: Some(Usd::ZERO),
            latency_ms: 0,
            attempts: 0,
            truncated: false,
            filtered: false,
            copied: false,
        }
    }

    fn record(&self, request: &Request, reply: &Reply, spent: Spent, took: Duration, attempts: u32) -> CallRecord {
        CallRecord {
            model: request.model.to_string(),
            provider: self.provider.to_string(),
            served_model: reply.served_model.clone(),
            tokens: spent.tokens,
            cost_usd: spent.cost_usd,
            latency_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            attempts,
            truncated: reply.finish != FinishReason::Complete,
            filtered: reply.finish == FinishReason::Filtered,
            copied: false,
        }
    }
}

#[cfg(test)]
mod streaming_tests;
#[cfg(test)]
mod tests;
