//! Decides whether a failed attempt is retried, and the delay.

use std::time::Duration;

use rand::RngExt;

use crate::ModelError;

/// The first delay between attempts, doubled for each further one. A random amount of up to the same length is added,
/// so that calls refused together do not return together.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The maximum delay before the random amount, which at most doubles it.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// The minimum total delay of a call that is rate-limited without `Retry-After`, since such limits count by the minute.
pub(super) const RATE_WINDOW: Duration = Duration::from_mins(1);
/// The maximum `Retry-After`; longer ones are not waited for.
pub(super) const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);

/// The retries of a call.
pub(super) struct Retries {
    most: u32,
    made: u32,
    has_repeated: bool,
}

impl Retries {
    pub(super) fn at_most(most: u32) -> Self {
        Self { most, made: 0, has_repeated: false }
    }

    /// The delay after `error`; `None` if another attempt is useless or not allowed. Some failures are repeated only
    /// once.
    pub(super) fn wait_after(&mut self, error: &ModelError) -> Option<Duration> {
        let is_again = self.has_repeated && error.repeats_once();
        self.has_repeated |= error.repeats_once();
        let asked = error.retry_after().filter(|asked| !asked.is_zero());
        let is_too_long = asked.is_some_and(|asked| asked > LONGEST_RETRY_AFTER);
        if self.made == self.most || !error.is_transient() || is_again || is_too_long {
            return None;
        }
        // Only without any `Retry-After`; a value of 0, such as a past date, gets the usual delay.
        let is_unstated = matches!(error, ModelError::RateLimited { retry_after: None, .. });
        let own = if is_unstated { self.share_of_the_window() } else { self.doubled() };
        self.made += 1;
        Some(asked.unwrap_or(own))
    }

    fn doubled(&self) -> Duration {
        let least = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.made)).min(LONGEST_WAIT);
        least + least.mul_f64(rand::rng().random_range(0.0..1.0))
    }

    /// Also doubles, such that all retries of a call together cover the window.
    fn share_of_the_window(&self) -> Duration {
        let parts = 2_f64.powi(i32::try_from(self.most).unwrap_or(i32::MAX)) - 1.0;
        let part = 2_f64.powi(i32::try_from(self.made).unwrap_or(i32::MAX)) / parts;
        let least = RATE_WINDOW.mul_f64(if part.is_finite() { part } else { 0.0 });
        self.doubled().max(least + least.mul_f64(rand::rng().random_range(0.0..0.25)))
    }
}
