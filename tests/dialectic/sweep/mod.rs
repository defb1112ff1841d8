//! `dialectic sweep`: sets of debates.

mod groups;
mod plan;
mod race;
mod results;
mod run;
mod s3;

use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{MockServer, Sandbox};

/// A set of two problems and two variants, twice each, on a server with prices.
fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new()
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 1, "check": 0})))
        .file("problems/queue.md", "Design a queue")
        .file("sums.jsonl", "{\"id\": \"sum\", \"problem\": \"What is 40 + 2?\", \"answer\": 42}\n")
        .file("sweep.json", described().to_string())
}

fn described() -> Value {
    json!({
        "problems": [{"files": "problems/*.md", "attach": ["notes.txt"]}, "sums.jsonl"],
        "variants": [{"name": "debate"}, {"name": "single", "protocol": "single", "agents": ["architect"], "maxCost": 0.5}],
        "repeats": 2,
        "maxCost": 1,
        "budget": 5,
    })
}

/// The lines of a file of JSON lines.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}
