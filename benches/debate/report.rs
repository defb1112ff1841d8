//! How long a report takes.

use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Row;
use crate::measured::least;
use crate::reference::{JsonLoads, times};
use crate::support::{Sandbox, prose};

const RUNS: usize = 50;
/// Bytes of the state at least.
const SIZE: usize = 4_800_000;
const AGENTS: usize = 6;
const WORDS: usize = 600;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let state = state();
    let sandbox = Sandbox::new().file("state.json", &state);
    let loads = JsonLoads::of(&state).map(|loads| loads.wall);
    let row = |name: &str, arguments: &[&str]| {
        let times_taken = (0..RUNS).map(|_| run(&sandbox, arguments)).collect::<Result<Vec<f64>, String>>()?;
        let measure =
            format!("start: report as {name} of a state of {:.1} MB over `json.loads` of it", megabytes(state.len()));
        Ok::<_, String>(Row::new(measure, times(least(times_taken), loads), "<= 1.5"))
    };
    Ok(vec![
        row("Markdown", &["report", "-d", "state.json"])?,
        row("HTML", &["report", "-d", "state.json", "-o", "report.html"])?,
    ])
}

/// Seconds that the program took.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Result<f64, String> {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    // Read to the end, as whoever wants the report does.
    let output = command.output().map_err(|error| format!("the program cannot be started: {error}"))?;
    let took = started.elapsed().as_secs_f64();
    if output.status.success() { Ok(took) } else { Err(format!("`dialectic report` ended with {}", output.status)) }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// A saved debate of that size, indented as the program does.
fn state() -> String {
    let mut rounds = Vec::new();
    let mut size = 0;
    while size < SIZE {
        let round = round(rounds.len() + 1);
        size += pretty(&round).len();
        rounds.push(round);
    }
    pretty(&json!({
        "formatVersion": 1, "id": "deb-20250101-010203-ab12", "problem": prose(1, 200), "status": "completed",
        "currentRound": rounds.len(), "rounds": rounds, "createdAt": "2025-01-01T01:02:03.000Z",
        "updatedAt": "2025-01-01T01:12:03.000Z",
        "finalSolution": {"description": prose(2, WORDS), "tradeoffs": [], "recommendations": [], "confidence": 82},
    }))
}

fn round(number: usize) -> Value {
    let id = |agent: usize| format!("agent-{agent}");
    let mut seed = number as u64 * 1_000;
    let mut said = |agent: usize, kind: &str, target: Option<usize>| {
        seed += 1;
        let mut contribution = json!({
            "agentId": id(agent), "agentRole": "kiss", "type": kind, "content": prose(seed, WORDS),
            "metadata": {"tokensUsed": 1200, "latencyMs": 3400, "model": "gpt-4"},
        });
        if let Some(target) = target {
            contribution["targetAgentId"] = json!(id(target));
        }
        contribution
    };
    let agents = || 0..AGENTS;
    let mut contributions: Vec<Value> = agents().map(|agent| said(agent, "proposal", None)).collect();
    for critic in agents() {
        let others = agents().filter(|target| *target != critic);
        contributions.extend(others.map(|target| said(critic, "critique", Some(target))));
    }
    contributions.extend(agents().map(|agent| said(agent, "refinement", None)));
    json!({"roundNumber": number, "contributions": contributions, "timestamp": "2025-01-01T01:02:03.000Z"})
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
