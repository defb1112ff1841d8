//! The check under a cost limit: bought whole or not at all, set aside before a second round, given up before the first.

use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{Incoming, MockServer, Reply, Sandbox, answer, default_reply, sample};

fn assessed(text: &str) -> Reply {
    let assessment = json!({
        "approach": "kept", "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
        "partlyFulfilled": [], "openQuestions": [], "title": "Leases", "confidence": 80,
    });
    Reply::text(answer(text, &assessment))
}

/// Every lens finds something grave, so that the answer is written anew. No answer is short.
pub(crate) fn script(request: &Incoming) -> Reply {
    let reply = match request.task() {
        "check" => Reply::text("1. [major] Clocks: they drift. Resolved by: the store's time."),
        "finalise" => assessed("# The final text\n\n## Response to the check\n\n- D1 accepted (Clocks): done."),
        "review the texts" => Reply::text("## Text 1\n\nNo objections.\n\n## Text 2\n\nNo objections.\n"),
        _ => default_reply(request),
    };
    reply.usage(900, 0, 900)
}

/// A server that asks four times the list price for each answer.
fn dear_server() -> MockServer {
    MockServer::with(|request| script(request).header("x-litellm-response-cost", "0.0396"))
}

fn sandbox(server: &MockServer, debate: &Value) -> Sandbox {
    Sandbox::new().model_server(server).config(&priced(&["architect", "kiss"], debate))
}

/// What a debate is said to cost at most: one round and the answer, and all of it.
fn prices(server: &MockServer, debate: &Value) -> (f64, f64) {
    let refused = sandbox(server, debate).run(["debate", "--max-cost", "0.0001", PROBLEM]).expect_code(2).stderr;
    let amounts: Vec<f64> = refused.split('$').skip(1).map(|text| text[..6].parse().unwrap()).collect();
    let [_, _, one, _, all] = amounts[..] else { panic!("{refused}") };
    (one, all)
}

const PROBLEM: &str = "Design a lock service";

/// A debate within a limit: its state, what stands under `checks`, and what was said on the way.
fn run(server: &MockServer, debate: &Value, limit: f64) -> (Value, Vec<String>, String) {
    server.forget();
    let sandbox = sandbox(server, debate);
    let (finished, state) = sandbox.debated(["debate", "--max-cost", &format!("{limit:.4}"), PROBLEM]);
    let paid: f64 = state["usage"].as_object().unwrap().values().map(|model| model["costUsd"].as_f64().unwrap()).sum();
    assert!(paid <= limit, "${paid} of ${limit}");
    let kinds = state["checks"].as_array().expect("there is a draft").iter();
    let kinds = kinds.map(|one| one["type"].as_str().unwrap().to_owned()).collect();
    (state, kinds, finished.stderr)
}

#[test]
fn a_limit_that_buys_all_but_the_check_delivers_the_draft_and_says_so() {
    let server = dear_server();
    for (protocol, calls) in [("dialectic", 7), ("council", 5)] {
        let debate = json!({"protocol": protocol, "rounds": 1, "check": 3});
        let (one, _) = prices(&server, &debate);
        let (state, kinds, told) = run(&server, &debate, one);
        assert_eq!((kinds, server.requests().len()), (vec!["synthesis".to_owned()], calls), "{told}");
        assert_eq!(state["outcome"]["kind"], "degraded", "{told}");
        let reason = "the answer was not checked: the cost limit left no room for checks";
        assert!(state["outcome"]["reasons"].to_string().contains(reason), "{}", state["outcome"]);
        assert!(told.contains("leaves no room for checking the answer"), "{told}");
        let description = state["finalSolution"]["description"].as_str().unwrap();
        assert!(description.contains("Nobody has independently checked this answer."), "{description}");
    }
}

/// Of limits between what buys a round and what buys everything, those that buy little buy the check before they buy
/// another round, with all that belongs to it.
#[test]
fn the_check_is_bought_whole_and_before_a_second_round() {
    let server = dear_server();
    let debate = json!({"rounds": 2, "check": 3});
    let (one, all) = prices(&server, &debate);
    let mut seen = Vec::new();
    for step in sample(0..=12, 7) {
        let limit = one + (1.4 * all - one) * f64::from(step) / 12.0;
        let (state, kinds, told) = run(&server, &debate, limit);
        let rounds = state["rounds"].as_array().unwrap().len();
        let is_checked = kinds.len() > 1;
        if is_checked {
            assert_eq!(kinds[1..], ["check", "check", "check", "final"], "${limit}: {told}");
        }
        let reasons = state["outcome"]["reasons"].to_string();
        assert_eq!(reasons.contains("the answer was not checked"), !is_checked, "${limit}: {reasons}");
        seen.push((rounds, is_checked));
    }
    assert!(seen.is_sorted(), "a higher limit buys less: {seen:?}");
    seen.dedup();
    assert_eq!(seen, [(1, false), (1, true), (2, true)]);
}
