//! The idle time of related calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Measures the time since any call of a round received a token. Every token restarts it, and it pauses while a call
/// waits for its next attempt. It never interrupts calls in flight: it only prevents further attempts.
#[derive(Debug)]
pub struct IdleTimeout {
    limit: Duration,
    heard: Mutex<LastToken>,
}

#[derive(Debug)]
struct LastToken {
    last: Instant,
    waiting: u32,
    /// Since when it is paused.
    still_since: Option<Instant>,
}

/// A call's wait for its next attempt; dropping it ends the wait.
pub(super) struct RetryWait(Arc<IdleTimeout>);

impl IdleTimeout {
    /// A timeout with this limit, starting now.
    pub fn of_at_most(limit: Duration) -> Self {
        Self { limit, heard: Mutex::new(LastToken { last: Instant::now(), waiting: 0, still_since: None }) }
    }

    /// Whether the limit is exceeded.
    pub fn is_too_long(&self) -> bool {
        let heard = self.heard();
        let until = heard.still_since.unwrap_or_else(Instant::now);
        until.saturating_duration_since(heard.last) >= self.limit
    }

    /// A token arrived.
    pub(super) fn end(&self) {
        let (mut heard, now) = (self.heard(), Instant::now());
        heard.last = now;
        heard.still_since = heard.still_since.map(|_| now);
    }

    /// A call begins to wait for its next attempt.
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
