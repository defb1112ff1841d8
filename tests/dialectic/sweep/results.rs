//! `dialectic sweep status` and `collect`, and what workers have of a plan.

use std::fs;

use serde_json::{Value, json};

use super::{lines, planned, sandbox, status};
use crate::budget::priced;
use crate::support::{Incoming, MockServer, Reply, Sandbox, default_reply, short_reply};

/// Answers to one of the two problems.
fn half(request: &Incoming) -> Reply {
    let is_refused = request.prompt().contains("Design a queue");
    if is_refused { Reply::error(403, "no") } else { short_reply(request).usage(500, 0, 50) }
}

#[test]
fn results_come_in_the_plans_order_in_two_forms() {
    let server = MockServer::with(|request| {
        let is_sum = ["What is 40 + 2?", "Answer:"].iter().all(|asked| request.prompt().contains(asked));
        let reply = if is_sum { Reply::text("It is 42.\n\nAnswer: 42") } else { short_reply(request) };
        reply.usage(500, 0, 50)
    });
    let sandbox = planned(&server);
    let before = status(&sandbox);
    assert_eq!((&before["debates"], &before["waiting"], &before["finished"]), (&json!(8), &json!(8), &json!(0)));
    assert_eq!(before["costUsd"], 0.0);
    assert!(before["expectedUsd"].as_f64().unwrap() > 0.0, "{before}");
    assert!(!sandbox.directory().join("plan.store").exists(), "who reads makes no store");
    sandbox.run(["sweep", "collect", "plan.jsonl", "--complete"]).expect_code(75);

    let typo = sandbox.run(["sweep", "status", "plan.jsonl", "--store", "typo"]).expect_code(0);
    assert_eq!(typo.stderr, "warning: the store typo does not exist\n");
    // The second half first.
    sandbox.run(["sweep", "run", "plan.jsonl", "--shard", "2/2"]).expect_code(0);
    let half = sandbox.run(["sweep", "collect", "plan.jsonl"]).expect_code(0);
    assert!(half.stderr.contains("4 of 8 debates not finished"), "{half}");
    assert_eq!(lines(&half.stdout).len(), 4);
    assert_eq!(status(&sandbox)["finished"], 4);
    sandbox.run(["sweep", "run", "plan.jsonl", "--jobs", "3"]).expect_code(0);
    let asked = server.requests().len();

    let after = status(&sandbox);
    assert_eq!((&after["finished"], &after["waiting"], &after["failed"]), (&json!(8), &json!(0), &json!(0)), "{after}");
    assert_eq!(after["variants"]["single"]["finished"], 4);
    assert_eq!(after["costUsd"], after["expectedUsd"]);
    assert_eq!(after["lost"]["calls"], 0);
    let money = |value: &Value| value.as_f64().unwrap();

    let collected = sandbox.run(["sweep", "collect", "plan.jsonl", "--complete"]).expect_code(0).stdout;
    let rows = lines(&collected);
    let planned = lines(&sandbox.read("plan.jsonl"));
    let ids = |rows: &[Value]| rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&rows), ids(&planned[1..]));
    let cost: f64 = rows.iter().map(|row| money(&row["costUsd"])).sum();
    assert!((cost - money(&after["costUsd"])).abs() < 1e-9, "{cost}: {after}");
    assert!(rows[0]["correct"].is_null() && rows[0]["outcome"] == "full", "{}", rows[0]);
    assert_eq!((&rows[6]["correct"], &rows[6]["protocol"]), (&json!(true), &json!("single")), "{}", rows[6]);
    for never in ["Usd\":null", "\"createdAt", "\"latency", "\"attempts", "\"worker", "\"lost"] {
        assert!(!collected.contains(never), "{never}");
    }

    let written = sandbox.run(["sweep", "collect", "plan.jsonl", "-o", "results.csv"]).expect_code(0);
    assert_eq!(written.stderr, "Wrote the result to results.csv\n");
    let table = sandbox.read("results.csv");
    assert!(table.starts_with("id,problem,variant,repeat,protocol,outcome,"), "{table}");
    assert_eq!(table.lines().count(), 9);
    assert_eq!(server.requests().len(), asked, "readers call nothing");

    // Everything is finished: nothing is called again, and the results are the same.
    sandbox.run(["sweep", "run", "plan.jsonl", "--index", "3"]).expect_code(0);
    sandbox.run(["sweep", "run", "plan.jsonl", "--jobs", "8"]).expect_code(0);
    assert_eq!(server.requests().len(), asked);
    assert_eq!(sandbox.run(["sweep", "collect", "plan.jsonl"]).expect_code(0).stdout, collected);
    server.assert_clean();
    sandbox.assert_no_file_has_the_key();
}

#[test]
fn a_store_has_one_set() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server);
    sandbox.run(["sweep", "run", "plan.jsonl", "--index", "0", "--store", "set"]).expect_code(0);
    sandbox.write("problems/queue.md", "Design a stack");
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "other.jsonl"]).expect_code(0);
    for command in [&["run", "--index", "0"][..], &["status"], &["collect"]] {
        let refused = sandbox.run(["sweep", command[0], "other.jsonl", "--store", "set"].iter().chain(&command[1..]));
        let refused = refused.expect_code(2);
        assert!(refused.stderr.contains("belongs to another plan"), "{refused}");
    }
}

/// Prompts of the user's travel with the plan, and what lies about in a worker's directory does not count.
#[test]
fn a_worker_needs_the_plan_alone_and_its_own_keys() {
    let server = MockServer::with(default_reply);
    let mut config = priced(&["architect", "kiss"], &json!({"rounds": 1, "check": 0}));
    config["agents"][0]["systemPromptPath"] = "mine/system.md".into();
    config["agents"][1]["role"] = "operations".into();
    let role = include_str!("../../../crates/record/prompts/roles/operations.md")
        .replace("You run what the others design", "You keep the pagers");
    let planner = sandbox(&server)
        .file("mine/system.md", "You weigh everything twice.")
        .file("prompts/roles/operations.md", &role)
        .config(&config);
    let plan = planner.run(["sweep", "plan", "sweep.json"]).expect_code(0).stdout;
    let worker = Sandbox::new()
        .model_server(&server)
        .file("plan.jsonl", plan)
        .file("prompts/roles/operations.md", role.replace("You keep the pagers", "You are a stranger"));
    worker.run(["sweep", "run", "plan.jsonl", "--index", "0"]).expect_code(0);
    let asked = server.requests();
    let says = |text: &str| asked.iter().any(|request| format!("{:?}", request.body).contains(text));
    assert!(says("You weigh everything twice.") && says("You keep the pagers") && says("Of the queue"));
    assert!(!says("You are a stranger"));
    assert_eq!(fs::read_dir(worker.directory().join("plan.store/debates")).unwrap().count(), 1);
    assert!(worker.debates().is_empty(), "a set has a store of its own");
}

/// The debates of a set are read like all others, also the ones without an answer.
#[test]
fn records_of_debates_that_have_ended_are_written_to_be_read() {
    let server = MockServer::with(half);
    let sandbox = planned(&server);
    let records = || sandbox.run(["sweep", "collect", "plan.jsonl", "--records", "debates"]).expect_code(0);
    let none = records();
    assert!(none.stdout.is_empty() && none.stderr.contains("8 of 8 debates not ended"), "{none}");
    let planned = lines(&sandbox.read("plan.jsonl"));
    let id = |index: usize| planned[1 + index]["id"].as_str().unwrap();
    for (index, code) in [("0", 3), ("7", 0)] {
        sandbox.run(["sweep", "run", "plan.jsonl", "--index", index]).expect_code(code);
    }
    let told = sandbox.run(["sweep", "status", "plan.jsonl"]).expect_code(0).stdout;
    assert!(told.contains("8 debates: 1 finished, 1 failed") && told.contains("VARIANT"), "{told}");
    let collected = lines(&sandbox.run(["sweep", "collect", "plan.jsonl"]).expect_code(0).stdout);
    assert!(collected.len() == 1 && collected[0]["problem"] == "sum", "{collected:?}");
    let written = records();
    assert_eq!(written.stdout, format!("debates/{}.json\ndebates/{}.json\n", id(0), id(7)));
    assert!(written.stderr.contains("6 of 8 debates not ended"), "{written}");
    let shown = sandbox.run(["show", id(7)]).expect_code(0).stdout;
    assert!(shown.contains("What is 40 + 2?"), "{shown}");
    sandbox.run(["verify", id(7)]).expect_code(0);
    let ended = || {
        let report = sandbox.run(["report", id(0), "--format", "json"]).expect_code(0).stdout;
        serde_json::from_str::<Value>(&report).unwrap()["status"].clone()
    };
    assert_eq!(ended(), "failed");

    // What a user added stays, and what the store has more of is replaced.
    let journal = format!("debates/{}.events.jsonl", id(7));
    sandbox.run(["ask", id(7), "Why?"]).expect_code(0);
    let asked = sandbox.read(&journal);
    server.set_script(|request| short_reply(request).usage(500, 0, 50));
    sandbox.run(["sweep", "run", "plan.jsonl", "--index", "0", "--retry-failed"]).expect_code(0);
    assert_eq!(records().stdout, written.stdout);
    assert_eq!(sandbox.read(&journal), asked);
    assert_eq!(ended(), "completed");
    sandbox.run(["verify", id(0)]).expect_code(0);
    let newest = sandbox.run(["show", "latest"]).expect_code(0).stdout;
    assert!(newest.contains("What is 40 + 2?"), "{newest}");
}

/// What is not a journal of the debate never becomes a record.
#[test]
fn a_debate_that_was_changed_in_the_store_is_refused() {
    let server = MockServer::with(|request| short_reply(request).usage(500, 0, 50));
    let sandbox = planned(&server);
    for index in ["6", "7"] {
        sandbox.run(["sweep", "run", "plan.jsonl", "--index", index]).expect_code(0);
    }
    let planned = lines(&sandbox.read("plan.jsonl"));
    let [object, other] =
        [7, 8].map(|line: usize| format!("plan.store/debates/{}/journal", planned[line]["id"].as_str().unwrap()));
    let id = planned[7]["id"].as_str().unwrap();
    let damaged = format!("the debate {id} in the store plan.store is damaged");
    let refused = |command: &[&str]| {
        let refused = sandbox.run(["sweep"].iter().chain(command)).expect_code(2);
        assert!(refused.stderr.contains(&damaged), "{refused}");
    };
    sandbox.write(&object, sandbox.read(&object).replacen("40 + 2", "40 + 3", 1));
    refused(&["collect", "plan.jsonl", "--records", "debates"]);
    assert!(!sandbox.directory().join(format!("debates/{id}.events.jsonl")).exists());
    // The whole journal of another debate.
    sandbox.write(&object, sandbox.read(&other));
    for command in
        [&["collect", "plan.jsonl"][..], &["collect", "plan.jsonl", "--records", "debates"], &["status", "plan.jsonl"]]
    {
        refused(command);
    }
}
