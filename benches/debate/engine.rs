//! What a debate costs beyond waiting for models.

use crate::Row;
use crate::measured::{Measured, config, debate, marked_reply, median};

const RUNS: usize = 3;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let long = runs(6)?;
    let short = runs(2)?;
    let (long_call, short_call) = (per_call(&long), per_call(&short));
    let processor = median(long.iter().map(|run| run.processor.as_secs_f64()).collect());
    let wall = median(long.iter().map(|run| run.wall.as_secs_f64()).collect());
    let peak = long.iter().map(|run| run.peak_mib).fold(0.0, f64::max);
    Ok(vec![
        Row::new("engine: calls of 12 agents in 6 rounds", long[0].exchanges.len().to_string(), "938"),
        Row::new(format!("engine: processor time, median of {RUNS}"), format!("{processor:.3} s"), "<= 1.0 s"),
        Row::new("engine: peak memory", format!("{peak:.1} MiB"), "<= 48 MiB"),
        Row::new("engine: wall time", format!("{wall:.2} s"), ""),
        Row::new(
            "engine: a call in 6 rounds over one in 2 rounds",
            format!("{:.2} ({:.0} µs, {:.0} µs)", long_call / short_call, long_call * 1e6, short_call * 1e6),
            "<= 1.3",
        ),
    ])
}

fn runs(rounds: usize) -> Result<Vec<Measured>, String> {
    let run = |_| debate(Some(&config(12, rounds)), "A queue must never lose a message.", marked_reply(600));
    (0..RUNS).map(run).collect()
}

/// Processor seconds for one call.
#[expect(clippy::cast_precision_loss, reason = "calls are counted in hundreds")]
fn per_call(runs: &[Measured]) -> f64 {
    median(runs.iter().map(|run| run.processor.as_secs_f64() / run.exchanges.len() as f64).collect())
}
