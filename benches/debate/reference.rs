//! What figures are ratios to: how long Python's `json.loads` takes for the same state, in the same run. Machines, and
//! the same machine from day to day, differ by a factor of two; a ratio does not.

use std::process::{Command, Stdio};

use crate::measured::least;
use crate::support::Sandbox;

/// Wall and processor time of the first `json.loads` of a process and of the quickest of thirty, in seconds. The text is
/// read and decoded before.
const SCRIPT: &str = "
import json, sys, time
text = open(sys.argv[1], encoding='utf-8').read()
wall, processor = [], []
for _ in range(30):
    begun = time.perf_counter(), time.process_time()
    json.loads(text)
    wall.append(time.perf_counter() - begun[0])
    processor.append(time.process_time() - begun[1])
print(wall[0], processor[0], min(wall), min(processor))
";

/// Processes that are measured. Of each figure the least counts: what else runs on the machine can only make it longer.
const PROCESSES: usize = 10;

/// How long `json.loads` takes for a text, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct JsonLoads {
    /// From its call to its end.
    pub(crate) wall: Time,
    /// Of the processor.
    pub(crate) processor: Time,
}

/// The first time, which asks the system for the memory as whatever has just been started has to; and with memory that
/// is there already.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    first: f64,
    again: f64,
}

impl JsonLoads {
    /// Measures it; nothing where there is no Python.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let sandbox = Sandbox::new().file("state.json", text);
        let path = sandbox.directory().join("state.json");
        let process = || {
            let output = Command::new("python3").args(["-c", SCRIPT]).arg(&path).stderr(Stdio::null()).output().ok()?;
            let printed = String::from_utf8(output.stdout).ok()?;
            let figures: Vec<f64> = printed.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
            <[f64; 4]>::try_from(figures).ok()
        };
        let runs = (0..PROCESSES).map(|_| process()).collect::<Option<Vec<_>>>()?;
        let figure = |at: usize| least(runs.iter().map(|run| run[at]).collect());
        let time = |first, again| Time { first: figure(first), again: figure(again) };
        Some(Self { wall: time(0, 2), processor: time(1, 3) })
    }
}

/// A time as so many times that of `json.loads`, all in seconds.
pub(crate) fn times(taken: f64, loads: Option<Time>) -> String {
    match loads {
        Some(Time { first, again }) => {
            let of = |time: f64| format!("{:.1} ms", time * 1e3);
            let (by_first, by_again) = (taken / first, taken / again);
            format!("{by_first:.1} ({} to {}); {by_again:.1} to {}", of(taken), of(first), of(again))
        }
        None => format!("no python3 to compare with ({:.1} ms)", taken * 1e3),
    }
}
