//! The offline provider, followed. Time stands still while somebody works.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use crate::debate::AgentId;
use crate::llm::{Brief, Timeouts};

use super::*;

/// What was heard, and when, in milliseconds.
struct Heard(Mutex<Vec<(u128, String)>>, Instant);

impl Listener for Heard {
    fn on_token(&self, text: &str) {
        self.0.lock().unwrap().push((self.1.elapsed().as_millis(), text.to_owned()));
    }
}

fn request() -> Request {
    let key = CallKey { round: 1, phase: Phase::Proposal, agent_id: AgentId::new("a"), target_agent_id: None };
    let problem = "Design a queue".into();
    Request {
        brief: Brief { key, role: "kiss".into(), problem, clarifications: Arc::new([]), material: vec![] },
        model: MODEL.into(),
        temperature: 0.5,
        max_tokens: None,
        system: "s".into(),
        prompt: "p".into(),
        turns: vec![],
        answer: None,
        tools: Arc::new([]),
    }
}

async fn followed(options: RehearsalOptions) -> (Result<Reply, FailedAttempt>, Vec<(u128, String)>, u128) {
    let heard = Heard(Mutex::default(), Instant::now());
    let timeouts = Timeouts { first_token: Duration::from_secs(9), idle: Duration::from_secs(1) };
    let reply = Rehearsal::new(options).ask(&request(), Live { listener: &heard, timeouts, attempt: 1 }).await;
    let took = heard.1.elapsed().as_millis();
    (reply, heard.0.into_inner().unwrap(), took)
}

#[tokio::test(start_paused = true)]
async fn words_are_spread_over_the_time_that_an_answer_takes() {
    let options = RehearsalOptions { latency: Duration::from_secs(4), ..RehearsalOptions::default() };
    let latency = Rehearsal::new(options.clone()).latency(&request().brief.key).as_millis();
    let (reply, heard, took) = followed(options).await;
    assert!(took.abs_diff(latency) <= 1, "{took} {latency}");
    assert_eq!(heard.iter().map(|(_, text)| text.as_str()).collect::<String>(), reply.unwrap().text);
    // By the middle of the time half of the words are there.
    let early = heard.iter().filter(|(at, _)| *at <= latency / 2).count();
    assert!(early.abs_diff(heard.len() / 2) <= 2, "{early} of {}", heard.len());
}

#[tokio::test(start_paused = true)]
async fn at_once_is_at_once_and_a_failure_says_nothing() {
    let (reply, heard, took) = followed(RehearsalOptions::default()).await;
    assert!(reply.is_ok_and(|reply| !reply.text.is_empty()));
    assert_eq!((heard.len(), took), (0, 0));
    let failing = RehearsalOptions { latency: Duration::from_secs(1), fail_every: NonZeroU32::new(1), seed: 0 };
    let (reply, heard, _) = followed(failing).await;
    assert!(matches!(reply.unwrap_err().error, ModelError::ServerFailed { status: 500, .. }));
    assert!(heard.is_empty());
}
