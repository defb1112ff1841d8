//! Answers that were cut and stand all the same: no debate is full that rests on one, whatever call it was.

use serde_json::{Value, json};

use crate::summaries::long;
use crate::support::{Debated, Ending, MockServer, Purpose, Reply, Sandbox, config, short_reply, spread};

fn two_rounds() -> Value {
    let termination = json!({"type": "convergence", "threshold": 99});
    let summarization = json!({"enabled": true});
    let debate = json!({"rounds": 2, "terminationCondition": termination, "summarization": summarization});
    config(&["architect", "kiss"], &debate)
}

/// The reasons of the outcome of a debate in which the answers to `purpose` end like that.
fn reasons(configured: &Value, purpose: Purpose, ending: Ending) -> Vec<String> {
    let server = MockServer::with(move |request| {
        let reply = long(request);
        if request.purpose == purpose { reply.ending(ending) } else { reply }
    });
    let sandbox = Sandbox::new().model_server(&server).config(configured);
    let finished = sandbox.run(["debate", "Design a queue", "--strict"]).expect_code(5);
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["outcome"]["kind"], "degraded");
    let reasons: Vec<String> = serde_json::from_value(state["outcome"]["reasons"].clone()).unwrap();
    let how = if ending == Ending::ContentFilter {
        "was cut off by a content filter"
    } else {
        "was cut off at the output limit"
    };
    assert!(reasons.iter().all(|reason| reason.ends_with(how)), "{reasons:?}");
    assert!(finished.stderr.contains(how), "a warning says it when it happens: {finished}");
    reasons
}

#[test]
fn whatever_call_it_was() {
    for (number, ending) in [Ending::ContentFilter, Ending::OutputLimit].into_iter().enumerate() {
        let calls = [
            (Purpose::Propose, "agent-architect's proposal in round 1", 2),
            (Purpose::Critique, "agent-kiss's critique in round 2", 4),
            (Purpose::Refine, "agent-architect's refinement in round 2", 4),
            (Purpose::Summarize, "agent-kiss's answer in the summarization of round 2", 3),
            (Purpose::Confidence, "judge's answer in the evaluation of round 1", 2),
            (Purpose::Synthesize, "the solution", 1),
        ];
        for (purpose, subject, count) in spread(calls.len(), 2, number).map(|place| calls[place]) {
            let reasons = reasons(&two_rounds(), purpose, ending);
            assert!(reasons.iter().any(|reason| reason.starts_with(subject)), "{subject}: {reasons:?}");
            assert_eq!(reasons.len(), count, "{reasons:?}");
        }
    }
}

#[test]
fn a_summary_that_is_longer_than_it_may_be_is_cut_too() {
    let server = MockServer::with(long);
    let mut configured = config(&["architect", "kiss"], &json!({"rounds": 2}));
    configured["agents"][1]["summarization"] = json!({"maxLength": 10});
    let sandbox = Sandbox::new().model_server(&server).config(&configured);
    let finished = sandbox.run(["debate", "Design a queue", "--strict"]).expect_code(5);
    let state = sandbox.state(&sandbox.only_debate());
    let reason = "agent-kiss's answer in the summarization of round 2 was cut off at `maxLength`";
    assert_eq!(state["outcome"]["reasons"], json!([reason]));
    assert!(finished.stderr.contains(reason), "{finished}");
    assert_eq!(state["rounds"][1]["summaries"]["agent-kiss"]["metadata"]["cut"], "max-length");
}

#[test]
fn a_server_that_breaks_an_answer_off_is_told_apart_and_a_word_that_nobody_knows_is_recorded() {
    for (status, reason, how, recorded) in [
        ("incomplete", "repetition_truncation", "was cut off by its server", 2),
        ("incomplete", "MAX_TOKENS", "was cut off at the output limit", 0),
        ("a_reason_of_tomorrow", "", "with the unknown finish reason `a_reason_of_tomorrow`", 2),
    ] {
        let Debated { sandbox, id, state, .. } = Debated::of_two(&json!({}), move |request| {
            if request.purpose != Purpose::Propose {
                return short_reply(request);
            }
            let details = if reason.is_empty() { Value::Null } else { json!({"reason": reason}) };
            let content = json!([{"type": "output_text", "text": "A queue.", "annotations": []}]);
            let answer = json!({
                "status": status, "incomplete_details": details, "model": request.model(),
                "output": [{"type": "message", "role": "assistant", "content": content}],
                "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
            });
            Reply::raw("application/json", answer.to_string())
        });
        let reasons = state["outcome"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().all(|reason| reason.as_str().unwrap().ends_with(how)), "{reasons:?}");
        assert_eq!(reasons.len(), 2, "{status}, {reason}");
        let said = sandbox.journal(&id).iter().filter(|line| line.contains("\"finishReason\"")).count();
        assert_eq!(said, recorded, "{status}, {reason}");
    }
}
