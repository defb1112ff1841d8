//! Slow and silent evaluators, under paused time, and the figures of scores.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::evaluation::evaluators;
use dialectic_base::price::Price;
use dialectic_config::evaluators::EvaluatorSettings;
use dialectic_llm::{Caller, CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request, Timeouts};
use dialectic_record::ids::AgentId;

use super::*;

/// How a model responds.
enum Manner {
    /// Never answers.
    Silent,
    /// Sends this many words, one a second, and then its scores.
    Slow(u32),
}

impl ChatModel for Manner {
    fn ask<'a>(&'a self, _: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            match self {
                Self::Silent => std::future::pending().await,
                Self::Slow(words) => {
                    for _ in 0..*words {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        live.listener.on_token("word ");
                    }
                    let tokens = Tokens { input_tokens: 1_000_000, ..Tokens::default() };
                    let text = r#"{"evaluation": {"functional_completeness": {"score": 7}}}"#.to_owned();
                    Ok(Reply { text, tokens: Some(tokens), ..Reply::default() })
                }
            }
        })
    }
}

fn evaluator(manner: Manner) -> Vec<Evaluator> {
    let settings = EvaluatorSettings {
        id: AgentId::new("e"),
        name: "E".to_owned(),
        model: "m".to_owned(),
        provider: "p".to_owned(),
        system_prompt_path: None,
        user_prompt_path: None,
        timeout: Duration::from_secs(40),
        max_tokens: None,
    };
    let chat: Arc<dyn ChatModel> = Arc::new(manner);
    let caller = |one: &EvaluatorSettings| Caller {
        chat: Arc::clone(&chat),
        provider: one.provider.as_str().into(),
        price: Some(Price::flat(2.0, None, 8.0)),
        timeouts: Timeouts { first_token: one.timeout, idle: Duration::from_mins(1) },
        silence: None,
        limits: CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(1)), max_retries: 3 },
        account: None,
        observer: None,
    };
    evaluators(&[settings], caller).0
}

fn subject() -> Subject {
    let debate = serde_json::json!({
        "id": "d", "problem": "Design a queue", "status": "completed", "rounds": [],
        "finalSolution": {"description": "Use a queue."},
    });
    Subject::of(std::path::Path::new("d.json"), &serde_json::from_value(debate).unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_evaluator_that_says_nothing_is_asked_twice_and_what_it_cost_is_unknown() {
    let (evaluators, subjects) = (evaluator(Manner::Silent), [subject()]);
    let evaluated = evaluate(&evaluators, &subjects, NonZeroU32::MIN, &|_| {}).await;
    let attempt = &evaluated[0].runs[0][0];
    assert_eq!(attempt.outcome.as_ref().unwrap_err().to_string(), "no answer within 40s (after 2 attempts)");
    assert_eq!(attempt.usage, Usage { answers: 0, tokens: 0, silent_calls: 1, cost: None });
    let all = Usage::of_answer(None, Some(Usd::from_dollars(1.0))).and(attempt.usage);
    assert_eq!(all.cost, None, "a sum with something unknown in it");
}

#[tokio::test(start_paused = true)]
async fn an_evaluator_that_writes_for_a_quarter_of_an_hour_is_heard() {
    let (evaluators, subjects) = (evaluator(Manner::Slow(900)), [subject()]);
    let evaluated = evaluate(&evaluators, &subjects, NonZeroU32::MIN, &|_| {}).await;
    let attempt = &evaluated[0].runs[0][0];
    assert_eq!(attempt.outcome.as_ref().unwrap().scores.len(), 1);
    assert_eq!(attempt.latency.as_secs(), 900);
    assert_eq!(attempt.usage.cost, Some(Usd::from_dollars(2.0)));
}

#[test]
fn the_deviation_is_that_of_a_sample() {
    let figure = Figure::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
    assert_eq!(two_decimals(figure.mean), "5.00");
    assert_eq!(two_decimals(figure.deviation.unwrap()), "2.14");
    assert_eq!(Figure::of(&[7.0]), Some(Figure { mean: 7.0, deviation: None }));
    assert_eq!(Figure::of(&[]), None);
}

#[test]
fn figures_have_two_decimals() {
    assert_eq!([7.5, 7.125, 22.0 / 3.0].map(two_decimals), ["7.50", "7.13", "7.33"]);
}
