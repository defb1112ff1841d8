//! How close a debate comes to the shortest time that its calls allow.

use std::time::Duration;

use serde_json::json;

use crate::Row;
use crate::call_graph::{Barrier, critical_path};
use crate::measured::{Measured, config, debate, marked_reply, median};
use crate::support::LogNormal;

const RUNS: u64 = 5;
const MEAN: Duration = Duration::from_millis(200);
const SIGMA: f64 = 0.5;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let runs: Vec<Measured> = (1..=RUNS).map(run).collect::<Result<_, _>>()?;
    let ratios = |barrier: Barrier| {
        let ratio = |run: &Measured| {
            let path = critical_path(&run.exchanges, barrier)?;
            Ok::<_, String>(run.wall.as_secs_f64() / path.as_secs_f64())
        };
        runs.iter().map(ratio).collect::<Result<Vec<f64>, _>>()
    };
    let by_rounds = ratios(Barrier::Rounds)?;
    let worst = by_rounds.iter().copied().fold(0.0, f64::max);
    let by_texts = median(ratios(Barrier::None)?);
    let middle = |figure: fn(&Measured) -> f64| median(runs.iter().map(figure).collect());
    let calls = runs[0].exchanges.len();
    Ok(vec![
        Row::new(
            format!("scheduling: wall time over critical path, median of {RUNS} debates ({calls} calls)"),
            format!("{:.3} (worst {worst:.3})", median(by_rounds)),
            "<= 1.03",
        ),
        Row::new("scheduling: the same, were rounds not to wait for each other", format!("{by_texts:.3}"), ""),
        Row::new("scheduling: wall time", format!("{:.2} s", middle(|run| run.wall.as_secs_f64())), ""),
        Row::new(
            "scheduling: processor time, peak memory",
            format!("{:.3} s, {:.1} MiB", middle(|run| run.processor.as_secs_f64()), middle(|run| run.peak_mib)),
            "",
        ),
    ])
}

fn run(seed: u64) -> Result<Measured, String> {
    let latency = LogNormal::with_mean(MEAN, SIGMA, seed);
    let reply = marked_reply(60);
    let mut config = config(3, 3);
    // Drafts have no marker, so what their checks depend on cannot be told.
    config["debate"]["check"] = json!(0);
    debate(Some(&config), "A queue must never lose a message.", move |request| {
        reply(request).after(latency.of(request))
    })
}
