//! The offline provider: answers from rules and checklists where no model can or shall be called.
//!
//! It answers from a request's [`Brief`](super::Brief) alone, the same for the same brief, and never pretends to be a
//! model. It reads no prompt, file, clock or environment.

mod checklist;
mod document;
mod evaluator;
mod judge;
mod problem;
mod refine;
mod solution;
mod subject;
mod words;
mod write;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep, sleep_until};

use crate::debate::{CallKey, Phase, Tokens, Usd};

use super::{ChatModel, FailedAttempt, FinishReason, Listener, Live, ModelError, Reply, Request};

use evaluator::Evaluator;
use judge::Judge;
use write::Writer;

/// The name of the model that is none.
pub const MODEL: &str = "rehearsal";

/// How the offline provider behaves beside what it says.
#[derive(Debug, Clone, Default)]
pub struct RehearsalOptions {
    /// Breaks ties in votes and varies the latency.
    pub seed: u64,
    /// How long an answer takes on average; each takes 0.5 to 1.5 times that, the same for the same call.
    pub latency: Duration,
    /// Every n-th request fails like a server's error 500; none when absent.
    pub fail_every: Option<NonZeroU32>,
}

/// The offline provider.
#[derive(Debug, Default)]
pub struct Rehearsal {
    options: RehearsalOptions,
    requests: AtomicU64,
}

impl Rehearsal {
    /// A provider that has not been asked yet.
    #[must_use]
    pub fn new(options: RehearsalOptions) -> Self {
        Self { options, requests: AtomicU64::new(0) }
    }

    fn text(&self, request: &Request) -> String {
        let brief = &request.brief;
        match brief.key.phase {
            Phase::Clarification => Writer::new(brief).questions(),
            Phase::Proposal => Writer::new(brief).proposal(),
            Phase::Critique => Writer::new(brief).critique(),
            Phase::Refinement => Writer::new(brief).refinement(),
            Phase::Summarization => Writer::new(brief).summary(),
            Phase::Evaluation => match Evaluator::of(brief) {
                Some(evaluator) => evaluator.evaluation(),
                None => Judge::new(brief).evaluation(),
            },
            Phase::Vote => Judge::new(brief).vote(self.options.seed),
            Phase::JudgeSummary => Judge::new(brief).summary(),
            Phase::Synthesis => Judge::new(brief).synthesis(),
        }
    }

    /// An answer, or a failure where one is due. The listener hears it in the time that it takes.
    async fn answer(&self, request: &Request, listener: &dyn Listener) -> Result<Reply, FailedAttempt> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let latency = self.latency(&request.brief.key);
        if self.options.fail_every.is_some_and(|every| number.is_multiple_of(u64::from(every.get()))) {
            pause(latency).await;
            let message = "a failure that was asked for".to_owned();
            return Err(ModelError::ServerFailed { status: 500, retry_after: None, message }.into());
        }
        let text = self.text(request);
        if !latency.is_zero() {
            speak(&text, latency, listener).await;
        }
        Ok(Reply {
            text,
            tool_calls: Vec::new(),
            finish: FinishReason::Complete,
            served_model: Some(MODEL.to_owned()),
            // Nothing was read or written by a model, and nothing is billed.
            tokens: Some(Tokens::default()),
            stated_cost: Some(Usd::ZERO),
        })
    }

    fn latency(&self, key: &CallKey) -> Duration {
        let target = key.target_agent_id.as_ref().map_or("", |id| id.as_str());
        let call = format!("{} {} {} {target}", key.round, key.phase.name(), key.agent_id);
        let thousandths = mix(self.options.seed ^ text_hash(&call)) % 1001;
        let factor = u32::try_from(500 + thousandths).unwrap_or(1000);
        self.options.latency.saturating_mul(factor) / 1000
    }
}

impl ChatModel for Rehearsal {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        self.answer(request, live.listener).boxed()
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

/// Says `text` word by word, in that time.
async fn speak(text: &str, time: Duration, listener: &dyn Listener) {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    let start = Instant::now();
    for (number, word) in (1..=count).zip(words) {
        sleep_until(start + time.saturating_mul(number) / count).await;
        listener.on_token(word);
    }
}

/// FNV-1a: unlike the standard library's hashers it is the same in every release.
fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Spreads the bits of a hash (the last steps of `SplitMix64`), so that similar texts do not give similar numbers.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod streaming_tests;
#[cfg(test)]
mod tests;
