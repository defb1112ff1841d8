//! When a debate ends: after its rounds, or when the judge finds that it is enough.

use serde_json::{Value, json};

use crate::support::{Debated, Incoming, MockServer, Purpose, Reply, short_reply};

/// Runs two agents over three rounds with a judge that scores like that. Returns the server and the saved state.
fn judged(kind: &str, score: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> (MockServer, Value) {
    let debate = json!({"rounds": 3, "terminationCondition": {"type": kind, "threshold": 80}});
    let Debated { server, finished, state, .. } = Debated::of_two(&debate, move |request| match request.purpose {
        Purpose::Confidence => score(request),
        _ => short_reply(request),
    });
    server.assert_clean();
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
fn a_debate_ends_with_the_round_whose_score_is_enough() {
    type Score = fn(&Incoming) -> Reply;
    let sure: Score = |_| Reply::json(json!({"confidence": 95}));
    // A round of six calls, further ones of four, a score after each, the synthesis.
    let cases: [(&str, Score, &[u32], usize); 5] = [
        ("convergence", sure, &[95], 8),
        ("quality", sure, &[95], 8),
        ("convergence", |_| Reply::text("```json\n{\"confidence\": 80}\n```"), &[80], 8),
        ("convergence", |_| Reply::json(json!({"confidence": 50})), &[50; 3], 18),
        (
            "quality",
            |request| Reply::json(json!({"confidence": if request.index < 8 { 50 } else { 90 }})),
            &[50, 90],
            13,
        ),
    ];
    for (kind, score, scores, calls) in cases {
        let (server, state) = judged(kind, score);
        assert_evaluations(&state, &scores.iter().map(|score| evaluation(kind, Some(*score))).collect::<Vec<_>>());
        assert_eq!((&state["outcome"]["kind"], server.requests().len()), (&json!("full"), calls), "{scores:?}");
    }
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
