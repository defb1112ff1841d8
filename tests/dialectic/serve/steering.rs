//! What can be done with a debate: each is the runner's.

use serde_json::{Value, json};

use super::client::{Serving, curious, journal, sandbox, serving};
use crate::support::{Gate, MockServer, Purpose, Sandbox, short_reply, wait_until};

/// A debate of a server whose critiques are held up.
struct Held {
    gate: Gate,
    server: MockServer,
    sandbox: Sandbox,
    serving: Serving,
    id: String,
}

fn held(debate: &Value, options: &[&str]) -> Held {
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let sandbox = sandbox(&server, debate);
    let serving = Serving::start(&sandbox, options);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    server.wait_for_requests(4);
    Held { gate, server, sandbox, serving, id }
}

/// Panics unless it was stopped in its first round.
fn assert_closed(sandbox: &Sandbox, id: &str) {
    let state = sandbox.state(id);
    assert_eq!((&state["stopReason"], &state["currentRound"]), (&json!("user"), &json!(1)));
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn a_debate_is_paused_and_resumed_and_pays_for_nothing_twice() {
    let Held { gate, server, sandbox, serving, id } = held(&json!({}), &[]);
    assert_eq!(serving.status(&id), "running");
    let busy = serving.post(&format!("/debates/{id}/feedback"), &json!({"rating": 1})).expect(409).json();
    assert_eq!(busy["detail"], "the debate is running, or another request is using it");
    serving.order(&id, "pause");
    gate.open();
    serving.wait_for(&id, "paused");
    serving.post(&format!("/debates/{id}/pause"), &json!({})).expect(409);
    let so_far = server.requests().len();
    serving.order(&id, "resume");
    serving.wait_for(&id, "completed");
    let events = journal(&sandbox, &id);
    assert_eq!((count(&events, "paused"), count(&events, "resumed")), (1, 1));
    assert!(so_far < server.requests().len());
    let whole = events.iter().filter(|event| event.get("call").is_some()).count();
    assert_eq!(whole, server.requests().len(), "each call is made once");
    serving.post(&format!("/debates/{id}/resume"), &json!({})).expect(409);
    serving.post(&format!("/debates/{id}/stop"), &json!({})).expect(409);
    sandbox.assert_state_is_the_fold(&id);
}

#[test]
fn a_debate_is_stopped_and_closed_while_it_runs_and_while_it_is_paused() {
    for is_paused in [false, true] {
        let Held { gate, server: _server, sandbox, serving, id } = held(&json!({"rounds": 3}), &[]);
        if is_paused {
            serving.order(&id, "pause");
            gate.open();
            serving.wait_for(&id, "paused");
        }
        serving.order(&id, "stop");
        gate.open();
        serving.wait_for(&id, "completed");
        assert_closed(&sandbox, &id);
    }
}

/// A debate that waits for answers.
fn asking(serving: &Serving) -> String {
    let id = serving.begin(&json!({"problem": "Design a queue", "debate": {"interactiveClarifications": true}}));
    serving.wait_for(&id, "asking");
    id
}

#[test]
fn questions_are_answered_or_skipped() {
    let server = MockServer::with(curious);
    let (sandbox, serving) = serving(&server);
    let id = asking(&serving);
    let questions = serving.get(&format!("/debates/{id}"))["questions"].clone();
    assert_eq!(questions.as_array().unwrap().len(), 2);
    let answers = |answer: &str| -> Vec<Value> {
        let of = |one: &Value| json!({"agentId": one["agentId"], "questionId": one["questionId"], "answer": answer});
        questions.as_array().unwrap().iter().map(of).collect()
    };
    let path = format!("/debates/{id}/answers");
    let unknown = json!({"answers": [{"agentId": "agent-kiss", "questionId": "q99", "answer": "x"}]});
    assert_eq!(serving.post(&path, &unknown).expect(422).json()["key"], "answers[0].questionId");
    serving.post(&path, &json!({"answers": answers("Two thousand.")[..1]})).expect(202);
    assert_eq!(serving.status(&id), "asking", "one is still open");
    serving.post(&format!("/debates/{id}/feedback"), &json!({"rating": 1})).expect(409);
    // What was answered is on record also when the server ends, once it has arrived: what is accepted is on its way.
    wait_until("the answer arrives", || count(&journal(&sandbox, &id), "question-answered") > 0);
    let serving = serving.again(&sandbox);
    assert_eq!(serving.status(&id), "paused");
    serving.post(&path, &json!({"answers": answers("x")[1..]})).expect(409);
    serving.order(&id, "resume");
    serving.wait_for(&id, "asking");
    serving.post(&path, &json!({"answers": answers("Two thousand.")[1..]})).expect(202);
    serving.wait_for(&id, "completed");
    let prompts = server.requests().iter().filter(|request| request.text().contains("Two thousand.")).count();
    assert!(prompts > 0, "the answers reach the agents");
    let id = asking(&serving);
    serving.post(&format!("/debates/{id}/answers"), &json!({"end": true})).expect(202);
    serving.wait_for(&id, "completed");
    assert_eq!(count(&journal(&sandbox, &id), "questions-ended"), 1);
}

/// A debate that was stopped before there was a proposal has ended, on a whole record, and can be taken up again.
fn assert_stopped(serving: &Serving, sandbox: &Sandbox, id: &str) {
    serving.wait_for(id, "failed");
    let shown = serving.get(&format!("/debates/{id}"));
    assert_eq!(shown["state"]["error"], "stopped before any agent had made a proposal");
    assert_eq!((&shown["problem"]["type"], &shown["problem"]["status"]), (&json!("conflict"), &json!(409)));
    assert_eq!(shown["summary"]["run"], "failed");
    assert_eq!(count(&journal(sandbox, id), "failed"), 1);
    serving.post(&format!("/debates/{id}/stop"), &json!({})).expect(409);
    sandbox.assert_state_is_the_fold(id);
    sandbox.run(["verify", id]).expect_code(0);
}

#[test]
fn a_debate_that_waits_for_answers_is_stopped_and_ends() {
    let server = MockServer::with(curious);
    let (sandbox, serving) = serving(&server);
    let id = asking(&serving);
    serving.order(&id, "stop");
    assert_stopped(&serving, &sandbox, &id);
    // Its server went while it waited.
    let gone = asking(&serving);
    let serving = serving.again(&sandbox);
    let asked = server.requests().len();
    assert_eq!(serving.status(&gone), "paused");
    serving.order(&gone, "stop");
    assert_stopped(&serving, &sandbox, &gone);
    assert_eq!(server.requests().len(), asked, "nobody is called for that");
    serving.order(&gone, "resume");
    serving.wait_for(&gone, "asking");
    serving.post(&format!("/debates/{gone}/answers"), &json!({"end": true})).expect(202);
    serving.wait_for(&gone, "completed");
}

#[test]
fn a_debate_that_waits_for_a_place_is_stopped_and_ends() {
    let (gate, second) = (Gate::shut(), Gate::shut());
    let held = (gate.clone(), second.clone());
    let server = MockServer::with(move |request| {
        let gate = if request.text().contains("Design a second queue") { &held.1 } else { &held.0 };
        let reply = short_reply(request);
        if request.purpose == Purpose::Critique { reply.held(gate) } else { reply }
    });
    let sandbox = sandbox(&server, &json!({"rounds": 3}));
    let serving = Serving::start(&sandbox, &["--max-debates", "1"]);
    // One that has proposals, and waits once more.
    let closing = serving.begin(&json!({"problem": "Design a queue"}));
    server.wait_for_requests(4);
    serving.order(&closing, "pause");
    gate.open();
    serving.wait_for(&closing, "paused");
    let running = serving.begin(&json!({"problem": "Design a second queue"}));
    let fresh = serving.begin(&json!({"problem": "Design a queue"}));
    serving.order(&closing, "resume");
    assert_eq!((serving.status(&fresh), serving.status(&closing)), ("waiting".into(), "waiting".into()));
    serving.order(&fresh, "stop");
    assert_stopped(&serving, &sandbox, &fresh);
    serving.order(&closing, "stop");
    assert_eq!(serving.status(&closing), "waiting");
    second.open();
    serving.wait_for(&running, "completed");
    serving.wait_for(&closing, "completed");
    assert_closed(&sandbox, &closing);
}

#[test]
fn debates_wait_for_a_place_where_they_are_seen() {
    let Held { gate, server, sandbox, serving, id } = held(&json!({}), &["--max-debates", "1"]);
    let [second, third] = [0, 1].map(|_| serving.begin(&json!({"problem": "Design a queue"})));
    let ids = [id, second, third];
    let row = |id: &str| serving.get(&format!("/debates/{id}"))["summary"].clone();
    assert_eq!((&row(&ids[0])["status"], &row(&ids[1])["status"]), (&json!("running"), &json!("waiting")));
    assert_eq!((&row(&ids[1])["before"], &row(&ids[2])["before"]), (&json!(0), &json!(1)));
    assert_eq!(row(&ids[1])["costUsd"], 0.0);
    assert_eq!(serving.get("/debates?status=waiting")["total"], 2);
    // One that waits can be taken back, and stays on record.
    serving.order(&ids[1], "pause");
    assert_eq!(row(&ids[2])["before"], 0);
    let begun = server.requests().iter().filter(|request| request.purpose == Purpose::Propose).count();
    assert_eq!(begun, 2, "nobody else has begun");
    gate.open();
    serving.wait_for(&ids[0], "completed");
    serving.wait_for(&ids[2], "completed");
    assert_eq!(serving.status(&ids[1]), "paused");
    serving.order(&ids[1], "resume");
    serving.wait_for(&ids[1], "completed");
    sandbox.assert_state_is_the_fold(&ids[1]);
}

#[test]
fn too_many_that_wait_are_refused() {
    let Held { serving, server: _server, sandbox: _sandbox, .. } = held(&json!({}), &["--max-debates", "1"]);
    let statuses: Vec<u16> = (0..23).map(|_| serving.post("/debates", &json!({"problem": "x"})).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 20, "{statuses:?}");
    let refused = serving.post("/debates", &json!({"problem": "x"})).expect(503);
    assert_eq!((&refused.json()["type"], &refused.json()["retryable"]), (&json!("busy"), &json!(true)));
    assert!(refused.header("retry-after").is_some());
}

#[test]
fn an_interrupt_pauses_what_runs_and_nothing_resumes_by_itself() {
    let Held { gate, server, sandbox, serving, id } = held(&json!({}), &[]);
    let finished = serving.interrupt().expect_code(130);
    assert!(finished.stderr.contains(&format!("dialectic resume {id}")), "{finished}");
    assert_eq!(sandbox.only_state().1["status"], "paused");
    gate.open();
    let asked = server.requests().len();
    let serving = Serving::start(&sandbox, &[]);
    assert_eq!(serving.status(&id), "paused");
    // By the time another debate has ended, a debate resumed at the start would have sent a request.
    serving.complete(&json!({"problem": "Design a cache", "offline": true}));
    assert_eq!((serving.status(&id).as_str(), server.requests().len()), ("paused", asked), "nobody resumed it");
    serving.order(&id, "resume");
    serving.wait_for(&id, "completed");
}

#[test]
fn a_debate_is_rated() {
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let id = serving.complete(&json!({"problem": "Design a queue"}));
    let path = format!("/debates/{id}/feedback");
    assert_eq!(serving.post(&path, &json!({"rating": 2})).expect(422).json()["key"], "rating");
    serving.post(&path, &json!({"rating": -1, "note": " too long "})).expect(204);
    serving.post(&path, &json!({"rating": 1, "note": "good"})).expect(204);
    let state = serving.get(&format!("/debates/{id}"))["state"].clone();
    assert_eq!((&state["userFeedback"], &state["userFeedbackNote"]), (&json!(1), &json!("good")));
    sandbox.run(["verify", &id]).expect_code(0);
}

#[test]
fn a_debate_of_the_command_line_is_steered_in_the_browser() {
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let sandbox = sandbox(&server, &json!({}));
    let running = sandbox.spawn(["debate", "Design a queue", "--serve"]);
    server.wait_for_requests(4);
    let address =
        || running.stderr().lines().find_map(|line| line.strip_prefix("Watch the debate at ").map(str::to_owned));
    wait_until("an address is printed", || address().is_some());
    let address = address().unwrap();
    let id = sandbox.only_debate();
    assert!(address.contains(&format!("/debates/{id}?token=")), "{address}");
    let authority = address.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let serving = Serving::at(running, authority);
    assert_eq!(serving.status(&id), "running");
    serving.order(&id, "stop");
    gate.open();
    serving.wait_for(&id, "completed");
    assert_eq!(sandbox.state(&id)["stopReason"], "user");
    let finished = serving.interrupt().expect_code(130);
    assert!(finished.stdout.contains("## Judge Assessment"), "{finished}");
}
