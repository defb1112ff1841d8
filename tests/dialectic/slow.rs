//! Slow is not broken: whatever keeps talking is heard to its end, and its round waits for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::support::in_process::{self, task};
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Reply, Request};
use dialectic_record::debate::{Debate, OutcomeKind};
use dialectic_record::settings::{Settings, default_settings};

/// What a model does when it is asked.
enum Turn {
    Answers,
    /// A word a second, for a quarter of an hour.
    Slowly,
    Asks(Duration),
    Hangs,
}

/// A model that takes its time where the test says so.
struct Slow {
    /// Given a request and how often it came before.
    turn: fn(&Request, usize) -> Turn,
    asked: Mutex<Vec<String>>,
}

const WORDS: usize = 15 * 60;

impl ChatModel for Slow {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            let repeats = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(request.prompt.to_string());
                asked.iter().filter(|prompt| **prompt == *request.prompt).count() - 1
            };
            let text = match (self.turn)(request, repeats) {
                Turn::Answers if task(request) == "propose" && is_of(request, "Architect") => PROPOSAL.to_owned(),
                Turn::Answers => in_process::text(task(request)),
                Turn::Slowly => {
                    for _ in 0..WORDS {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        live.listener.on_token("slowly ");
                    }
                    format!("1. [minor] {}", "slowly ".repeat(WORDS))
                }
                Turn::Asks(wait) => {
                    let message = "slow down".to_owned();
                    return Err(ModelError::RateLimited { status: 429, retry_after: Some(wait), message }.into());
                }
                Turn::Hangs => std::future::pending().await,
            };
            Ok(Reply { text, ..Reply::default() })
        })
    }
}

/// What the slow critique is about. Of the first round alone: refinements say something else.
const PROPOSAL: &str = "A ring of the architect's.";

fn is_of(request: &Request, role: &str) -> bool {
    request.prompt.contains(&format!("# Your role: {role}"))
}

fn is_slow(request: &Request) -> bool {
    task(request) == "critique" && is_of(request, "Simplicity") && request.prompt.contains(PROPOSAL)
}

/// The debate to its end, and the prompts of its requests.
fn debate(settings: &Settings, turn: fn(&Request, usize) -> Turn) -> (Debate, Vec<String>) {
    let model = Arc::new(Slow { turn, asked: Mutex::default() });
    let in_flight = Arc::new(ConcurrencyLimit::at_most(16));
    let limits = CallerLimits { in_flight, max_retries: settings.debate.max_retries };
    let (ending, debate) = in_process::block_on(async {
        let panel = in_process::panel(settings, &model, None, &limits);
        in_process::run(settings, panel, 1).await
    });
    assert_eq!(ending, RunEnding::Completed);
    (debate, std::mem::take(&mut model.asked.lock().unwrap()))
}

/// One round, for which there are eight seconds.
fn hurried() -> Settings {
    let mut settings = default_settings();
    (settings.debate.rounds, settings.debate.check) = (1, 0);
    (settings.debate.timeout_per_round, settings.debate.call_timeout) = (8_000, 8_000);
    settings.debate.max_retries = 1;
    settings
}

#[test]
fn an_answer_of_a_quarter_of_an_hour_is_one_request_and_the_debate_is_full() {
    let turn = |request: &Request, _| if is_slow(request) { Turn::Slowly } else { Turn::Answers };
    let (debate, mut asked) = debate(&default_settings(), turn);
    assert_eq!(debate.outcome.unwrap().kind, OutcomeKind::Full);
    assert!(debate.rounds.iter().all(|round| !round.timed_out));
    let mut critiques = debate.rounds[0].contributions.iter();
    assert!(critiques.any(|critique| critique.content.len() == "1. [minor] ".len() + 7 * WORDS));
    let all = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), all, "something was asked twice");
}

/// The waits that a server asked for are none of the round's silence.
#[test]
fn a_round_waits_out_what_a_server_asked_for() {
    let (debate, _) = debate(&hurried(), |request, repeats| {
        let is_refused = repeats == 0 && task(request) == "refine" && is_of(request, "Simplicity");
        if is_refused { Turn::Asks(Duration::from_secs(9)) } else { Turn::Answers }
    });
    let outcome = debate.outcome.unwrap();
    assert_eq!(outcome.kind, OutcomeKind::Full, "{outcome:?}");
}

#[test]
fn a_round_ends_at_its_limit_with_what_it_has() {
    let turn = |request: &Request, _| if is_slow(request) { Turn::Hangs } else { Turn::Answers };
    let (debate, asked) = debate(&hurried(), turn);
    assert!(debate.rounds[0].timed_out);
    let failed = "agent-kiss failed in the critique of agent-architect of round 1: no answer within 8s";
    assert_eq!(debate.outcome.unwrap().reasons, [failed, "round 1 reached its time limit"]);
    assert_eq!(debate.failures[0].attempts, 2);
    // What was in flight came to its own end, and nothing was begun behind that.
    let refined = asked.iter().filter(|prompt| prompt.contains("# Your task: refine"));
    assert_eq!(refined.clone().count(), 2);
    assert!(refined.clone().all(|prompt| !prompt.contains("# Your role: Architect")), "{asked:?}");
}
