//! A judge that does not answer. Its attempts have ten minutes, so the clock is pushed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::support::in_process;
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request};
use dialectic_record::debate::{
    AgentSettings, Debate, OutcomeKind, Settings, Status, TerminationKind, default_settings,
};

const MAX_RETRIES: u32 = 2;

/// What the judge is asked for.
const EVALUATION: &str = "score the consensus";
const SYNTHESIS: &str = "synthesise";

/// A model that answers everything at once but for the first so many attempts of the judge at one task.
struct Hanging {
    task: &'static str,
    hangs: u32,
    attempts: AtomicU32,
}

impl Hanging {
    fn is_answered(&self, request: &Request) -> bool {
        in_process::task(request) != self.task || self.attempts.fetch_add(1, Ordering::SeqCst) >= self.hangs
    }
}

impl ChatModel for Hanging {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            if !self.is_answered(request) {
                std::future::pending::<()>().await;
            }
            Ok(in_process::reply(in_process::text(in_process::task(request))))
        })
    }
}

/// Two agents and one round, which the judge scores.
fn settings() -> Settings {
    let mut settings = default_settings();
    let agent = settings.agents[0].clone();
    settings.agents =
        ["one", "two"].map(|id| AgentSettings { id: format!("agent-{id}").as_str().into(), ..agent.clone() }).into();
    settings.debate.rounds = 1;
    settings.debate.max_retries = MAX_RETRIES;
    settings.debate.termination_condition.kind = TerminationKind::Convergence;
    settings.debate.timeout_per_round = u64::from(u32::MAX);
    settings
}

/// How a debate went.
struct Ended {
    ending: RunEnding,
    debate: Debate,
    /// Of the judge at the task at which it hangs.
    attempts: u32,
    took: Duration,
}

fn debate(task: &'static str, hangs: u32) -> Ended {
    let settings = settings();
    let model = Arc::new(Hanging { task, hangs, attempts: AtomicU32::new(0) });
    let in_flight = Arc::new(ConcurrencyLimit::at_most(4));
    let limits = CallerLimits { in_flight, max_retries: MAX_RETRIES };
    in_process::block_on(async {
        let panel = in_process::panel(&settings, &model, None, &limits);
        let started = Instant::now();
        let (ending, debate) = in_process::run(&settings, panel, 1).await;
        Ended { ending, debate, attempts: model.attempts.load(Ordering::SeqCst), took: started.elapsed() }
    })
}

const ALWAYS: u32 = u32::MAX;
const ATTEMPT: Duration = Duration::from_mins(10);
/// An attempt that took all of its time is repeated once.
const ATTEMPTS: u32 = 2;

#[test]
fn one_attempt_that_hangs_is_made_again() {
    for task in [EVALUATION, SYNTHESIS] {
        let ended = debate(task, 1);
        assert_eq!((ended.ending, ended.attempts), (RunEnding::Completed, 2), "{task}");
        assert!(ended.debate.failures.is_empty(), "{:?}", ended.debate.failures);
        assert_eq!(ended.debate.outcome.unwrap().kind, OutcomeKind::Full, "{task}");
        assert!((ATTEMPT..2 * ATTEMPT).contains(&ended.took), "{task}: {:?}", ended.took);
    }
}

#[test]
fn without_a_score_a_debate_is_degraded_and_says_so() {
    let ended = debate(EVALUATION, ALWAYS);
    assert_eq!((ended.ending, ended.attempts), (RunEnding::Completed, ATTEMPTS));
    let [failure] = &ended.debate.failures[..] else { panic!("{:?}", ended.debate.failures) };
    assert_eq!((failure.key.stage.as_str(), failure.attempts), ("evaluation", ATTEMPTS));
    assert!(failure.error.contains("no answer"), "{}", failure.error);
    let outcome = ended.debate.outcome.unwrap();
    assert_eq!(outcome.kind, OutcomeKind::Degraded);
    assert!(outcome.reasons.iter().any(|reason| reason.contains(&failure.error)), "{:?}", outcome.reasons);
    assert!(ended.took >= ATTEMPT * ATTEMPTS, "{:?}", ended.took);
}

#[test]
fn without_a_synthesis_a_debate_has_failed() {
    let ended = debate(SYNTHESIS, ALWAYS);
    assert_eq!((ended.ending, ended.attempts), (RunEnding::Failed, ATTEMPTS));
    assert_eq!((ended.debate.status, ended.debate.outcome.is_none()), (Status::Failed, true));
    let [failure] = &ended.debate.failures[..] else { panic!("{:?}", ended.debate.failures) };
    assert_eq!((failure.key.stage.as_str(), failure.attempts), ("synthesis", ATTEMPTS));
    let error = ended.debate.error.unwrap();
    assert!(error.contains("the judge could not write the solution") && error.contains(&failure.error), "{error}");
}
