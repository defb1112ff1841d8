//! Eight workers race for every debate of a set: each is run once, and the provider's bill stays within the set's budget.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::lines;
use super::s3::S3Server;
use crate::budget::priced;
use crate::support::{MockServer, Reply, Running, Sandbox, short_reply};

const WORKERS: usize = 8;
const DEBATES: usize = 16;
/// What the provider charges for a request: 900 tokens at 1 dollar, and 900 at 10 dollars for a million.
const CHARGE: f64 = 0.0099;
/// Milliseconds between beats, until a worker stops, and until another takes over: for workers that are killed. They are
/// long enough that a busy machine seldom takes a living worker's debate, and where it does, nothing here is wrong.
const TIMES: &str = "1000,10000,12000";

fn sandbox(server: &MockServer, budget: Option<f64>) -> Sandbox {
    let problem = |number| json!({"id": format!("p{number}"), "problem": format!("Problem <{number}>")}).to_string();
    let problems: Vec<String> = (0..DEBATES).map(problem).collect();
    let mut set = json!({"problems": ["problems.jsonl"], "variants": [{"name": "single", "protocol": "single"}]});
    if let Some(budget) = budget {
        set["budget"] = json!(budget);
        set["maxCost"] = json!(0.15);
    }
    let mut config = priced(&["architect"], &json!({}));
    // Each debate of a set has its own.
    config["debate"].as_object_mut().expect("it is an object").remove("seed");
    let sandbox = Sandbox::new()
        .model_server(server)
        .config(&config)
        .file("problems.jsonl", problems.join("\n"))
        .file("sweep.json", set.to_string())
        .limit(std::time::Duration::from_mins(5));
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    sandbox
}

fn worker(sandbox: &Sandbox, store: &str, more: &[&str]) -> Running {
    sandbox.spawn([&["sweep", "run", "plan.jsonl", "--jobs", "2", "--store", store], more].concat())
}

fn status(sandbox: &Sandbox, store: &str) -> Value {
    let said = sandbox.run(["sweep", "status", "plan.jsonl", "--json", "--store", store]).expect_code(0);
    serde_json::from_str(&said.stdout).expect("it is JSON")
}

fn collected(sandbox: &Sandbox, store: &str) -> String {
    sandbox.run(["sweep", "collect", "plan.jsonl", "--store", store]).expect_code(0).stdout
}

/// The number of requests for each problem and task.
fn asked(server: &MockServer) -> BTreeMap<(String, String), usize> {
    let mut asked = BTreeMap::new();
    for request in server.requests() {
        let text = request.text();
        let problem =
            text.split("Problem <").nth(1).and_then(|rest| rest.split('>').next()).expect("it has its problem");
        *asked.entry((problem.to_owned(), request.task().to_owned())).or_default() += 1;
    }
    asked
}

/// Eight workers, none of which dies, take each debate once: no request is made twice.
fn race(sandbox: &Sandbox, server: &MockServer, store: &str) {
    let workers: Vec<Running> = (0..WORKERS).map(|_| worker(sandbox, store, &[])).collect();
    for running in workers {
        let ended = running.wait();
        // A worker does not wait for what a living one runs.
        assert!(matches!(ended.code, Some(0 | 75)), "{ended}");
    }
    sandbox.run(["sweep", "run", "plan.jsonl", "--store", store]).expect_code(0);
    let asked = asked(server);
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    let status = status(sandbox, store);
    assert_eq!((&status["finished"], &status["lost"]["calls"]), (&json!(DEBATES), &json!(0)), "{status}");

    // The same to the byte as by one worker.
    sandbox.run(["sweep", "run", "plan.jsonl", "--store", "alone"]).expect_code(0);
    let raced = collected(sandbox, store);
    assert_eq!(lines(&raced).len(), DEBATES);
    assert_eq!(raced, collected(sandbox, "alone"));
}

#[test]
fn every_debate_of_a_directory_is_run_once() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, None);
    race(&sandbox, &server, "raced");
}

#[test]
fn every_debate_of_a_bucket_is_run_once() {
    let Some(s3) = S3Server::start() else { return };
    let server = MockServer::with(short_reply);
    let sandbox = s3.serve(sandbox(&server, None));
    race(&sandbox, &server, "s3://sets/race");
}

/// Every seventh request is charged and answered with an error. Workers are killed on their way and come back, until the
/// budget has no room for a debate.
fn race_for_money(sandbox: &Sandbox, server: &MockServer, store: &str, budget: f64) {
    #[expect(clippy::cast_precision_loss, reason = "some hundred requests")]
    let billed = || server.requests().len() as f64 * CHARGE;
    // One that does not wait gives up a debate whose worker was alive a moment ago, and no request follows a kill.
    let options = ["--times", TIMES, "--wait", "120"];
    let mut workers: Vec<Running> = (0..WORKERS).map(|_| worker(sandbox, store, &options)).collect();
    for kill in 0..3 {
        // Calls that killed workers lost count as billed: the budget may have no room for another request.
        let is_asked = || server.requests().len() > 2 * kill;
        while !is_asked() && !workers.iter_mut().all(Running::has_ended) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if !is_asked() {
            break;
        }
        let killed = workers.remove(0);
        killed.signal(Signal::SIGKILL);
        drop(killed.wait());
        workers.push(worker(sandbox, store, &options));
        assert!(billed() <= budget);
    }
    for running in workers {
        let ended = running.wait();
        // Debates whose only request met an error have failed.
        assert!(matches!(ended.code, Some(3 | 8 | 75)), "{ended}");
    }
    // The last one takes over what the killed ones held.
    let last = worker(sandbox, store, &options).wait();
    assert!(matches!(last.code, Some(3 | 8)) && last.stderr.contains("beyond the budget"), "{last}");

    let asked = server.requests().len();
    assert!(billed() <= budget, "{} billed, {budget} allowed", billed());
    let status = status(sandbox, store);
    let money = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{status}"));
    let left = money(&status["budget"]["leftUsd"]);
    assert!(left < 0.15, "there was room for another debate: {status}");
    assert!(billed() <= budget - left + 1e-9, "what was billed was set aside: {status}");
    let finished = status["finished"].as_u64().unwrap();
    assert!(finished > 0 && finished < DEBATES as u64, "{status}");
    let rows = lines(&collected(sandbox, store));
    assert_eq!(rows.len() as u64, finished);
    assert_eq!(server.requests().len(), asked, "who reads pays nothing");
}

fn charging() -> MockServer {
    MockServer::with(|request| match request.index % 7 {
        6 => Reply::error(504, "too late").usage(900, 0, 900),
        _ => short_reply(request).usage(900, 0, 900),
    })
}

#[test]
fn eight_workers_stay_within_a_budget() {
    let server = charging();
    let sandbox = sandbox(&server, Some(0.33));
    race_for_money(&sandbox, &server, "raced", 0.33);
}

#[test]
fn eight_workers_stay_within_a_budget_in_a_bucket() {
    let Some(s3) = S3Server::start() else { return };
    let server = charging();
    let sandbox = s3.serve(sandbox(&server, Some(0.33)));
    race_for_money(&sandbox, &server, "s3://sets/money", 0.33);
}
