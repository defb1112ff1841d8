//! The judge's part: answers that cannot be read, failures, and scores that end a debate early.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, short_reply};

fn two_agents(server: &MockServer, debate: &Value) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(&["architect", "kiss"], debate))
}

fn asked(server: &MockServer, purpose: Purpose) -> Vec<Arc<Incoming>> {
    server.requests().into_iter().filter(|request| request.purpose == purpose).collect()
}

/// A server whose judge says that instead of its solution, first and when asked again.
fn judge_says(first: &'static str, second: &'static str) -> MockServer {
    MockServer::with(move |request| match request.purpose {
        Purpose::Synthesize if request.messages.iter().any(|message| message.role == "assistant") => {
            Reply::text(second)
        }
        Purpose::Synthesize => Reply::text(first),
        _ => short_reply(request),
    })
}

const SOLUTION: &str = r#"{"solutionMarkdown": "Use a ring.", "tradeoffs": [], "recommendations": [],
    "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 70}"#;

#[test]
fn a_solution_that_is_not_json_is_asked_for_once_more() {
    let server = judge_says("I would rather talk.", SOLUTION);
    let sandbox = two_agents(&server, &json!({}));
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert!(finished.stdout.starts_with("Use a ring.\n"), "{finished}");
    let synthesis = asked(&server, Purpose::Synthesize);
    assert_eq!((synthesis.len(), server.requests().len()), (2, 8));
    assert!(synthesis[1].text().contains("I would rather talk."), "the second chance shows the first answer");
    server.assert_clean();
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    let state = sandbox.state(&id);
    assert_eq!(state["outcome"], json!({"kind": "full", "reasons": []}));
    assert_eq!(state["usage"]["model-judge"]["requests"], 2);
}

#[test]
fn a_solution_that_is_never_json_is_taken_as_it_is_and_said_to_be_that() {
    let server = judge_says("I would rather talk.", "Use a ring, {I say.");
    let sandbox = two_agents(&server, &json!({}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout
    I would rather talk.

    --- stderr
    warning: the judge's answer is not the JSON that was asked for (`?`: key must be a string at line 1 column 2); its text is the solution
    Saved debate to ./debates/[id].json
    warning: this debate ended degraded:
      - the synthesis was not the JSON that was asked for (`?`: key must be a string at line 1 column 2)
    ");
    assert_eq!(asked(&server, Purpose::Synthesize).len(), 2);
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["outcome"]["kind"], "degraded");
    assert_eq!(state["outcome"]["reasons"].as_array().unwrap().len(), 1);
    two_agents(&server, &json!({})).run(["debate", "Design a queue", "--strict"]).expect_code(5);
}

#[test]
fn json_is_read_out_of_a_fence_and_out_of_prose() {
    for wrapped in ["Gladly:\n\n```json\n{}\n```\n\nAnything else?", "Here it is: {} I hope {it} helps.", "\u{feff}{}"]
    {
        let answer: &'static str = wrapped.replacen("{}", SOLUTION, 1).leak();
        let server = judge_says(answer, "not again");
        let sandbox = two_agents(&server, &json!({}));
        let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
        assert!(finished.stdout.starts_with("Use a ring.\n"), "{wrapped}: {finished}");
        assert_eq!(server.requests().len(), 7, "{wrapped}");
    }
}

#[test]
fn an_unfulfilled_requirement_bounds_the_confidence() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::json(json!({
            "solutionMarkdown": "Use a ring.", "tradeoffs": ["a\nb"], "recommendations": ["Measure"],
            "unfulfilledMajorRequirements": ["It must fly"], "openQuestions": ["Why?"], "confidence": 95,
        })),
        _ => short_reply(request),
    });
    let sandbox = two_agents(&server, &json!({}));
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    insta::assert_snapshot!(finished.stdout, @"
    Use a ring.

    ---

    ## Judge Assessment

    **Confidence Score**: 40/100

    ### ⚠️ Unfulfilled Major Requirements

    - It must fly

    ### Open Questions

    - Why?

    ### Recommendations

    - Measure

    ### Trade-offs

    - a
      b
    ");
    assert_eq!(sandbox.state(&sandbox.only_debate())["finalSolution"]["confidence"].as_f64(), Some(40.0));
}

#[test]
fn a_judge_that_fails_costs_nothing_of_what_was_said() {
    let failing = |request: &Incoming| match request.purpose {
        Purpose::Synthesize => Reply::error(500, "oops").header("retry-after", "0"),
        _ => short_reply(request),
    };
    let server = MockServer::with(failing);
    let sandbox = two_agents(&server, &json!({"maxRetries": 1}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    insta::assert_snapshot!(finished, @"
    exit: 3
    --- stdout

    --- stderr
    warning: judge failed in the synthesis after 2 attempts: the server failed (500): oops
    Saved debate to ./debates/[id].json
    error: the debate [id] failed: the judge could not write the solution: the server failed (500): oops
    hint: what was said is kept; once the cause is gone: dialectic resume [id]
    ");
    assert_eq!(server.requests().len(), 8);
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    let state = sandbox.state(&id);
    assert_eq!(
        (&state["status"], &state["rounds"][0]["contributions"].as_array().unwrap().len()),
        (&json!("failed"), &6)
    );

    // Still out of order: tried again, and nothing else.
    sandbox.run(["resume", "latest", "--quiet"]).expect_code(3);
    assert_eq!(server.requests().len(), 10);

    server.set_script(short_reply);
    let finished = sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    assert_eq!(server.requests().len(), 11);
    assert_eq!(server.requests()[10].purpose, Purpose::Synthesize);
    assert!(finished.stdout.contains("## Judge Assessment"), "{finished}");
    sandbox.assert_state_is_the_fold(&id);
    let state = sandbox.state(&id);
    assert_eq!((&state["status"], &state["outcome"]), (&json!("completed"), &json!({"kind": "full", "reasons": []})));
    server.assert_clean();
}
