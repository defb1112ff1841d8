//! Debates whose requests the host answers: `-m host`, `requests` and `reply`.

use std::collections::BTreeSet;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::detach::{kill_if_running, process_of};
use crate::support::{Content, Incoming, MockServer, Reply, Sandbox, config, sample, short_reply};
use crate::timing::without_times;

/// A panel whose agents with these roles, and the judge, are the host.
pub(crate) fn hosted(roles: &[&str], of_host: &[&str], debate: &Value) -> Value {
    let mut config = config(roles, debate);
    for agent in config["agents"].as_array_mut().unwrap() {
        if of_host.contains(&agent["role"].as_str().unwrap()) {
            agent["provider"] = json!("host");
        }
    }
    config["judge"]["provider"] = json!("host");
    config
}

/// A sandbox with two agents and a judge that are the host.
fn hosts(debate: &Value) -> Sandbox {
    let roles = ["architect", "kiss"];
    Sandbox::new().config(&hosted(&roles, &roles, debate))
}

/// What a careful host replies: it depends on the request and nothing else.
pub(crate) fn reply_to(request: &Value) -> String {
    let mut body = json!({"model": "host", "instructions": request["system"], "input": request["text"]});
    if !request["schema"].is_null() {
        body["text"]["format"]["schema"] = request["schema"].clone();
    }
    let request = Incoming::read("POST", "/v1/responses", Vec::new(), body.to_string().as_bytes());
    let reply = if request.task() == "review the texts" { review(&request) } else { short_reply(&request) };
    let Content::Text(text) = reply.content else { panic!("{} has no text for an answer", request.task()) };
    text
}

/// A review with a point against each of the others' texts.
fn review(request: &Incoming) -> Reply {
    let texts: BTreeSet<&str> = request.prompt().lines().filter(|line| line.starts_with("## Text ")).collect();
    let sections =
        texts.into_iter().map(|text| [text, "1. [minor] Load: it may be too slow. Resolved by: a measurement."]);
    Reply::text(sections.flatten().collect::<Vec<_>>().join("\n\n"))
}

/// The requests that wait; none once the debate is over.
fn requests(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let finished = sandbox.run(["requests", id, "--json", "--wait", "60"]).expect_code(0);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"))
}

fn reply(sandbox: &Sandbox, id: &str, request: &Value, text: &str) {
    let arguments = ["reply", id, request["id"].as_str().unwrap(), "--by", "fable"];
    sandbox.run_with_input(arguments, text).expect_code(0);
}

fn begin(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let begun = sandbox.run([&["debate", "Design a queue"], arguments].concat()).expect_code(0);
    begun.stdout.trim().to_owned()
}

/// Answers requests in order, or in random order with the program killed in between. Returns the number of replies.
fn play(sandbox: &Sandbox, id: &str, mut chance: Option<ChaCha8Rng>) -> usize {
    for replies in 0.. {
        let open = requests(sandbox, id);
        let Some(next) = (match &mut chance {
            Some(chance) => open.choose(chance),
            None => open.first(),
        }) else {
            return replies;
        };
        reply(sandbox, id, next, &reply_to(next));
        if chance.as_mut().is_some_and(|chance| chance.random_bool(0.7)) {
            kill_if_running(sandbox);
        }
    }
    unreachable!()
}

#[test]
fn any_order_of_replies_and_kills_between_them_leave_the_same_record() {
    let protocols = [
        ("council", &["architect", "kiss", "testing"][..], json!({"check": 2}), 3 + 3 + 1 + 2),
        ("dialectic", &["architect", "kiss"], json!({"rounds": 2}), 2 + 2 + 2 + 2 + 2 + 1),
    ];
    for (protocol, roles, debate, replies) in sample(protocols, 1) {
        let states: Vec<Value> = [None, Some(1), Some(2)]
            .into_iter()
            .map(|seed| {
                let mut config = hosted(roles, roles, &debate);
                config["prices"] = json!({"model-architect": {"inputPerMTok": 9, "outputPerMTok": 9}});
                let sandbox = Sandbox::new().config(&config);
                let id = begin(&sandbox, &["--protocol", protocol]);
                assert_eq!(play(&sandbox, &id, seed.map(ChaCha8Rng::seed_from_u64)), replies, "{protocol}");
                // The last kill may have come between the journal's end and the state.
                if seed.is_some() {
                    sandbox.run(["resume", &id]).expect_code(0);
                }
                let (_, state) = sandbox.only_state();
                assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("full")));
                assert!(!sandbox.directory().join(format!("debates/{id}.host")).exists());
                without_times(&state)
            })
            .collect();
        let usage = &states[0]["usage"]["model-architect"];
        assert_eq!((&usage["hosted"], &usage["costUsd"]), (&json!(true), &json!(0.0)), "{usage:#}");
        assert_eq!(states[0]["rounds"][0]["contributions"][0]["metadata"]["servedModel"], "fable");
        for state in &states[1..] {
            assert!(*state == states[0], "{protocol}: the order of replies shows");
        }
    }
}

#[test]
fn all_that_can_be_answered_at_once_is_there_and_complete_in_itself() {
    let sandbox = Sandbox::new();
    let begun = sandbox.run(["debate", "-m", "host", "--quick", "Design a queue"]).expect_code(0);
    let id = sandbox.only_debate();
    assert_eq!(begun.stdout.trim(), id);
    assert!(begun.stderr.contains("Waiting for your replies:"), "{begun}");
    let open = requests(&sandbox, &id);
    assert_eq!(open.len(), 2);
    assert!(open[0]["text"].as_str().unwrap().contains("Design a queue"), "{:#}", open[0]);
    assert!(!open[0]["system"].as_str().unwrap().is_empty() && open[0]["role"] == "architect", "{:#}", open[0]);
    let name = open[0]["id"].as_str().unwrap();
    let waited = sandbox.run(["wait", &id]).expect_code(7);
    assert!(waited.stdout.contains(&format!("{name}  System Architect (architect): proposal, round 1")), "{waited}");
    let shown = sandbox.run(["requests", &id, name]).expect_code(0);
    assert!(shown.stdout.contains(open[0]["text"].as_str().unwrap().trim()), "{shown}");
    assert!(!shown.stdout.contains(open[1]["id"].as_str().unwrap()), "{shown}");
    // One reply is not enough for the next stage.
    reply(&sandbox, &id, &open[1], &reply_to(&open[1]));
    assert_eq!(requests(&sandbox, &id), &open[..1]);
    assert_eq!(sandbox.run(["list"]).expect_code(0).stdout.lines().count(), 2);
    play(&sandbox, &id, None);
    for shown in [["wait", &id], ["list", "-n1"], ["list", "--cost"]] {
        let over = sandbox.run(shown).expect_code(0);
        assert!(over.stdout.contains("answered by the host"), "{over}");
    }
    let report = sandbox.run(["report", &id]).expect_code(0);
    assert!(report.stdout.contains("≈ ") && report.stdout.contains("answered by the host"), "{report}");
    let asked = sandbox.run(["ask", &id, "Why?"]).expect_code(2);
    assert!(asked.stderr.contains("cannot answer follow-up questions"), "{asked}");
    assert!(sandbox.state(&id)["followUps"].is_null());
    let named = sandbox.run(["requests", &id, name]).expect_code(2);
    assert!(named.stderr.contains("no requests are open"), "{named}");
    assert!(sandbox.run(["requests", &id]).expect_code(0).stderr.contains("No requests are open."));
    assert!(sandbox.run(["wait", &id, "--json"]).expect_code(0).stdout.contains("\"requests\": []"));
    // As if it had been killed when the debate was complete.
    sandbox.write(format!("debates/{id}.host/requests.json"), "");
    sandbox.run(["resume", &id]).expect_code(0);
    assert!(!sandbox.directory().join(format!("debates/{id}.host")).exists());
}

#[test]
fn what_cannot_be_used_is_refused_and_each_request_is_answered_once() {
    let sandbox = hosts(&json!({}));
    let id = begin(&sandbox, &[]);
    let open = requests(&sandbox, &id);
    let listed = sandbox.read(format!("debates/{id}.host/requests.json"));
    let [first, second] = [0, 1].map(|place| open[place]["id"].as_str().unwrap());
    let long = "x".repeat(1024 * 1024 + 1);
    for (text, said) in [(" \n", "is empty"), ("a\0", "a NUL character"), (&long, "is larger than 1 MiB")] {
        let refused = sandbox.run_with_input(["reply", &id, first], text).expect_code(2);
        assert!(refused.stderr.contains(said), "{refused}");
    }
    sandbox.run_with_input(["reply", &id, first, "-c", "nope.json"], "The text").expect_code(4);
    assert_eq!(requests(&sandbox, &id), open, "nothing was accepted");
    let unknown = sandbox.run_with_input(["reply", &id, "../x"], "x").expect_code(2);
    let said = format!("there is no open request `../x`; open: {first} and {second}");
    assert!(unknown.stderr.contains(&said), "{unknown}");
    // Only one of several at once.
    let running: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| {
            sandbox.write(name, format!("The text of {name}"));
            sandbox.spawn(["reply", &id, first, name, "--by", name])
        })
        .into();
    let ended: Vec<_> = running.into_iter().map(super::support::Running::wait).collect();
    assert_eq!(ended.iter().filter(|ended| ended.code == Some(0)).count(), 1, "{ended:?}");
    let told = sandbox.run_with_input(["reply", &id, first], "again").expect_code(2);
    assert!(told.stderr.contains("was already answered by"), "{told}");
    sandbox.run_with_input(["reply", &id, second], "\u{feff}The other text").expect_code(0);
    assert!(!requests(&sandbox, &id)[0]["text"].as_str().unwrap().contains('\u{feff}'));

    let critique = requests(&sandbox, &id).remove(0);
    let name = critique["id"].as_str().unwrap();
    let refused = sandbox.run_with_input(["reply", &id, name], "It is all fine with me.").expect_code(2);
    assert!(refused.stderr.contains("it has no points in the requested format"), "{refused}");
    assert!(refused.stderr.contains("the request is still open"), "{refused}");
    assert_eq!(requests(&sandbox, &id)[0]["id"], name);
    reply(&sandbox, &id, &critique, "1. [major] Load: it is too slow.");
    assert_eq!(sandbox.state(&id)["failures"], Value::Null, "nothing was asked twice");

    // As if it had been listed before it was answered.
    kill_if_running(&sandbox);
    sandbox.write(format!("debates/{id}.host/requests.json"), listed);
    sandbox.remove(format!("debates/{id}.host/{first}.reply"));
    let late = sandbox.run_with_input(["reply", &id, first], "again").expect_code(2);
    assert!(late.stderr.contains("the debate no longer needs the reply"), "{late}");
}

#[test]
fn a_solution_lacks_nothing_before_it_is_accepted() {
    let sandbox = hosts(&json!({}));
    let id = begin(&sandbox, &["--protocol", "council"]);
    let synthesis = loop {
        let next = requests(&sandbox, &id).remove(0);
        if next["phase"] == "synthesis" {
            break next;
        }
        reply(&sandbox, &id, &next, &reply_to(&next));
    };
    let name = synthesis["id"].as_str().unwrap();
    let refused = sandbox.run_with_input(["reply", &id, name], "# A table\n\nUse one.").expect_code(2);
    assert!(refused.stderr.contains("it has no assessment"), "{refused}");
    reply(&sandbox, &id, &synthesis, &reply_to(&synthesis));
    assert_eq!(requests(&sandbox, &id), Vec::<Value>::new());
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "full");
}

#[test]
fn a_mixed_panel_ends_and_its_servers_are_asked_meanwhile() {
    let server = MockServer::with(short_reply);
    let roles = ["architect", "kiss", "testing"];
    let sandbox = Sandbox::new().model_server(&server).config(&hosted(&roles, &["testing"], &json!({})));
    let id = begin(&sandbox, &["--detach"]);
    assert_eq!(play(&sandbox, &id, None), 1 + 2 + 1 + 1);
    assert_eq!(server.requests().len(), 2 + 4 + 2);
    let (_, state) = sandbox.only_state();
    assert_eq!(state["outcome"]["kind"], "full", "{state:#}");
    server.assert_clean();
}

#[test]
fn a_limit_of_calls_holds_and_no_accepted_reply_is_lost_to_it() {
    let sandbox = hosts(&json!({"rounds": 3}));
    let id = begin(&sandbox, &["--max-calls", "13"]);
    let replies = play(&sandbox, &id, None);
    assert!((7..=13).contains(&replies), "{replies}");
    let state = sandbox.state(&id);
    assert_eq!((&state["status"], &state["stopReason"]), (&json!("completed"), &json!("budget")), "{state:#}");
    let requests: u64 =
        state["usage"].as_object().unwrap().values().map(|usage| usage["requests"].as_u64().unwrap()).sum();
    assert_eq!(requests, replies as u64, "each reply is in the record");
}

/// A run that was asked for its end says that it has not reached it.
#[test]
fn what_asks_for_the_end_exits_with_7() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for (arguments, lost) in [
        (&["debate", "x", "-m", "host", "-o", "x.md", "--report", "x.html"][..], "--output and --report"),
        (&["debate", "x", "-m", "host", "--strict"], ""),
        (&["debate", "x", "-m", "host", "--events", "x.jsonl"], "--events"),
        (&["review", "-m", "host", "--fail-on", "blocking", "--format", "json"], ""),
    ] {
        let sandbox = Sandbox::new();
        let ended = sandbox.run_with_input(arguments, diff).expect_code(7);
        assert!(ended.stdout.is_empty() && ended.stderr.contains("Waiting for your replies:"), "{ended}");
        let warning = ended.stderr.lines().find(|line| line.contains("in other processes")).unwrap_or_default();
        assert!(warning.contains(lost) && warning.is_empty() == lost.is_empty(), "{ended}");
    }
}

#[test]
fn after_a_failure_the_request_opens_again() {
    let sandbox = hosts(&json!({"onAgentFailure": "fail"}));
    let id = begin(&sandbox, &[]);
    let before = requests(&sandbox, &id);
    // As if the check had let it pass.
    let name = before[0]["id"].as_str().unwrap();
    sandbox.write(format!("debates/{id}.host/{name}.reply"), r#"{"text": ""}"#);
    sandbox.run(["requests", &id]).expect_code(3);
    assert_eq!(sandbox.run(["requests", &id, "--json"]).expect_code(3).stdout.trim(), "[]");
    sandbox.run(["resume", &id]).expect_code(7);
    assert_eq!(requests(&sandbox, &id), before);
    reply(&sandbox, &id, &before[0], "The text");
    assert_eq!(requests(&sandbox, &id).iter().filter(|open| before.contains(open)).count(), 1);
}

#[test]
fn a_stopped_debate_asks_for_the_answer_alone() {
    let sandbox = hosts(&json!({}));
    let id = begin(&sandbox, &[]);
    for _ in 0..2 {
        let next = requests(&sandbox, &id).remove(0);
        reply(&sandbox, &id, &next, &reply_to(&next));
    }
    assert_eq!(requests(&sandbox, &id).len(), 2);
    sandbox.run(["stop", &id]).expect_code(0);
    assert_eq!(requests(&sandbox, &id).iter().map(|one| &one["phase"]).collect::<Vec<_>>(), ["synthesis"]);
    play(&sandbox, &id, None);
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped");
    let mut files = sandbox.files().into_iter();
    assert!(!files.any(|(path, _)| path.to_string_lossy().contains(".host")), "its requests are over");
}

#[test]
fn a_prompt_does_not_steer_the_terminal_that_shows_it() {
    let sandbox = hosts(&json!({}));
    let begun = sandbox.run(["debate", "Design \u{1b}[2J a queue"]).expect_code(0);
    let shown = sandbox.run(["requests", begun.stdout.trim(), "--wait", "60"]).expect_code(0);
    assert!(shown.stdout.contains("a queue") && !shown.stdout.contains('\u{1b}'), "{shown}");
}

#[test]
fn requests_go_on_after_a_kill_and_a_removed_debate_leaves_nothing() {
    let sandbox = hosts(&json!({}));
    let id = begin(&sandbox, &[]);
    let before = requests(&sandbox, &id);
    // As if it had been killed before it showed them.
    sandbox.remove(format!("debates/{id}.host/requests.json"));
    assert_eq!(requests(&sandbox, &id), before);
    sandbox.write(format!("debates/{id}.host/requests.json"), "{");
    assert!(sandbox.run(["wait", &id]).expect_code(1).stderr.contains("requests.json"));
    assert_eq!(requests(&sandbox, &id), before);
    let resumed = sandbox.run(["resume", &id]).expect_code(7);
    assert!(resumed.stderr.contains("has requests for you") && resumed.stdout.is_empty(), "{resumed}");
    assert_eq!(requests(&sandbox, &id), before);
    assert!(process_of(&sandbox).is_none());
    sandbox.run(["rm", &id, "--yes"]).expect_code(0);
    let left = sandbox.files().into_iter().filter(|(path, _)| path.to_string_lossy().contains(&id)).count();
    assert_eq!(left, 0);
}

#[test]
fn requests_start_no_debate_that_calls_models_alone() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    let id = begin(&sandbox, &["--detach"]);
    server.wait_for_requests(2);
    kill_if_running(&sandbox);
    let refused = sandbox.run(["requests", &id]).expect_code(75);
    assert!(refused.stderr.contains("dialectic resume"), "{refused}");
    assert_eq!((server.requests().len(), process_of(&sandbox)), (2, None));
}

#[test]
fn questions_of_the_hosts_agents_are_put_to_the_user() {
    let sandbox = hosts(&json!({"clarificationsMaxIterations": 1}));
    let id = begin(&sandbox, &["--clarify", "--detach"]);
    for (place, text) in [(0, r#"{"questions": [{"id": "q1", "text": "How many?"}]}"#), (0, r#"{"questions": []}"#)] {
        let open = requests(&sandbox, &id);
        assert!(open[place]["schema"].is_object(), "{:#}", open[place]);
        let name = open[place]["id"].as_str().unwrap();
        let refused = sandbox.run_with_input(["reply", &id, name], "None.").expect_code(2);
        assert!(refused.stderr.contains("it contains no JSON object"), "{refused}");
        reply(&sandbox, &id, &open[place], text);
    }
    let waited = sandbox.run(["requests", &id]).expect_code(7);
    assert!(waited.stderr.contains("has questions for you"), "{waited}");
    sandbox.run(["answer", &id, "q1=500", "--detach"]).expect_code(0);
    let proposals = requests(&sandbox, &id);
    assert!(proposals[0]["text"].as_str().unwrap().contains("How many?"), "{:#}", proposals[0]);
}
