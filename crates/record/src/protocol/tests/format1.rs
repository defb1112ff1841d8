//! A journal of format 1 is read as if it had been written today.

use serde_json::{Value, json};

use super::super::*;
use super::course::settings;
use crate::debate::{AgentId, Debate, FORMAT_VERSION, Recorded, fold};

fn journal() -> Vec<Value> {
    let call = json!({"model": "m", "provider": "offline", "latencyMs": 1, "attempts": 1});
    let said = |agent: &str, kind: &str, target: Option<&str>, text: &str| {
        let mut said = json!({"agentId": agent, "agentRole": "kiss", "type": kind, "content": text, "metadata": {}});
        if let Some(target) = target {
            said["targetAgentId"] = json!(target);
        }
        said
    };
    let summary = |agent: &str| json!({"agentId": agent, "agentRole": "kiss", "summary": "short"});
    let contributed =
        |round: u32, said: Value| json!({"type": "contributed", "round": round, "contribution": said, "call": call});
    let judge = json!({"id": "judge", "source": "built-in", "summarySource": "built-in"});
    let questions = json!({"agentId": "b", "agentName": "Ben", "role": "kiss",
        "items": [{"id": "q1", "question": "How many?", "answer": ""}]});
    let evaluation = json!({"type": "quality", "score": 60, "threshold": 80});
    vec![
        json!({"type": "created", "formatVersion": 1, "id": "deb-20250101-000000-abcd", "problem": "p",
            "settings": settings(&DIALECTIC, 2, 2), "promptSources": {"agents": [], "judge": judge}, "seed": 1}),
        json!({"type": "node-entered", "node": "clarification"}),
        json!({"type": "questions-asked", "iteration": 2, "questions": questions, "call": call}),
        json!({"type": "question-answered", "agentId": "b", "itemId": "q1", "answer": "one"}),
        json!({"type": "round-begun", "round": 1}),
        json!({"type": "node-entered", "node": "proposal"}),
        contributed(1, said("a", "proposal", None, "A")),
        contributed(1, said("b", "proposal", None, "B")),
        contributed(1, said("a", "critique", Some("b"), "1. No.")),
        json!({"type": "call-failed", "failure": {"agentId": "b", "phase": "critique", "round": 1,
            "targetAgentId": "a", "error": "503", "attempts": 4, "at": "2025-01-01T00:00:00.000Z"}}),
        contributed(1, said("a", "refinement", None, "A2")),
        json!({"type": "evaluated", "round": 1, "evaluation": evaluation, "call": call}),
        json!({"type": "round-begun", "round": 2}),
        json!({"type": "summarized", "round": 2, "summary": summary("b"), "call": call}),
        json!({"type": "contributed", "round": 2, "contribution": said("a", "proposal", None, "A2")}),
        contributed(2, said("a", "vote", Some("b"), "B is better.")),
        json!({"type": "judge-summarized", "summary": summary("judge"), "call": call}),
        json!({"type": "synthesized", "solution": {"description": "Do B."}, "call": call}),
        json!({"type": "completed"}),
    ]
}

fn read(events: Vec<Value>) -> Vec<Recorded> {
    let mut upgrade = Upgrade::default();
    let mut read = Vec::new();
    for (mut event, seq) in events.into_iter().zip(1_u64..) {
        upgrade.apply(&mut event);
        event["seq"] = json!(seq);
        event["at"] = json!("2025-01-01T00:00:00.000Z");
        let text = event.to_string();
        read.push(serde_json::from_value(event).unwrap_or_else(|error| panic!("{text}: {error}")));
    }
    read
}

#[test]
fn every_event_that_ends_a_call_gets_its_key() {
    let events = read(journal());
    let keys: Vec<Value> =
        events.iter().filter_map(|recorded| recorded.event.settles()).map(|(key, _)| json!(key)).collect();
    let key = |round: u32, phase: &str, agent: &str| json!({"round": round, "phase": phase, "agentId": agent});
    let about = |key: Value, target: &str| {
        let mut key = key;
        key["targetAgentId"] = json!(target);
        key
    };
    let mut asked = key(0, "clarification", "b");
    asked["pass"] = json!(2);
    assert_eq!(
        keys,
        [
            asked,
            key(1, "proposal", "a"),
            key(1, "proposal", "b"),
            about(key(1, "critique", "a"), "b"),
            about(key(1, "critique", "b"), "a"),
            key(1, "refinement", "a"),
            key(1, "evaluation", "judge"),
            key(2, "summarization", "b"),
            key(2, "proposal", "a"),
            key(2, "vote", "a"),
            key(2, "judge-summary", "judge"),
            key(2, "synthesis", "judge"),
        ]
    );
}

#[test]
fn it_folds_into_a_state_of_today() {
    let debate = fold(&read(journal())).unwrap();
    assert_eq!(debate.format_version, Some(FORMAT_VERSION));
    assert_eq!(debate.stages, DIALECTIC.infos());
    let carried: Vec<bool> =
        debate.rounds.iter().flat_map(|round| &round.contributions).map(|one| one.metadata.carried_over).collect();
    assert_eq!(carried, [false, false, false, false, true, false]);
    assert!(debate.rounds[1].summaries.as_ref().unwrap().contains_key(&AgentId::new("b")));
    assert!(debate.judge_summary.is_some() && debate.final_solution.is_some());
    assert_eq!(debate.open_questions().count(), 0);
    assert_eq!(debate.failures.len(), 1);
    assert_eq!(debate.total_usage().requests, 10);
}

#[test]
fn what_has_a_key_or_is_no_event_stays_as_it_is() {
    let key = json!({"round": 3, "phase": "proposal", "agentId": "a"});
    for mut event in [
        json!({"type": "contributed", "key": key, "contribution": {"type": "critique", "agentId": "b"}}),
        json!({"type": "replied", "key": key, "reply": {"text": ""}}),
        json!({"type": "synthesized", "solution": {"description": ""}}),
        json!({"type": "unheard-of", "round": 1}),
        json!("no event"),
        json!(null),
    ] {
        let before = event.clone();
        Upgrade::default().apply(&mut event);
        assert_eq!(event, before);
    }
}

#[test]
fn a_damaged_event_does_not_read_and_stops_nothing() {
    let broken = [json!(null), json!("text"), json!([1]), json!({})];
    for event in journal() {
        for key in event.as_object().unwrap().keys().filter(|key| *key != "type") {
            for value in &broken {
                let mut damaged = event.clone();
                damaged[key] = value.clone();
                Upgrade::default().apply(&mut damaged);
                damaged.as_object_mut().unwrap().remove(key);
                Upgrade::default().apply(&mut damaged);
            }
        }
    }
    let mut empty = json!({"type": "contributed"});
    Upgrade::default().apply(&mut empty);
    assert!(serde_json::from_value::<crate::debate::Event>(empty).is_err());
}

#[test]
fn a_state_of_format_1_gets_stages_and_marks() {
    let mut debate: Debate = fold(&read(journal())).unwrap();
    debate.format_version = Some(1);
    debate.stages = std::sync::Arc::new([]);
    let carried = std::sync::Arc::make_mut(&mut debate.rounds[1].contributions[0]);
    carried.metadata.carried_over = false;
    carried.metadata.tokens_used = Some(0);
    upgrade_state(&mut debate);
    assert_eq!(debate.stages, DIALECTIC.infos());
    assert!(debate.rounds[1].contributions[0].metadata.carried_over);
    assert!(!debate.rounds[1].contributions[1].metadata.carried_over);
}
