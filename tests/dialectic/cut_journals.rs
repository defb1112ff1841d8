//! A debate that ended behind any line of its journal: resumed, it is as if nothing had been.

use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, default_reply};
use crate::timing::without_times;

fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Clarify, _) => Reply::json(json!({"questions": [{"id": "q1", "text": "Which region?"}]})),
        (Purpose::Confidence, _) => Reply::json(json!({"confidence": 50})),
        (Purpose::Refine, "model-kiss") => Reply::error(400, "no"),
        (Purpose::Synthesize, _) => Reply::text("Use a ring."),
        (Purpose::Assess, _) => Reply::json(json!({
            "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [], "openQuestions": [],
            "confidence": 70,
        })),
        _ => default_reply(request),
    }
    .usage(100, 0, 10)
}

/// The user's own configuration.
const USERS: &str = ".config/dialectic/config.json";

/// A place in which nothing is left of a debate but the first lines of its journal.
fn cut(server: &MockServer, id: &str, lines: &[String]) -> Sandbox {
    let journal = lines.join("\n") + "\n";
    Sandbox::new().model_server(server).file(format!("debates/{id}.events.jsonl"), journal)
}

/// How many of these lines hold what a call took.
fn paid(lines: &[String]) -> usize {
    let events = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event.get("call").is_some()).count()
}

#[test]
fn behind_every_line_a_debate_goes_on_to_the_same_end_without_paying_twice() {
    let server = MockServer::with(reply);
    let debate = json!({
        "rounds": 2, "interactiveClarifications": true, "clarificationsMaxIterations": 2,
        "summarization": {"threshold": 1500, "maxLength": 300},
        "terminationCondition": {"type": "convergence", "threshold": 90},
    });
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss", "testing"], &debate));
    sandbox.run_with_input(["debate", "Design a queue", "--quiet"], "").expect_code(0);
    let id = sandbox.only_debate();
    let (whole, journal) = (without_times(&sandbox.state(&id)), sandbox.journal(&id));
    assert_eq!(whole["outcome"]["kind"], "degraded");
    let refused = server.requests().len() - paid(&journal);
    for length in 1..=journal.len() {
        let place = cut(&server, &id, &journal[..length]);
        let before = server.requests().len();
        place.run_with_input(["resume", &id, "--quiet"], "").expect_code(0);
        let last = &journal[length - 1];
        assert_eq!(without_times(&place.state(&id)), whole, "behind line {length}: {last}");
        let made = server.requests().len() - before;
        let left = paid(&journal) - paid(&journal[..length]);
        // A refusal says nothing of its reason: a model that has not answered since is tried by the other API, once.
        assert!(
            (left..=left + refused + 1).contains(&made),
            "{made} calls, {left} were left behind line {length}: {last}"
        );
    }
}

#[test]
fn a_reply_of_the_judge_is_not_paid_for_again_whatever_form_it_has() {
    // The first is the form that the older program asked for, cut.
    for (text, solution) in [
        (r##"{"solutionMarkdown": "# Ring\n\nUse it.", "tradeoffs": ["space"], "confidence": 7"##, "# Ring\n\nUse it."),
        ("I would rather talk.", "I would rather talk."),
    ] {
        let server = MockServer::with(move |request| match request.purpose {
            Purpose::Synthesize => Reply::text(text),
            _ => reply(request),
        });
        let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
        sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
        let id = sandbox.only_debate();
        let journal = sandbox.journal(&id);
        let replied = journal.iter().position(|line| line.contains("\"type\":\"replied\"")).unwrap();
        let place = cut(&server, &id, &journal[..=replied]);
        let before = server.requests().len();
        place.run(["resume", &id, "--quiet"]).expect_code(0);
        let made = server.requests().split_off(before);
        assert_eq!(made.iter().map(|request| request.purpose).collect::<Vec<_>>(), [Purpose::Assess], "{text}");
        let state = place.state(&id);
        assert_eq!(without_times(&state), without_times(&sandbox.state(&id)));
        let description = state["finalSolution"]["description"].as_str().unwrap();
        assert!(description.starts_with(&format!("{solution}\n\n---\n\n## Judge Assessment\n")), "{description}");
    }
}

#[test]
fn a_debate_that_had_to_fail_fails_behind_every_line_too() {
    let server = MockServer::with(reply);
    let debate = json!({"onAgentFailure": "fail"});
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &debate));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    let id = sandbox.only_debate();
    let journal = sandbox.journal(&id);
    let failed = journal.iter().position(|line| line.contains("\"type\":\"call-failed\"")).unwrap();
    let place = cut(&server, &id, &journal[..=failed]);
    let before = server.requests().len();
    place.run(["resume", &id, "--quiet"]).expect_code(3);
    assert_eq!(place.state(&id)["status"], "failed");
    assert_eq!(server.requests().len(), before, "a debate that has to fail calls nobody");
}

#[test]
fn behind_every_line_a_debate_with_a_cost_limit_keeps_to_it() {
    let server = MockServer::with(|request| match (request.purpose, request.model()) {
        (Purpose::Refine, "model-kiss") => default_reply(request).without_usage(),
        _ => default_reply(request).usage(900, 0, 900),
    });
    let debate = json!({"rounds": 9, "check": 3, "budget": {"maxCostUsd": 0.6}});
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &debate));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    let journal = sandbox.journal(&id);
    let is = |line: &String, kind| line.contains(&format!("\"type\":\"{kind}\""));
    let stopped = journal.iter().position(|line| is(line, "stopping")).expect("the limit is reached");
    for length in 1..=journal.len() {
        let place = cut(&server, &id, &journal[..length]);
        // A record that was only found is not believed what its models cost.
        place.write(USERS, sandbox.read(USERS));
        let before = server.requests().len();
        place.run(["resume", &id, "--quiet"]).expect_code(0);
        let last = &journal[length - 1];
        let state = place.state(&id);
        assert_eq!(state["outcome"]["kind"], "stopped", "behind line {length}: {last}");
        assert!(state["finalSolution"]["description"].is_string(), "behind line {length}: {last}");
        // An answer without figures may have cost as much as its output limit allows.
        let lines = place.journal(&id);
        let events = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls = events.filter(|event| event["call"].is_object());
        let most = calls.map(|event| event["call"]["costUsd"].as_f64().unwrap_or(0.04096)).sum::<f64>();
        assert!(most <= 0.6, "${most} behind line {length}: {last}");
        if length > stopped {
            let made = server.requests().len() - before;
            assert_eq!(made, paid(&journal) - paid(&journal[..length]), "behind line {length}: {last}");
        }
        place.run(["verify", &id]).expect_code(0);
    }
}
