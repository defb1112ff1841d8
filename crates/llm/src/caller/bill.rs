//! Charges each request of a call before the next one is sent, and decides whether and when to retry.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rand::RngExt;
use tokio::time::{Instant, sleep};

use crate::{FailedAttempt, Further, ModelError, Request, Reserved};
use dialectic_base::call::CallRecord;
use dialectic_base::price::Price;

use super::{AttemptUsage, Caller};

/// The maximum number of failed requests per call that may be charged in full under a cost limit: the first one and one
/// retry.
const MOST_IN_FULL: u32 = 2;

pub(super) struct Bill<'a> {
    caller: &'a Caller,
    request: &'a Request,
    open: Mutex<OpenCharge>,
}

#[derive(Default)]
struct OpenCharge {
    reserved: Option<Reserved>,
    /// When the request in flight started; `None` while a request waits for permission.
    begun: Option<Instant>,
    /// The usage of failed requests, if there is no account.
    spent: Option<AttemptUsage>,
    /// The number of failed requests for which the whole reservation was charged.
    in_full: u32,
}

impl<'a> Bill<'a> {
    pub(super) fn of(caller: &'a Caller, request: &'a Request) -> Self {
        Self { caller, request, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenCharge> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves money for the next request. Returns the output limit in tokens that the cost limit requires, if any.
    pub(super) async fn reserve(&self) -> Result<Option<u32>, ModelError> {
        self.open().begun = None;
        let reserved = match &self.caller.account {
            Some(account) => account.reserve(self.request).await?,
            None => None,
        };
        let mut open = self.open();
        (open.reserved, open.begun) = (reserved, Some(Instant::now()));
        Ok(reserved.and_then(|reserved| reserved.max_tokens))
    }

    /// Charges the request in flight, which failed. Returns `true` if a failed request was charged in full for the
    /// second time.
    pub(super) fn charge(&self, failed: &FailedAttempt) -> bool {
        let reserved = self.open().reserved.take();
        let is_in_full = self.is_in_full(failed, reserved);
        let spent = self.enter(failed, reserved);
        let mut open = self.open();
        open.spent = spent.map(|spent| spent.and(open.spent)).or(open.spent);
        open.in_full += u32::from(is_in_full);
        is_in_full && open.in_full >= MOST_IN_FULL
    }

    /// Charges the failed request to the account. Without an account, returns the request's usage, or `None` if the
    /// request cannot be billed.
    fn enter(&self, failed: &FailedAttempt, reserved: Option<Reserved>) -> Option<AttemptUsage> {
        let FailedAttempt { error, usage, may_be_billed } = failed;
        let has_usage = usage.tokens.is_some() || usage.cost.is_some();
        let is_billed = has_usage || *may_be_billed;
        let nothing = AttemptUsage::NONE;
        let spent = if is_billed { self.caller.spent(self.request, *usage) } else { nothing };
        match &self.caller.account {
            Some(account) if is_billed || reserved.is_some() => {
                let record = self.caller.record(&self.request.model, *usage, reserved, spent);
                // If a subscription covers the request or the model is free, the cost is known although the usage is
                // not.
                let is_counted = has_usage || is_billed && spent.cost_usd.is_some();
                account.enter_failure(error, CallRecord { attempts: u32::from(is_counted), ..record });
                None
            }
            Some(_) => None,
            None => is_billed.then_some(spent),
        }
    }

    /// Whether the whole reservation is charged for a failure, because the request may have been billed at an unknown
    /// cost.
    fn is_in_full(&self, failed: &FailedAttempt, reserved: Option<Reserved>) -> bool {
        let is_unsaid = || self.caller.spent(self.request, failed.usage).cost_usd.is_none();
        self.is_limited(reserved) && failed.may_be_billed && is_unsaid()
    }

    /// Whether money was reserved for the request: there is a cost limit, and the model is not free.
    fn is_limited(&self, reserved: Option<Reserved>) -> bool {
        reserved.is_some_and(|reserved| reserved.max_tokens.is_some()) && !self.caller.price.is_some_and(Price::is_free)
    }

    pub(super) fn reserved(&self) -> Option<Reserved> {
        self.open().reserved
    }

    pub(super) fn spent(&self) -> Option<AttemptUsage> {
        self.open().spent
    }

    /// Resolves when the request in flight has taken longer than `limit`. Waiting for permission does not count.
    pub(super) async fn is_late(&self, limit: Duration) {
        loop {
            let begun = self.open().begun;
            let left = begun.map_or(limit, |begun| (begun + limit).saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }
}

impl Further for Bill<'_> {
    fn after(&self, failed: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>> {
        Box::pin(async move {
            let OpenCharge { reserved, in_full, .. } = *self.open();
            let is_last = self.is_in_full(&failed, reserved) && in_full + 1 >= MOST_IN_FULL;
            if is_last || self.caller.is_out_of_time() {
                return Err(failed);
            }
            self.charge(&failed);
            self.reserve().await.map_err(FailedAttempt::from)
        })
    }

    fn repeats_once(&self) -> bool {
        self.is_limited(self.reserved())
    }
}

/// The delay before the first retry; it doubles with each further retry. A random delay of up to the same length is
/// added, so that calls that failed together are not retried together.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The maximum delay before adding the random part, which at most doubles it.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// The minimum total delay of a call that is rate-limited without `Retry-After`, since such limits usually count per
/// minute.
pub(super) const RATE_WINDOW: Duration = Duration::from_mins(1);
/// A longer `Retry-After` ends the call.
pub(super) const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);

pub(super) struct Retries {
    most: u32,
    made: u32,
    has_repeated: bool,
}

impl Retries {
    pub(super) fn at_most(most: u32) -> Self {
        Self { most, made: 0, has_repeated: false }
    }

    /// The delay after `error`; `None` if another attempt would be useless or is not allowed. Some failures are retried
    /// only once.
    pub(super) fn wait_after(&mut self, error: &ModelError) -> Option<Duration> {
        let is_again = self.has_repeated && error.repeats_once();
        self.has_repeated |= error.repeats_once();
        let asked = error.retry_after().filter(|asked| !asked.is_zero());
        let is_too_long = asked.is_some_and(|asked| asked > LONGEST_RETRY_AFTER);
        if self.made == self.most || !error.is_transient() || is_again || is_too_long {
            return None;
        }
        // A rate limit without `Retry-After` needs longer delays. If the header is 0 or a past date, the usual delay
        // applies.
        let is_unstated = matches!(error, ModelError::RateLimited { retry_after: None, .. });
        let own = if is_unstated { self.share_of_the_window() } else { self.doubled() };
        self.made += 1;
        Some(asked.unwrap_or(own))
    }

    fn doubled(&self) -> Duration {
        let least = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.made)).min(LONGEST_WAIT);
        least + least.mul_f64(rand::rng().random_range(0.0..1.0))
    }

    /// A delay that doubles with each retry, so that all retries of a call together span [`RATE_WINDOW`].
    fn share_of_the_window(&self) -> Duration {
        let parts = 2_f64.powi(i32::try_from(self.most).unwrap_or(i32::MAX)) - 1.0;
        let part = 2_f64.powi(i32::try_from(self.made).unwrap_or(i32::MAX)) / parts;
        let least = RATE_WINDOW.mul_f64(if part.is_finite() { part } else { 0.0 });
        self.doubled().max(least + least.mul_f64(rand::rng().random_range(0.0..0.25)))
    }
}
