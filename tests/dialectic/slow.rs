//! Slow is not broken: whatever keeps talking is heard to its end, and its round waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Incoming, MockServer, Purpose, Reply, default_reply, in_process, short_reply, two_agents};
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply as Said, Request};
use dialectic_record::debate::{OutcomeKind, Settings, default_settings};

/// A model that answers at once, but for one critique: a word a second, for a quarter of an hour.
struct Slow(AtomicU32);

const WORDS: usize = 15 * 60;
/// What the slow critique is about.
const PROPOSAL: &str = "A ring of the architect's.";

impl ChatModel for Slow {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Said, FailedAttempt>> {
        Box::pin(async move {
            let task = in_process::task(request);
            let is_of = |role: &str| request.prompt.contains(&format!("# Your role: {role}"));
            // Of the first round alone: refinements say something else.
            let is_slow = task == "critique" && is_of("Simplicity") && request.prompt.contains(PROPOSAL);
            let text = if is_slow {
                self.0.fetch_add(1, Ordering::SeqCst);
                for _ in 0..WORDS {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    live.listener.on_token("slowly ");
                }
                format!("1. [minor] {}", "slowly ".repeat(WORDS))
            } else if task == "propose" && is_of("Architect") {
                PROPOSAL.to_owned()
            } else {
                in_process::text(task)
            };
            Ok(Said { text, ..Said::default() })
        })
    }
}

#[test]
fn an_answer_of_a_quarter_of_an_hour_is_one_request_and_the_debate_is_full() {
    let settings = Settings { ..default_settings() };
    let model = Arc::new(Slow(AtomicU32::new(0)));
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(16)), max_retries: 3 };
    let (ending, debate) = in_process::block_on(async {
        let panel = in_process::panel(&settings, &model, None, &limits);
        in_process::run(&settings, panel, 1).await
    });
    assert_eq!((ending, model.0.load(Ordering::SeqCst)), (RunEnding::Completed, 1));
    assert_eq!(debate.outcome.unwrap().kind, OutcomeKind::Full);
    assert!(debate.rounds.iter().all(|round| !round.timed_out));
    let critiques = debate.rounds[0].contributions.iter();
    assert!(critiques.into_iter().any(|critique| critique.content.len() == "1. [minor] ".len() + 7 * WORDS));
}

fn of_kiss(request: &Incoming) -> bool {
    request.purpose == Purpose::Refine && request.model() == "model-kiss"
}

/// The same through the real client, for seconds: enough of them for a busy machine to answer the other calls in time.
#[test]
fn a_stream_may_take_longer_than_every_time_out() {
    let server = MockServer::with(|request| {
        if of_kiss(request) {
            Reply::text("slow ".repeat(110)).paced(Duration::from_millis(100))
        } else {
            short_reply(request)
        }
    });
    let debate = json!({"callTimeout": 8000, "idleTimeout": 8000, "timeoutPerRound": 8000});
    let sandbox = two_agents(&server, &debate);
    let (_, state) = sandbox.debated(["debate", "Design a queue", "--quiet"]);
    assert_eq!(state["outcome"]["kind"], "full");
    let slow: Vec<_> = server.exchanges().into_iter().filter(|exchange| of_kiss(&exchange.request)).collect();
    assert_eq!(slow.len(), 1);
    assert!(slow[0].took().unwrap() > Duration::from_secs(10));
}

/// The waits that a server asked for are none of the round's silence.
#[test]
fn a_round_waits_out_what_a_server_asked_for() {
    let server = MockServer::with(|request| {
        let first = request.repeats == 0 && of_kiss(request);
        if first { Reply::error(429, "slow down").header("retry-after", "9") } else { default_reply(request) }
    });
    let debate = json!({"callTimeout": 8000, "timeoutPerRound": 8000, "maxRetries": 1});
    let sandbox = two_agents(&server, &debate);
    let (_, state) = sandbox.debated(["debate", "Design a queue", "--quiet"]);
    assert_eq!(state["outcome"]["kind"], "full", "{}", state["outcome"]);
}
