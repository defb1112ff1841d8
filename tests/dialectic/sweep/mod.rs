//! `dialectic sweep`: sets of debates.

mod plan;
mod results;
mod run;
mod store;

use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{MockServer, Sandbox};

/// A set of two problems and two variants, twice each, on a server with prices.
pub(crate) fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new()
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 1, "check": 0})))
        .file("problems/queue.md", "Design a queue")
        .file("problems/checklists/queue.md", "- [ ] Is anything lost?\n")
        .file("notes.txt", "Of the queue")
        .file("sums.jsonl", "{\"id\": \"sum\", \"problem\": \"What is 40 + 2?\", \"answer\": 42}\n")
        .file("sweep.json", described().to_string())
}

fn described() -> Value {
    json!({
        "problems": [{"files": "problems/*.md", "attach": ["notes.txt"]}, "sums.jsonl"],
        "variants": [{"name": "debate"}, {"name": "single", "protocol": "single", "agents": ["architect"], "maxCost": 0.5}],
        "repeats": 2,
        "maxCost": 1,
        "budget": 6,
    })
}

/// The sandbox with the plan of that set.
fn planned(server: &MockServer) -> Sandbox {
    let sandbox = sandbox(server);
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    sandbox
}

fn status(sandbox: &Sandbox) -> Value {
    let said = sandbox.run(["sweep", "status", "plan.jsonl", "--json"]).expect_code(0);
    serde_json::from_str(&said.stdout).expect("it is JSON")
}

/// The lines of a file of JSON lines.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}
