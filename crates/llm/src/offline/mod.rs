//! The offline provider rehearses a debate without a model.
//!
//! Like a model, it works only from requests: it finds the task in the prompt's headings, and the form of the answer in
//! the schema. It asks questions about what a debate needs to know (`gaps.md`) but the problem does not state. It says
//! that it is a rehearsal and states no confidence. Its answers depend on the request and a seed; it reads no files,
//! clock or environment, and calls no tools.

mod form;
mod problem;
mod task;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use task::PlayedAgent;
use tokio::time::{Instant, sleep_until};

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE_MODEL;

use super::{ChatModel, FailedAttempt, Listener, Live, ModelError, Reply, Request};

#[derive(Debug, Default)]
pub struct OfflineProvider {
    seed: u64,
    latency: Duration,
    fail_every: Option<NonZeroU32>,
    requests: AtomicU64,
}

impl OfflineProvider {
    /// `seed` determines votes and the lines that reviews point at, and varies the latency. An answer takes 0.5 to 1.5
    /// times `latency`, depending on the request. If `fail_every` is set, every request whose number is a multiple of
    /// it fails as if a server had returned status 500.
    pub fn new(seed: u64, latency: Duration, fail_every: Option<NonZeroU32>) -> Self {
        Self { seed, latency, fail_every, requests: AtomicU64::new(0) }
    }

    async fn answer(&self, request: &Request, listener: &dyn Listener) -> Result<Reply, FailedAttempt> {
        let latency = self.latency_of(&request.prompt);
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.fail_every.is_some_and(|every| number.is_multiple_of(u64::from(every.get()))) {
            speak("", latency, listener).await;
            let message = "simulated failure".to_owned();
            return Err(ModelError::ServerFailed { status: 500, retry_after: None, message }.into());
        }
        let agent = PlayedAgent::new(&request.prompt, self.seed);
        let text = match &request.answer {
            Some(answer) => agent.form(&answer.schema).to_string(),
            None => agent.text(),
        };
        speak(&text, latency, listener).await;
        // No model read or wrote anything, so nothing is billed.
        Ok(Reply {
            text,
            served_model: Some(OFFLINE_MODEL.to_owned()),
            tokens: Some(Tokens::default()),
            stated_cost: Some(Usd::ZERO),
            ..Reply::default()
        })
    }

    fn latency_of(&self, prompt: &str) -> Duration {
        let thousandths = mixed(self.seed, prompt) % 1001;
        let factor = u32::try_from(500 + thousandths).unwrap_or(1000);
        self.latency.saturating_mul(factor) / 1000
    }
}

impl ChatModel for OfflineProvider {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        self.answer(request, live.listener).boxed()
    }
}

/// Hashes a text and the seed with FNV-1a, which, unlike the standard library's hashers, is stable across releases.
/// `SplitMix64` then gives similar texts very different numbers.
fn mixed(seed: u64, text: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = seed ^ text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

async fn speak(text: &str, time: Duration, listener: &dyn Listener) {
    if time.is_zero() {
        return;
    }
    let (start, end) = (Instant::now(), Instant::now() + time);
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    for (number, word) in (1..=count).zip(words) {
        sleep_until(start + time.saturating_mul(number) / count).await;
        listener.on_token(word);
    }
    sleep_until(end).await;
}

#[cfg(test)]
mod tests;
