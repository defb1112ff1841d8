//! The project's own figures: `cargo bench --bench debate -- [start|report|review|scheduling|prompts|engine|streams|consumers|live|memory|sweep|size]`.
//!
//! Runs the release binary against the mock model server of the tests and prints one Markdown table. The server
//! runs in this process, so that only the program is measured.

#![expect(clippy::disallowed_methods, reason = "figures of our own are printed here, and nothing that others wrote")]

use std::io::Write as _;
use std::process::ExitCode;

#[path = "../../tests/dialectic/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use all of it")]
mod support;

mod call_graph;
mod consumers;
mod engine;
mod live;
mod measured;
mod memory;
mod prefix;
mod prompts;
mod reference;
mod report;
mod review;
mod scheduling;
mod size;
mod start;
mod sweep;

/// One line of the table.
struct Row {
    measure: String,
    figure: String,
    to_reach: &'static str,
}

impl Row {
    fn new(measure: impl Into<String>, figure: impl Into<String>, to_reach: &'static str) -> Self {
        Self { measure: measure.into(), figure: figure.into(), to_reach }
    }
}

type Benchmark = fn() -> Result<Vec<Row>, String>;

const BENCHMARKS: [(&str, Benchmark); 12] = [
    ("start", start::rows),
    ("report", report::rows),
    ("review", review::rows),
    ("scheduling", scheduling::rows),
    ("prompts", prompts::rows),
    ("engine", engine::rows),
    ("streams", engine::streamed_rows),
    ("consumers", consumers::rows),
    ("live", live::rows),
    ("memory", memory::rows),
    ("sweep", sweep::rows),
    ("size", size::rows),
];

fn main() -> ExitCode {
    // Cargo adds options of its own.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let ended = match std::env::var(consumers::WATCHED_BY) {
        Ok(consumers) => consumers::be_watched_by(&consumers),
        Err(_) => run(&wanted),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // Nothing can be done when even this cannot be written.
            let _ = writeln!(std::io::stderr(), "error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(wanted: &[String]) -> Result<(), String> {
    if let Some(unknown) = wanted.iter().find(|name| BENCHMARKS.iter().all(|(known, _)| known != name)) {
        let known = BENCHMARKS.map(|(name, _)| name).join(", ");
        return Err(format!("there is no benchmark `{unknown}`, only {known}"));
    }
    let mut out = std::io::stdout();
    let mut line = |text: String| writeln!(out, "{text}").map_err(|error| format!("cannot write the table: {error}"));
    line("| measure | figure | to reach |\n| --- | --- | --- |".to_owned())?;
    for (name, rows) in BENCHMARKS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            for row in rows().map_err(|problem| format!("{name}: {problem}"))? {
                line(format!("| {} | {} | {} |", row.measure, row.figure, row.to_reach))?;
            }
        }
    }
    Ok(())
}
