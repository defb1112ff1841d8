//! Calls that fail: what is tried again, what a debate survives, and how it says what it lacks.

use std::time::Duration;

use serde_json::json;

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, short_reply, two_agents};

/// Whether a request is the proposal of the agent with that role.
fn proposes(request: &Incoming, role: &str) -> bool {
    request.purpose == Purpose::Propose && request.model() == format!("model-{role}")
}

#[test]
fn a_debate_without_the_key_fails() {
    let server = MockServer::with(|_| Reply::error(401, "no such key"));
    let sandbox = two_agents(&server, &json!({"maxConcurrency": 1, "maxRetries": 3}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    insta::assert_snapshot!(finished, @"
    exit: 3
    --- stdout

    --- stderr
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    warning: agent-architect failed in the proposal: the key was refused (401): no such key
    warning: agent-kiss failed in the proposal: the key was refused (401): no such key
    This debate was not saved: no model was reached and nothing was billed.
    error: all calls failed: the key was refused (401): check OPENAI_API_KEY
    caused by: no such key
    ");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(sandbox.debates().len(), 0);
    assert_eq!(std::fs::read_dir(sandbox.directory().join("debates")).unwrap().count(), 0);
}

#[test]
fn a_debate_that_left_nothing_is_not_kept() {
    let nothing_there = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = Sandbox::new()
        .env("OPENAI_BASE_URL", &format!("http://{nothing_there}/v1"))
        .env("OPENAI_API_KEY", "sk-none")
        .config(&config(&["architect", "kiss"], &json!({"maxRetries": 0})));
    let finished = unreachable.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    assert!(finished.stderr.contains("error: all calls failed: cannot reach the server"), "{finished}");
    assert_eq!(unreachable.debates().len(), 0, "{finished}");
    // An attempt that came to a model may be billed, whatever came of it and of the next.
    let kept = |first: Reply| {
        let server =
            MockServer::with(
                move |request| {
                    if request.repeats == 0 { first.clone() } else { Reply::error(403, "not yours") }
                },
            );
        let sandbox = two_agents(&server, &json!({"maxRetries": 1}));
        let finished = sandbox.run(["debate", "Design a queue", "--quiet", "--report", "report.md"]).expect_code(3);
        assert_eq!(sandbox.directory().join("report.md").exists(), sandbox.debates().len() == 1, "{finished}");
        sandbox.debates().len()
    };
    assert_eq!(kept(Reply::error(403, "not yours")), 0);
    assert_eq!(kept(Reply::error(404, "no such model `x`")), 0);
    assert_eq!(kept(Reply::error(500, "oops").header("retry-after", "0")), 1);
    assert_eq!(kept(Reply::error(400, "no")), 1);
}

#[test]
fn what_the_user_said_is_kept_though_nobody_heard_it() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Clarify => Reply::json(json!({"questions": [{"id": "q1", "text": "How many?"}]})),
        _ => Reply::error(401, "no such key"),
    });
    let sandbox = two_agents(&server, &json!({}));
    sandbox.run_with_input(["debate", "Design a queue", "--clarify"], "seven\n").expect_code(3);
    assert_eq!(sandbox.debates().len(), 1);
}

#[test]
fn without_one_agent_the_others_go_on_every_lack_is_named_and_strict_makes_it_an_error() {
    // An agent of three whose model takes no request.
    let server = MockServer::with(|request| {
        let refused = Reply::error(400, "no such model").after(Duration::from_millis(30));
        if request.model() == "model-kiss" { refused } else { short_reply(request) }
    });
    let settings = config(&["architect", "kiss", "testing"], &json!({"rounds": 2}));
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let finished = sandbox.run(["debate", "Design a queue", "--quiet", "--strict"]).expect_code(5);
    let waited = sandbox.run(["wait", "--strict", "--json"]).expect_code(5);
    assert!(waited.stdout.contains("\"exitCode\": 5"), "{waited}");
    let (id, state) = sandbox.only_state();
    assert!(finished.stdout.contains("## Judge Assessment"), "the solution is printed all the same: {finished}");
    assert!(finished.stderr.contains(&format!("error: the debate {id} was incomplete: ")), "{finished}");
    server.assert_clean();
    assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("degraded")));
    let reasons = state["outcome"]["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), state["failures"].as_array().unwrap().len());
    assert!(finished.stderr.contains("warning: agent-kiss failed in the proposal: "), "{finished}");
    for reason in reasons {
        assert!(finished.stderr.contains(&format!("  - {}\n", reason.as_str().unwrap())), "{reason}: {finished}");
    }
    for round in state["rounds"].as_array().unwrap() {
        let contributions = round["contributions"].as_array().unwrap();
        assert!(contributions.iter().all(|one| one["agentId"] != "agent-kiss" && one["targetAgentId"] != "agent-kiss"));
        // Two proposals, two critiques, two refinements.
        assert_eq!(contributions.len(), 6);
    }
    // One that lacks nothing is no error.
    two_agents(&MockServer::with(short_reply), &json!({})).run(["debate", "x", "--strict"]).expect_code(0);
}

#[test]
fn when_told_to_a_debate_fails_with_its_first_agent() {
    let script = |request: &Incoming| {
        if proposes(request, "kiss") { Reply::error(400, "no such model") } else { short_reply(request) }
    };
    let (server, gate) = MockServer::held(script, |request| proposes(request, "kiss"));
    let settings = config(&["architect", "kiss", "testing"], &json!({"onAgentFailure": "fail"}));
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    // The others have answered: a server that has not answered anybody has failed everybody.
    server.wait_for_requests(3 + 2);
    gate.open();
    insta::assert_snapshot!(running.wait(), @"
    exit: 3
    --- stdout

    --- stderr
    13 calls, of unknown cost (no price is known for model-architect and 3 more)
    warning: agent-kiss failed in the proposal: the request was refused (400): no such model
    Saved debate to ./debates/[id].json
    error: the debate [id] failed: agent-kiss failed in the proposal: the request was refused (400): no such model
    hint: all texts are saved; fix the cause, then: dialectic resume [id]
    ");
    let (id, state) = sandbox.only_state();
    assert_eq!(state["status"], "failed");
    assert!(server.requests().iter().all(|request| request.purpose != Purpose::Synthesize));

    // As if it had been killed before it had failed: it fails, and calls nobody.
    sandbox.cut_after(&id, "\"type\":\"call-failed\"");
    server.settle();
    server.forget();
    sandbox.run(["resume", &id, "--quiet"]).expect_code(3);
    assert_eq!((&sandbox.state(&id)["status"], server.requests().len()), (&json!("failed"), 0));
}

#[test]
fn a_round_that_failed_is_tried_again_when_the_cause_is_gone() {
    // For want of proposals, and because it was told to fail with its first agent.
    for (phase, debate) in [(Purpose::Propose, json!({})), (Purpose::Critique, json!({"onAgentFailure": "fail"}))] {
        let server = MockServer::with(move |request| {
            let fails = request.purpose == phase && request.model() == "model-kiss";
            if fails { Reply::error(401, "no such key") } else { short_reply(request) }
        });
        let sandbox = two_agents(&server, &debate);
        sandbox.run(["debate", "Design a queue"]).expect_code(3);
        server.set_script(short_reply);
        let (_, state) = sandbox.debated(["resume", "latest"]);
        assert_eq!(state["outcome"], json!({"kind": "full", "reasons": []}));
        assert_eq!(state["rounds"][0]["contributions"].as_array().unwrap().len(), 6);
    }
}
