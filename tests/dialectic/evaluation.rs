//! When a debate ends: after its rounds, or when the judge finds that it is enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;

use crate::support::in_process;
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request};
use dialectic_record::debate::{Debate, Evaluation, OutcomeKind};
use dialectic_record::settings::{TerminationKind, default_settings};

const THRESHOLD: f64 = 80.0;

/// A model whose scores depend on how often it was asked for one.
struct Scoring {
    score: fn(usize) -> &'static str,
    scores: AtomicUsize,
    requests: AtomicUsize,
}

impl ChatModel for Scoring {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let text = match in_process::task(request) {
            "score the consensus" | "score the best solution" => {
                (self.score)(self.scores.fetch_add(1, Ordering::SeqCst)).to_owned()
            }
            task => in_process::text(task),
        };
        Box::pin(async { Ok(in_process::reply(text)) })
    }
}

/// Two agents over three rounds with a judge that scores like that; the scores, and the number of requests.
fn judged(kind: TerminationKind, score: fn(usize) -> &'static str) -> (Debate, Vec<Option<Evaluation>>, usize) {
    let mut settings = default_settings();
    settings.agents.truncate(2);
    (settings.debate.rounds, settings.debate.check) = (3, 0);
    settings.debate.termination_condition.kind = kind;
    settings.debate.termination_condition.threshold = THRESHOLD;
    let model = Arc::new(Scoring { score, scores: AtomicUsize::new(0), requests: AtomicUsize::new(0) });
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(16)), max_retries: 0 };
    let (ending, debate) = in_process::block_on(async {
        let panel = in_process::panel(&settings, &model, None, &limits);
        in_process::run(&settings, panel, 1).await
    });
    assert_eq!(ending, RunEnding::Completed, "{:?}", debate.error);
    let evaluations = debate.rounds.iter().map(|round| round.evaluation.clone()).collect();
    (debate, evaluations, model.requests.load(Ordering::SeqCst))
}

#[test]
fn a_debate_ends_with_the_round_whose_score_is_enough() {
    type Score = fn(usize) -> &'static str;
    let risen: Score = |before| if before == 0 { r#"{"confidence": 50}"# } else { r#"{"confidence": 80}"# };
    // A round of six calls, further ones of four, a score after each, the synthesis.
    let cases: [(TerminationKind, Score, &[f64], usize); 3] = [
        (TerminationKind::Convergence, |_| r#"{"confidence": 95}"#, &[95.0], 8),
        (TerminationKind::Convergence, |_| r#"{"confidence": 50}"#, &[50.0; 3], 18),
        (TerminationKind::Quality, risen, &[50.0, 80.0], 13),
    ];
    for (kind, score, scores, calls) in cases {
        let (debate, evaluations, requests) = judged(kind, score);
        let expected = |score: &f64| Some(Evaluation { kind, score: Some(*score), threshold: THRESHOLD });
        assert_eq!(evaluations, scores.iter().map(expected).collect::<Vec<_>>());
        assert_eq!((debate.outcome.unwrap().kind, requests), (OutcomeKind::Full, calls), "{scores:?}");
    }
}

#[test]
fn a_score_that_cannot_be_read_is_never_invented() {
    let nonsense: [fn(usize) -> &'static str; 4] =
        [|_| "ninety-five", |_| r#"{"confidence": "very high"}"#, |_| r#"{"confidence": 950}"#, |_| r#"{"score": 95}"#];
    for score in nonsense {
        let (debate, evaluations, requests) = judged(TerminationKind::Convergence, score);
        let none = Evaluation { kind: TerminationKind::Convergence, score: None, threshold: THRESHOLD };
        assert_eq!(evaluations, vec![Some(none); 3], "{}", score(0));
        let outcome = debate.outcome.unwrap();
        assert_eq!((outcome.kind, outcome.reasons.len()), (OutcomeKind::Degraded, 3), "{}", score(0));
        // Each is asked for once more.
        assert_eq!(requests, 21, "{}", score(0));
    }
}

#[test]
fn fixed_rounds_are_not_scored() {
    let (_, evaluations, requests) = judged(TerminationKind::Fixed, |_| r#"{"confidence": 95}"#);
    assert_eq!((evaluations, requests), (vec![None; 3], 15));
}
