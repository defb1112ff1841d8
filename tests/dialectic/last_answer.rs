//! An answer that comes in the moment of the interrupt is paid for, and kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::support::in_process;
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request};
use dialectic_record::live::{PanelInfo, Signals};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::default_settings;

/// A model that is interrupted together with its answer of that number.
struct Interrupting {
    at: usize,
    answered: AtomicUsize,
    cancel: CancellationToken,
}

impl ChatModel for Interrupting {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            let number = self.answered.load(Ordering::SeqCst) + 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
            if self.cancel.is_cancelled() {
                return std::future::pending().await;
            }
            self.answered.store(number, Ordering::SeqCst);
            if number == self.at {
                self.cancel.cancel();
            }
            // A critique without points would be asked for them once more, and said after that.
            Ok(Reply { text: format!("1. [minor] Answer {number}."), ..Reply::default() })
        })
    }
}

#[test]
fn an_answer_that_comes_with_the_interrupt_is_kept() {
    for at in 1..=6 {
        let settings = default_settings();
        let cancel = CancellationToken::new();
        let model = Arc::new(Interrupting { at, answered: AtomicUsize::new(0), cancel: cancel.clone() });
        // One call at a time: the interrupt comes with the last answer, and with no other.
        let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(1)), max_retries: 0 };
        let (ending, debate) = in_process::block_on(async {
            let panel = in_process::panel(&settings, &model, None, &limits);
            let signals = Signals::new(PanelInfo::new(&settings, DIALECTIC.infos()));
            in_process::run_until(&settings, panel, 1, signals, cancel).await
        });
        assert_eq!(ending, RunEnding::Paused);
        let said: usize = debate.rounds.iter().map(|round| round.contributions.len()).sum();
        assert_eq!((said, model.answered.load(Ordering::SeqCst)), (at, at));
    }
}
