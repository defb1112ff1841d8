//! How long nothing takes.

use std::process::Stdio;
use std::time::Instant;

use crate::Row;
use crate::measured::median;
use crate::support::Sandbox;

const RUNS: usize = 50;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let sandbox = Sandbox::new();
    let run = |_| {
        let mut command = sandbox.command(["--version"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().map_err(|error| format!("the program cannot be started: {error}"))?;
        let took = started.elapsed().as_secs_f64() * 1e3;
        if status.success() { Ok(took) } else { Err(format!("`dialectic --version` ended with {status}")) }
    };
    let times = (0..RUNS).map(run).collect::<Result<Vec<f64>, String>>()?;
    let measure = format!("start: `dialectic --version`, median of {RUNS}");
    Ok(vec![Row::new(measure, format!("{:.2} ms", median(times)), "<= 5 ms")])
}
