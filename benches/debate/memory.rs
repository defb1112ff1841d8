//! How long it takes to look up past debates.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Row;
use crate::measured::least;
use crate::support::{Sandbox, prose};

const DEBATES: u64 = 10_000;
const SEARCHES: usize = 20;
/// Words of a problem, and of an answer.
const PROBLEM: usize = 40;
const ANSWER: usize = 600;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let sandbox = Sandbox::new();
    run(&sandbox, &["debate", "--offline", "-o", "solution.md", "Design a queue"])?;
    let id = sandbox.only_debate();
    let state = sandbox.read(format!("debates/{id}.json"));
    let mut debate: Value = serde_json::from_str(&state).map_err(|error| format!("the state is no JSON: {error}"))?;
    // Otherwise it would be known as the rehearsal that it is.
    debate["settings"]["judge"]["provider"] = json!("openai");
    for number in 0..DEBATES {
        let id = format!("deb-20260101-000000-{number}");
        debate["id"] = json!(id);
        debate["problem"] = json!(prose(number, PROBLEM));
        debate["finalSolution"]["description"] = json!(prose(DEBATES + number, ANSWER));
        let path = sandbox.directory().join(format!("debates/{id}.json"));
        fs::write(&path, debate.to_string()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let rebuilt = run(&sandbox, &["memory", "rebuild"])?;
    let subject = prose(DEBATES / 2, PROBLEM);
    let words = subject.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let search = |query: &str| {
        let times = (0..SEARCHES).map(|_| run(&sandbox, &["memory", "search", query])).collect::<Result<Vec<f64>, _>>();
        times.map(|times| format!("{:.0} ms", least(times) * 1000.0))
    };
    let measure = |what: &str| format!("memory of {DEBATES} debates of {} kB: {what}", state.len() / 1000);
    Ok(vec![
        Row::new(measure("rebuilt"), format!("{rebuilt:.1} s"), "<= 60 s"),
        Row::new(measure("searched for three words"), search(&words)?, "<= 50 ms"),
        Row::new(measure("searched for a problem"), search(&subject)?, "<= 50 ms"),
    ])
}

/// Seconds that the program took.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Result<f64, String> {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().map_err(|error| format!("the program cannot be started: {error}"))?;
    let took = started.elapsed().as_secs_f64();
    if status.success() { Ok(took) } else { Err(format!("`dialectic {}` ended with {status}", arguments.join(" "))) }
}
