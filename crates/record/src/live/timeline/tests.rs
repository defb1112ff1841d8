//! Small records with timestamps, and the timelines they produce.

use chrono::DateTime;
use serde_json::{Value, json};

use super::*;
use crate::debate::fixture;
use crate::protocol::DIALECTIC;

fn event(seq: u64, at: i64, event: Value) -> Recorded {
    let at = DateTime::from_timestamp_millis(at).unwrap().into();
    Recorded { seq, at, event: serde_json::from_value(event).unwrap() }
}

/// The given events, preceded by the creation of a debate with those stages.
fn events(stages: Arc<[StageInfo]>, list: &[(i64, Value)]) -> Vec<Recorded> {
    let at = DateTime::UNIX_EPOCH.into();
    let first = Recorded { seq: 1, at, event: fixture::created(stages) };
    let others = list.iter().zip(2..).map(|((at, value), seq)| event(seq, *at, value.clone()));
    std::iter::once(first).chain(others).collect()
}

fn contributed(kind: &str, agent: &str, target: Option<&str>, latency: u64) -> Value {
    json!({
        "type": "contributed",
        "key": {"round": 1, "phase": kind, "agentId": agent, "targetAgentId": target},
        "contribution": {
            "agentId": agent, "agentRole": "kiss", "type": kind, "content": "x", "targetAgentId": target,
        },
        "call": {"model": "m", "provider": "p", "latencyMs": latency, "attempts": 1},
    })
}

fn entered(node: &str) -> Value {
    json!({"type": "node-entered", "node": node})
}

/// The timeline of a debate under the default protocol, as text.
fn shown(list: &[(i64, Value)]) -> String {
    shown_with(DIALECTIC.infos(), list)
}

fn shown_with(stages: Arc<[StageInfo]>, list: &[(i64, Value)]) -> String {
    let name =
        |signal: &Signal| {
            let value = serde_json::to_value(signal).unwrap();
            let about = |key: &str| value.pointer(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut words = vec![about("/signal"), about("/type"), about("/node"), about("/phase")];
            words.extend(["/key/phase", "/key/agentId", "/key/targetAgentId"].map(about));
            words.extend(["/total", "/done", "/failed", "/error"].map(|key| {
                value.pointer(key).filter(|value| !value.is_null()).map(Value::to_string).unwrap_or_default()
            }));
            words.retain(|word| !word.is_empty());
            words.join(" ")
        };
    let lines = timeline(&events(stages, list))
        .into_iter()
        .map(|(at, signal)| format!("{:>5} {}", at.as_millis(), name(&signal)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_begin_as_long_before_their_result_as_they_took() {
    let list = [
        (0, json!({"type": "round-begun", "round": 1, "node": "proposal"})),
        (10, entered("proposal")),
        (110, contributed("proposal", "a", None, 99)),
        (130, contributed("critique", "b", Some("a"), 15)),
        (200, contributed("proposal", "b", None, 189)),
        (200, entered("critique")),
        (260, contributed("critique", "a", Some("b"), 50)),
        (260, entered("refinement")),
    ];
    insta::assert_snapshot!(shown(&list), @r"
      0 recorded created
      0 recorded round-begun proposal
     10 recorded node-entered proposal
     10 phase-started proposal 2
     11 call-started proposal a
     11 call-started proposal b
    110 recorded contributed proposal a
    110 call-ended proposal a
    115 phase-started critique 2
    115 call-started critique b a
    130 recorded contributed critique b a
    130 call-ended critique b a
    200 recorded contributed proposal b
    200 call-ended proposal b
    200 phase-ended proposal 2 0
    200 recorded node-entered critique
    210 call-started critique a b
    260 recorded contributed critique a b
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
        (0, json!({"type": "round-begun", "round": 1, "node": "proposal"})),
        (0, entered("proposal")),
        (50, reply.clone()),
        (60, json!({"type": "paused"})),
        (9_000_000, json!({"type": "resumed"})),
        (9_000_001, entered("proposal")),
        (9_000_050, reply),
        (9_000_090, contributed("proposal", "a", None, 30)),
        (9_000_100, failed),
        // The run was killed here, and the clock was set back.
        (8_000_000, json!({"type": "resumed"})),
        (8_000_010, json!({"type": "completed", "outcome": {"kind": "full", "reasons": []}})),
    ];
    insta::assert_snapshot!(shown(&list), @r#"
       0 recorded created
       0 recorded round-begun proposal
       0 recorded node-entered proposal
      50 recorded replied proposal a
      60 recorded paused
    1060 recorded resumed
    1061 recorded node-entered proposal
    1061 phase-started proposal 2
    1070 call-started proposal a
    1110 recorded replied proposal a
    1150 recorded contributed proposal a
    1150 call-ended proposal a
    1160 call-started proposal b
    1160 recorded call-failed
    1160 call-ended proposal b "gone"
    1160 recorded resumed
    1170 round-ended
    1170 recorded completed
    "#);
}

#[test]
fn stages_are_those_of_the_record_and_unknown_ones_come_last() {
    let list = [
        (0, json!({"type": "round-begun", "round": 1, "node": "pitch"})),
        (10, entered("pitch")),
        (90, contributed("heckle", "b", Some("a"), 40)),
        (90, contributed("encore", "a", None, 60)),
        (100, contributed("pitch", "a", None, 80)),
        (100, entered("heckle")),
        (110, contributed("after-party", "a", None, 10)),
        (120, json!({"type": "completed", "outcome": {"kind": "full", "reasons": []}})),
    ];
    insta::assert_snapshot!(shown_with(fixture::pitching::stages(), &list), @r"
      0 recorded created
      0 recorded round-begun pitch
     10 recorded node-entered pitch
     10 phase-started pitch 1
     20 call-started pitch a
     30 phase-started encore 1
     30 call-started encore a
     50 phase-started heckle 1
     50 call-started heckle b a
     90 recorded contributed heckle b a
     90 call-ended heckle b a
     90 phase-ended heckle 1 0
     90 recorded contributed encore a
     90 call-ended encore a
     90 phase-ended encore 1 0
    100 recorded contributed pitch a
    100 call-ended pitch a
    100 phase-ended pitch 1 0
    100 recorded node-entered heckle
    100 phase-started after-party 1
    100 call-started after-party a
    110 recorded contributed after-party a
    110 call-ended after-party a
    110 phase-ended after-party 1 0
    120 round-ended
    120 recorded completed
    ");
}

#[test]
fn an_imported_debates_stages_are_known() {
    let list = [
        (0, json!({"type": "round-begun", "round": 1, "node": "proposal"})),
        (90, contributed("proposal", "a", None, 80)),
        (95, entered("synthesis")),
        (100, json!({"type": "completed", "outcome": {"kind": "full", "reasons": []}})),
    ];
    let mut events = events(DIALECTIC.infos(), &list);
    let state = Debate::create(&events[0]).unwrap();
    let created = timeline(&events);
    events[0].event = Event::Imported { state: Box::new(state) };
    let imported = timeline(&events);
    let signals = |timeline: &[(Duration, Signal)]| {
        let signals = timeline.iter().map(|(at, signal)| (*at, serde_json::to_value(signal).unwrap()));
        signals.skip(1).collect::<Vec<_>>()
    };
    assert_eq!(signals(&imported), signals(&created));
}

#[test]
fn nothing_is_shown_of_nothing() {
    assert!(timeline(&[]).is_empty());
}
