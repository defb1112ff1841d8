//! When a debate ends: after its rounds, or when the judge finds that it is enough.

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, short_reply};

/// Runs two agents over three rounds with a judge that scores like that. Returns the server and the saved state.
fn judged(kind: &str, score: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> (MockServer, Value) {
    let server = MockServer::with(move |request| match request.purpose {
        Purpose::Confidence => score(request),
        _ => short_reply(request),
    });
    let debate = json!({"rounds": 3, "terminationCondition": {"type": kind, "threshold": 80}});
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &debate));
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    server.assert_clean();
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    let state = sandbox.state(&id);
    if state["outcome"]["kind"] == "degraded" {
        assert!(finished.stderr.contains("could not be read"), "{finished}");
    }
    (server, state)
}

/// The evaluations of the rounds that took place.
fn evaluations(state: &Value) -> Vec<Value> {
    state["rounds"].as_array().unwrap().iter().map(|round| round["evaluation"].clone()).collect()
}

fn evaluation(kind: &str, score: Option<u32>) -> Value {
    json!({"type": kind, "score": score, "threshold": 80})
}

/// Numbers of JSON, whole or not.
fn assert_evaluations(state: &Value, expected: &[Value]) {
    let as_written = |values: &[Value]| serde_json::to_string(values).unwrap().replace(".0", "");
    assert_eq!(as_written(&evaluations(state)), as_written(expected));
}

#[test]
fn consensus_ends_a_debate_early() {
    for kind in ["convergence", "quality"] {
        let (server, state) = judged(kind, |_| Reply::json(json!({"confidence": 95})));
        assert_evaluations(&state, &[evaluation(kind, Some(95))]);
        assert_eq!(state["outcome"]["kind"], "full");
        // A round of six, the score, the synthesis.
        assert_eq!(server.requests().len(), 8);
    }
}

#[test]
fn the_threshold_itself_is_enough() {
    let (_, state) = judged("convergence", |_| Reply::text("```json\n{\"confidence\": 80}\n```"));
    assert_evaluations(&state, &[evaluation("convergence", Some(80))]);
}

#[test]
fn without_consensus_all_rounds_take_place() {
    let (server, state) = judged("convergence", |_| Reply::json(json!({"confidence": 50})));
    assert_evaluations(&state, &vec![evaluation("convergence", Some(50)); 3]);
    assert_eq!(state["outcome"]["kind"], "full");
    // Six, four and four, three scores, the synthesis.
    assert_eq!(server.requests().len(), 18);
}

#[test]
fn each_round_is_scored_anew() {
    let (_, state) = judged("quality", |request| {
        // The first round's positions are proposals of nobody else; the score rises when they have changed.
        Reply::json(json!({"confidence": if request.index < 8 { 50 } else { 90 }}))
    });
    assert_evaluations(&state, &[evaluation("quality", Some(50)), evaluation("quality", Some(90))]);
}

#[test]
fn a_score_that_cannot_be_read_is_never_invented() {
    for nonsense in ["ninety-five", r#"{"confidence": "very high"}"#, r#"{"confidence": 950}"#, r#"{"score": 95}"#] {
        let (server, state) = judged("convergence", move |_| Reply::text(nonsense));
        assert_evaluations(&state, &vec![evaluation("convergence", None); 3]);
        assert_eq!(state["outcome"]["kind"], "degraded", "{nonsense}");
        assert_eq!(state["outcome"]["reasons"].as_array().unwrap().len(), 3, "{nonsense}");
        // Each is asked for once more.
        assert_eq!(server.requests().len(), 21, "{nonsense}");
    }
}

#[test]
fn a_score_whose_call_fails_does_not_end_the_debate() {
    let (server, state) = judged("convergence", |_| Reply::error(400, "could not be read"));
    assert_evaluations(&state, &vec![evaluation("convergence", None); 3]);
    assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("degraded")));
    // A judge that has never answered and gives no reason is tried by the other API, once, and without a schema, twice.
    assert_eq!(server.requests().len(), 21);
}

#[test]
fn fixed_rounds_are_not_scored() {
    let (server, state) = judged("fixed", |_| Reply::json(json!({"confidence": 95})));
    assert_eq!(evaluations(&state), vec![Value::Null; 3]);
    assert_eq!(server.requests().len(), 15);
}
