//! Makes model calls: retries them, computes their costs, streams text, and limits concurrency, cost and the time to
//! the first token. Contains the only retry loop.

mod bill;
mod in_flight;

use std::borrow::Cow;
use std::future::poll_fn;
use std::ops::Add as _;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use chrono::Utc;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use dialectic_base::call::{CallRecord, Tokens};
use dialectic_base::money::Usd;
use dialectic_base::price::Price;
use dialectic_base::provider::HOST;

use super::models::explained;
use super::{
    ChatModel, FailedAttempt, FinishReason, IdleTimeout, Listener, Live, ModelError, Reply, Request, StatedUsage,
    Timeouts,
};

use bill::{Bill, Retries};

pub use in_flight::ConcurrencyLimit;

const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

pub trait CallObserver: Send + Sync {
    /// Called after attempt number `attempt` failed with `error`. The next attempt starts after `wait`.
    fn retrying(&self, attempt: u32, error: &ModelError, wait: Duration);

    /// `text` continues the answer received so far. Called at most every 100 ms, and at the end of each attempt.
    fn words(&self, text: &str) {
        let _ = text;
    }
}

#[derive(Clone)]
pub struct CallerLimits {
    pub in_flight: Arc<ConcurrencyLimit>,
    pub max_retries: u32,
}

/// `account` and `observer` are set for each call.
#[derive(Clone)]
pub struct Caller {
    pub chat: Arc<dyn ChatModel>,
    pub provider: Arc<str>,
    /// `None` if unknown.
    pub price: Option<Price>,
    pub timeouts: Timeouts,
    /// Shared by the calls of a round.
    pub silence: Option<Arc<IdleTimeout>>,
    pub limits: CallerLimits,
    pub account: Option<Arc<dyn Account>>,
    pub observer: Option<Arc<dyn CallObserver>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedCall {
    pub error: ModelError,
    pub attempts: u32,
    /// The usage of failed attempts, if there is no account to charge. Boxed because it is rare.
    pub spent: Option<Box<AttemptUsage>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptUsage {
    /// `None` if no attempt reported token counts.
    pub tokens: Option<Tokens>,
    /// The total cost; `None` if any part is unknown.
    pub cost_usd: Option<Usd>,
    /// The list price of requests covered by a subscription; `None` if no request was covered or the price is unknown.
    pub notional_usd: Option<Usd>,
}

impl AttemptUsage {
    /// The usage of an attempt that was never sent.
    const NONE: Self = Self { tokens: None, cost_usd: Some(Usd::ZERO), notional_usd: None };

    /// Adds the usage of earlier attempts. If one of the costs is unknown, so is their sum.
    fn and(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        Self {
            tokens: [self.tokens, earlier.tokens].into_iter().flatten().reduce(Tokens::add),
            cost_usd: self.cost_usd.zip(earlier.cost_usd).map(|(a, b)| a + b),
            notional_usd: [self.notional_usd, earlier.notional_usd].into_iter().flatten().reduce(Usd::add),
        }
    }
}

impl Caller {
    /// Calls the model and retries transient failures. Charges each failed attempt immediately; without an account,
    /// adds its usage to that of the call.
    ///
    /// # Errors
    ///
    /// Returns the error of the last attempt if it is not retried, or an error that says why the next attempt was not
    /// sent.
    pub async fn call(&self, request: &Request) -> Result<Reply, FailedCall> {
        let mut retries = Retries::at_most(self.limits.max_retries);
        let (mut attempts, mut started) = (0, None);
        let bill = Bill::of(self, request);
        let failed = |error, attempts| Err(FailedCall { error, attempts, spent: bill.spent().map(Box::new) });
        loop {
            let (place, shared) =
                in_flight::enter(&self.limits.in_flight, &self.provider, self.chat.shared_bound()).await;
            let max_tokens = match bill.reserve().await {
                Ok(max_tokens) => max_tokens,
                Err(error) => return failed(error, attempts),
            };
            if self.is_out_of_time() {
                // Charging an unsent attempt releases its reservation.
                bill.charge(&ModelError::OutOfTime.into());
                return failed(ModelError::OutOfTime, attempts);
            }
            let mut request = Cow::Borrowed(request);
            if let Some(most) = max_tokens {
                request.to_mut().max_tokens = Some(request.max_tokens.map_or(most, |own| own.min(most)));
            }
            // Before the first attempt, waiting for a slot or for room under the limit does not count towards the
            // call's time.
            let started = *started.get_or_insert_with(Instant::now);
            attempts += 1;
            let outcome = self.attempt(&request, attempts, &bill).await;
            match &outcome {
                Ok(_) => place.answered(),
                Err(FailedAttempt { error: ModelError::RateLimited { retry_after: None, .. }, .. }) => place.refused(),
                Err(_) => {}
            }
            drop((place, shared));
            let error = match outcome {
                Ok(reply) => {
                    let usage = reply.usage();
                    let spent = self.spent(&request, usage).and(bill.spent());
                    let record = CallRecord {
                        served_model: reply.served_model.clone(),
                        latency_ms: millis(started.elapsed()),
                        attempts,
                        truncated: !matches!(reply.finish, FinishReason::Complete | FinishReason::Unknown),
                        filtered: reply.finish == FinishReason::Filtered,
                        interrupted: reply.finish == FinishReason::Interrupted,
                        unknown_end: reply.finish == FinishReason::Unknown,
                        finish_reason: reply.finish_word.clone(),
                        ..self.record(&request.model, usage, bill.reserved(), spent)
                    };
                    return Ok(Reply { record, ..reply });
                }
                Err(failed) => {
                    let is_second = bill.charge(&failed);
                    let error = failed.error;
                    if is_second && error.is_transient() {
                        ModelError::FailedTwice { last: error.into() }
                    } else {
                        error
                    }
                }
            };
            let Some(wait) = retries.wait_after(&error).filter(|_| !self.is_out_of_time()) else {
                let error = explained(error, &self.provider, &request.model, Utc::now().date_naive());
                return failed(error, attempts);
            };
            self.observer.iter().for_each(|observer| observer.retrying(attempts, &error, wait));
            let still = self.silence.as_ref().map(IdleTimeout::stand_still);
            sleep(wait).await;
            drop(still);
        }
    }

    fn is_out_of_time(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.is_too_long())
    }

    /// Makes one attempt. Limits only the time until the first token; afterwards, the [`ChatModel`] aborts idle
    /// streams. A reply without text or usable tool calls is a failure.
    async fn attempt(&self, request: &Request, attempt: u32, bill: &Bill<'_>) -> Result<Reply, FailedAttempt> {
        let batch = Batch::default();
        let tell = || {
            let Some(text) = batch.take() else { return };
            self.silence.iter().for_each(|silence| silence.end());
            if !text.is_empty() {
                self.observer.iter().for_each(|observer| observer.words(&text));
            }
        };
        let live = Live { listener: &batch, timeouts: self.timeouts, attempt, further: Some(bill) };
        let mut answer = self.chat.ask(request, live);
        let limit = self.timeouts.first_token;
        let first = tokio::select! {
            biased;
            answer = &mut answer => Some(answer),
            () = batch.first_token() => None,
            () = bill.is_late(limit) => return Err(ModelError::TimedOut { after: limit }.into()),
        };
        let mut next = pin!(sleep(UPDATE_INTERVAL));
        let answer = match first {
            Some(answer) => answer,
            None => loop {
                tokio::select! {
                    biased;
                    answer = &mut answer => break answer,
                    () = &mut next => {
                        tell();
                        next.as_mut().reset(Instant::now() + UPDATE_INTERVAL);
                    }
                }
            },
        };
        tell();
        let reply = answer?;
        self.silence.iter().for_each(|silence| silence.end());
        let call = reply.tool_calls.first();
        if !reply.text.trim().is_empty() || call.is_some() && !request.tools.is_empty() {
            return Ok(reply);
        }
        let word = reply.finish_word.as_ref().map(|word| format!(" ({word})")).unwrap_or_default();
        let error = match (reply.finish, call) {
            (FinishReason::Length, _) => ModelError::OutputLimit,
            (FinishReason::Filtered, _) => ModelError::Filtered { message: format!("no text was returned{word}") },
            (_, Some(call)) => {
                ModelError::Unusable { message: format!("it calls the tool `{}`, which was not offered", call.name) }
            }
            (FinishReason::Complete | FinishReason::Interrupted | FinishReason::Unknown, None) => ModelError::Empty,
        };
        Err(FailedAttempt::with_usage(error, reply.usage()))
    }

    /// The usage and cost of a request. A cost stated by the server takes precedence over the price table.
    fn spent(&self, request: &Request, usage: StatedUsage) -> AttemptUsage {
        // A free model costs nothing even if its usage is unknown.
        let priced = self.price.and_then(|price| match usage.tokens {
            Some(tokens) => Some(price.cost(tokens)),
            None => price.is_free().then_some(Usd::ZERO),
        });
        let cost = self.stated(&request.model, usage).or(priced);
        let (cost_usd, notional_usd) = if self.chat.is_notional() { (Some(Usd::ZERO), cost) } else { (cost, None) };
        AttemptUsage { tokens: usage.tokens, cost_usd, notional_usd }
    }

    /// The cost that the server stated. Servers also state 0 for models whose price they do not know, so 0 is ignored
    /// unless the call can be free.
    fn stated(&self, model: &str, usage: StatedUsage) -> Option<Usd> {
        let can_be_free = || self.price.is_none_or(Price::is_free) || self.chat.is_local() || model.ends_with(":free");
        usage.cost.filter(|cost| *cost > Usd::ZERO || can_be_free())
    }

    pub fn is_host(&self) -> bool {
        *self.provider == *HOST
    }

    pub fn unsent(&self, model: &str) -> CallRecord {
        self.record(model, StatedUsage::default(), None, AttemptUsage::NONE)
    }

    fn record(&self, model: &str, usage: StatedUsage, reserved: Option<Reserved>, spent: AttemptUsage) -> CallRecord {
        CallRecord {
            model: model.to_owned(),
            provider: self.provider.to_string(),
            tokens: spent.tokens,
            cost_usd: spent.cost_usd,
            notional_usd: spent.notional_usd,
            cost_stated: self.stated(model, usage).is_some(),
            reservation: reserved.map(|reserved| reserved.number),
            ..CallRecord::default()
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reserves and records the cost of attempts. Each cost must be recorded immediately, because a call that waits for its
/// next attempt may be abandoned.
pub trait Account: Send + Sync {
    /// Asks for permission to send an attempt. Under a cost or call limit, waits for room; without a limit, reserves
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns [`ModelError::OverBudget`] if the limit leaves no room for the attempt.
    fn reserve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>>;

    fn enter_failure(&self, error: &ModelError, call: CallRecord);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// The number of the event that records the reservation.
    pub number: u64,
    /// The output limit to send, in tokens; `None` if the cost limit requires none.
    pub max_tokens: Option<u32>,
}

/// Collects text between updates, because words arrive much faster than anyone can read.
#[derive(Default)]
struct Batch {
    text: Mutex<String>,
    /// Whether a token arrived since the last [`take`](Self::take), with or without text.
    has_more: AtomicBool,
}

impl Batch {
    /// Resolves once a token has arrived. Tokens do not wake the task, so poll this in the task that receives the
    /// answer, after polling the answer.
    async fn first_token(&self) {
        poll_fn(|_| if self.has_more.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The text since the last call, possibly empty; `None` if no token has arrived.
    fn take(&self) -> Option<String> {
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

#[cfg(test)]
mod tests;
