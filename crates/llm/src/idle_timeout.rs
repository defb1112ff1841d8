//! How long nothing has been heard of calls that belong together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Measures how long none of a round's calls has had a token. The measure starts again at every token, and stands
/// still while a call waits for its next attempt. What is in flight is never cut short by it: a silence that is too
/// long keeps further attempts from beginning.
#[derive(Debug)]
pub struct IdleTimeout {
    limit: Duration,
    heard: Mutex<Heard>,
}

#[derive(Debug)]
struct Heard {
    last: Instant,
    waiting: u32,
    /// Since when the measure stands still.
    still_since: Option<Instant>,
}

/// A call's wait for its next attempt; it ends when this is dropped.
pub(super) struct Wait(Arc<IdleTimeout>);

impl IdleTimeout {
    /// A silence that begins now, and is too long from `limit` on.
    pub fn of_at_most(limit: Duration) -> Self {
        Self { limit, heard: Mutex::new(Heard { last: Instant::now(), waiting: 0, still_since: None }) }
    }

    /// Whether it is too long.
    pub fn is_too_long(&self) -> bool {
        let heard = self.heard();
        let until = heard.still_since.unwrap_or_else(Instant::now);
        until.saturating_duration_since(heard.last) >= self.limit
    }

    /// A token has come in.
    pub(super) fn end(&self) {
        let (mut heard, now) = (self.heard(), Instant::now());
        heard.last = now;
        heard.still_since = heard.still_since.map(|_| now);
    }

    /// A call begins to wait for its next attempt.
    pub(super) fn stand_still(self: &Arc<Self>) -> Wait {
        let mut heard = self.heard();
        heard.waiting += 1;
        heard.still_since.get_or_insert_with(Instant::now);
        Wait(Arc::clone(self))
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait {
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
