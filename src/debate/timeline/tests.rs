//! Small records with their times, and what is to be seen of them.

use chrono::DateTime;
use serde_json::{Value, json};

use super::*;

fn event(seq: u64, at: i64, event: Value) -> Recorded {
    let at = DateTime::from_timestamp_millis(at).unwrap().into();
    Recorded { seq, at, event: serde_json::from_value(event).unwrap() }
}

fn events(list: &[(i64, Value)]) -> Vec<Recorded> {
    list.iter().zip(1..).map(|((at, value), seq)| event(seq, *at, value.clone())).collect()
}

fn contributed(kind: &str, agent: &str, target: Option<&str>, latency: u64) -> Value {
    json!({
        "type": "contributed", "round": 1,
        "contribution": {
            "agentId": agent, "agentRole": "kiss", "type": kind, "content": "x", "targetAgentId": target,
        },
        "call": {"model": "m", "provider": "p", "latencyMs": latency, "attempts": 1},
    })
}

fn entered(node: &str) -> Value {
    json!({"type": "node-entered", "node": node})
}

/// Time, and what is to be seen.
fn shown(list: &[(i64, Value)]) -> String {
    let name =
        |signal: &Signal| {
            let value = serde_json::to_value(signal).unwrap();
            let about = |key: &str| value.pointer(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut words = vec![about("/signal"), about("/type"), about("/node"), about("/phase")];
            words.extend(["/key/phase", "/key/agentId", "/key/targetAgentId", "/contribution/agentId"].map(about));
            words.extend(["/total", "/done", "/failed", "/error"].map(|key| {
                value.pointer(key).filter(|value| !value.is_null()).map(Value::to_string).unwrap_or_default()
            }));
            words.retain(|word| !word.is_empty());
            words.join(" ")
        };
    let lines =
        timeline(&events(list)).into_iter().map(|one| format!("{:>5} {}", one.at.as_millis(), name(&one.signal)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_begin_as_long_before_their_result_as_they_took() {
    let list = [
        (0, json!({"type": "round-begun", "round": 1})),
        (10, entered("proposal")),
        (110, contributed("proposal", "a", None, 99)),
        (130, contributed("critique", "b", Some("a"), 15)),
        (200, contributed("proposal", "b", None, 189)),
        (200, entered("critique")),
        (260, contributed("critique", "a", Some("b"), 50)),
        (260, entered("refinement")),
    ];
    insta::assert_snapshot!(shown(&list), @"
          0 recorded round-begun
         10 recorded node-entered proposal
         10 phase-started proposal 2
         11 call-started proposal a
         11 call-started proposal b
        110 recorded contributed a
        110 call-ended proposal a
        115 phase-started critique 2
        115 call-started critique b a
        130 recorded contributed b
        130 call-ended critique b a
        200 recorded contributed b
        200 call-ended proposal b
        200 phase-ended proposal 2 0
        200 recorded node-entered critique
        210 call-started critique a b
        260 recorded contributed a
        260 call-ended critique a b
        260 phase-ended critique 2 0
        260 recorded node-entered refinement
        ");
}

#[test]
fn rests_are_cut_and_no_call_reaches_back_over_them() {
    let reply = json!({
        "type": "replied", "key": {"round": 1, "phase": "proposal", "agentId": "a"},
        "reply": {"text": "?"}, "call": {"model": "m", "provider": "p", "latencyMs": 40, "attempts": 1},
    });
    let failed = json!({
        "type": "call-failed",
        "failure": {
            "agentId": "b", "phase": "proposal", "round": 1, "error": "gone", "attempts": 1,
            "at": "2025-01-01T00:00:00.000Z",
        },
    });
    let list = [
        (0, json!({"type": "round-begun", "round": 1})),
        (0, entered("proposal")),
        (50, reply.clone()),
        (60, json!({"type": "paused"})),
        (9_000_000, json!({"type": "resumed"})),
        (9_000_001, entered("proposal")),
        (9_000_050, reply),
        (9_000_090, contributed("proposal", "a", None, 30)),
        (9_000_100, failed),
        // Killed here, and a clock that was set back.
        (8_000_000, json!({"type": "resumed"})),
        (8_000_010, json!({"type": "completed"})),
    ];
    insta::assert_snapshot!(shown(&list), @r#"
           0 recorded round-begun
           0 recorded node-entered proposal
          50 recorded replied proposal a
          60 recorded paused
        1060 recorded resumed
        1061 recorded node-entered proposal
        1061 phase-started proposal 2
        1070 call-started proposal a
        1110 recorded replied proposal a
        1150 recorded contributed a
        1150 call-ended proposal a
        1160 call-started proposal b
        1160 recorded call-failed
        1160 call-ended proposal b "gone"
        1160 recorded resumed
        1170 recorded completed
        "#);
}

#[test]
fn nothing_is_shown_of_nothing() {
    assert!(timeline(&[]).is_empty());
}
