//! What the requests of one call are charged with, each before the next is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use crate::{FailedAttempt, Further, ModelError, Request, Reserved};
use dialectic_base::call::CallRecord;
use dialectic_base::money::Price;

use super::{AttemptUsage, Caller};

/// Requests of one call that may fail and count in full under a cost limit: one, and its repetition.
const MOST_IN_FULL: u32 = 2;

/// The requests of a call.
pub(super) struct Bill<'a> {
    caller: &'a Caller,
    request: &'a Request,
    open: Mutex<OpenCharge>,
}

#[derive(Default)]
struct OpenCharge {
    /// What is set aside for the request in flight.
    reserved: Option<Reserved>,
    /// Since when it is in flight; absent while it waits for leave.
    begun: Option<Instant>,
    /// What failed requests took that nobody else keeps account of.
    spent: Option<AttemptUsage>,
    /// How many have failed that count with all that was set aside.
    in_full: u32,
}

impl<'a> Bill<'a> {
    pub(super) fn of(caller: &'a Caller, request: &'a Request) -> Self {
        Self { caller, request, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenCharge> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for leave to send a request. Returns its output limit, where a cost limit sets one.
    pub(super) async fn reserve(&self) -> Result<Option<u32>, ModelError> {
        self.open().begun = None;
        let reserved = self.caller.reserve(self.request).await?;
        let mut open = self.open();
        (open.reserved, open.begun) = (reserved, Some(Instant::now()));
        Ok(reserved.and_then(|reserved| reserved.max_tokens))
    }

    /// Charges the request in flight, which failed. Says whether it is the second that counts in full.
    pub(super) fn charge(&self, failed: &FailedAttempt) -> bool {
        let reserved = self.open().reserved.take();
        let is_in_full = self.is_in_full(failed, reserved);
        let spent = self.enter(failed, reserved);
        let mut open = self.open();
        open.spent = spent.map(|spent| spent.and(open.spent)).or(open.spent);
        open.in_full += u32::from(is_in_full);
        is_in_full && open.in_full >= MOST_IN_FULL
    }

    /// Has the books say what a failed request took. Returns what they do not say, as nobody keeps them.
    fn enter(&self, failed: &FailedAttempt, reserved: Option<Reserved>) -> Option<AttemptUsage> {
        let FailedAttempt { error, usage, may_be_billed } = failed;
        let has_usage = usage.tokens.is_some() || usage.cost.is_some();
        let is_billed = has_usage || *may_be_billed;
        let nothing = AttemptUsage::NONE;
        let spent = if is_billed { self.caller.spent(self.request, *usage) } else { nothing };
        match &self.caller.account {
            Some(account) if is_billed || reserved.is_some() => {
                let record = self.caller.record(self.request, *usage, reserved, spent);
                account.enter_failure(error, CallRecord { attempts: u32::from(has_usage), ..record });
                None
            }
            Some(_) => None,
            None => is_billed.then_some(spent),
        }
    }

    /// Whether a failure counts with all that was set aside: it may be on the bill, and nobody says with how much.
    fn is_in_full(&self, failed: &FailedAttempt, reserved: Option<Reserved>) -> bool {
        let is_unsaid = || self.caller.spent(self.request, failed.usage).cost_usd.is_none();
        self.is_limited(reserved) && failed.may_be_billed && is_unsaid()
    }

    /// Whether money is set aside for the requests of the call.
    fn is_limited(&self, reserved: Option<Reserved>) -> bool {
        reserved.is_some_and(|reserved| reserved.max_tokens.is_some()) && !self.caller.price.is_some_and(Price::is_free)
    }

    /// What is set aside for the request in flight.
    pub(super) fn reserved(&self) -> Option<Reserved> {
        self.open().reserved
    }

    /// What failed requests took that nobody else keeps account of.
    pub(super) fn spent(&self) -> Option<AttemptUsage> {
        self.open().spent
    }

    /// Ends when the request in flight has taken longer than `limit`. To wait for leave takes no time of it.
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
            let (reserved, in_full) = {
                let open = self.open();
                (open.reserved, open.in_full)
            };
            let is_last = self.is_in_full(&failed, reserved) && in_full + 1 >= MOST_IN_FULL;
            if is_last || self.caller.is_out_of_time() {
                return Err(failed);
            }
            self.charge(&failed);
            self.reserve().await.map_err(FailedAttempt::from)
        })
    }

    fn repeats_once(&self) -> bool {
        let reserved = self.open().reserved;
        self.is_limited(reserved)
    }
}
