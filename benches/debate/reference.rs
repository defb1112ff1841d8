//! What figures are ratios to: how long Python's `json.loads` takes for the same state, in the same run. Machines, and
//! the same machine from day to day, differ by a factor of two; a ratio does not.

use std::process::{Command, Stdio};

use crate::support::Sandbox;

/// Wall and processor time of `json.loads`, in seconds, the least of many: what else runs on the machine can only
/// make it longer. The text is read and decoded before.
const SCRIPT: &str = "
import json, sys, time
text = open(sys.argv[1], encoding='utf-8').read()
wall, processor = [], []
for _ in range(30):
    begun = time.perf_counter(), time.process_time()
    json.loads(text)
    wall.append(time.perf_counter() - begun[0])
    processor.append(time.process_time() - begun[1])
print(min(wall), min(processor))
";

/// How long `json.loads` takes for a text, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct JsonLoads {
    pub(crate) wall: f64,
    pub(crate) processor: f64,
}

impl JsonLoads {
    /// Measures it; nothing where there is no Python.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let sandbox = Sandbox::new().file("state.json", text);
        let path = sandbox.directory().join("state.json");
        let output = Command::new("python3").args(["-c", SCRIPT]).arg(path).stderr(Stdio::null()).output().ok()?;
        let printed = String::from_utf8(output.stdout).ok()?;
        let mut figures = printed.split_whitespace().map(str::parse);
        Some(Self { wall: figures.next()?.ok()?, processor: figures.next()?.ok()? })
    }
}

/// A time as so many times that of `json.loads`, both in seconds.
pub(crate) fn times(taken: f64, loads: Option<f64>) -> String {
    match loads {
        Some(loads) => format!("{:.1} ({:.1} ms to {:.1} ms)", taken / loads, taken * 1e3, loads * 1e3),
        None => format!("no python3 to compare with ({:.1} ms)", taken * 1e3),
    }
}
