//! What a debate costs as one of a set: of a thousand that an engine starts one by one, and of ten thousand in one process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Row;
use crate::measured::{MemoryWatch, config, marked_reply, median, processor_time};
use crate::support::{LogNormal, MockServer, Sandbox, prose};

const ARRAY: usize = 1_000;
/// The variable with the number of debates in one process, if it is not ten thousand.
const DEBATES: &str = "SWEEP_DEBATES";
/// How many of an array run at once.
const AT_ONCE: usize = 2;
const JOBS: usize = 8;
const SINGLE_RUNS: usize = 15;
const MEAN: Duration = Duration::from_millis(50);
const SIGMA: f64 = 0.5;
/// Words of a problem, and of an answer.
const PROBLEM: usize = 40;
const ANSWER: usize = 200;
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let in_process = std::env::var(DEBATES).ok().and_then(|number| number.parse().ok()).unwrap_or(10_000);
    let single = single()?;
    let array = array()?;
    let set = set(in_process)?;
    let times = |taken: &Taken| {
        format!("{:.2} ({:.1} ms, {:.1} ms)", taken.per_debate / single, taken.per_debate * 1e3, single * 1e3)
    };
    let memory = |taken: &Taken| format!("{:.1} MiB", taken.peak_mib);
    let rate = format!("{:.0} s; {:.1} MiB", set.wall.as_secs_f64(), set.stored_mib);
    let of_array = |what: &str| format!("sweep: {ARRAY} debates in an array, {what}");
    let of_set = |what: &str| format!("sweep: {in_process} debates by `--jobs {JOBS}` in one process, {what}");
    let ratio = "processor time of a debate over a single one's";
    Ok(vec![
        Row::new(of_array(ratio), times(&array), "<= 1.2"),
        Row::new(of_array("the most memory of a process"), memory(&array), "<= 64 MiB"),
        Row::new(of_set(ratio), times(&set), "<= 1.2"),
        Row::new(of_set("peak memory"), memory(&set), "<= 64 MiB"),
        Row::new(of_set("wall time, size of the store"), rate, ""),
    ])
}

/// What debates of a set took.
struct Taken {
    /// Seconds of processor time.
    per_debate: f64,
    peak_mib: f64,
    wall: Duration,
    stored_mib: f64,
}

fn server() -> MockServer {
    let (reply, latency) = (marked_reply(ANSWER), LogNormal::with_mean(MEAN, SIGMA, 1));
    MockServer::with(move |request| reply(request).after(latency.of(request)))
}

fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(2, 1)).limit(Duration::from_hours(2))
}

/// With the plan of a set.
fn planned(server: &MockServer, debates: usize) -> Result<Sandbox, String> {
    let problem =
        |number: usize| json!({"id": format!("p{number}"), "problem": prose(number as u64, PROBLEM)}).to_string();
    let problems: Vec<String> = (0..debates).map(problem).collect();
    let set = json!({"problems": ["problems.jsonl"], "variants": [{"name": "debate"}]});
    let sandbox = sandbox(server).file("problems.jsonl", problems.join("\n")).file("sweep.json", set.to_string());
    let planned = sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]);
    if planned.code == Some(0) { Ok(sandbox) } else { Err(format!("nothing was planned\n{planned}")) }
}

/// The processor time of a debate by itself, in seconds.
fn single() -> Result<f64, String> {
    let server = server();
    let sandbox = sandbox(&server);
    let run = |number: usize| {
        sandbox.write("problem.md", prose(number as u64, PROBLEM));
        let before = processor_time()?;
        let finished = sandbox.run(["debate", "-p", "problem.md", "-o", "solution.md", "--quiet"]);
        if finished.code != Some(0) {
            return Err(format!("the debate failed\n{finished}"));
        }
        Ok(processor_time()?.saturating_sub(before).as_secs_f64())
    };
    Ok(median((0..SINGLE_RUNS).map(run).collect::<Result<Vec<f64>, String>>()?))
}

#[expect(clippy::cast_precision_loss, reason = "debates are counted in thousands")]
fn array() -> Result<Taken, String> {
    let server = server();
    let sandbox = planned(&server, ARRAY)?;
    let (before, started) = (processor_time()?, Instant::now());
    let mut peak_mib: f64 = 0.0;
    for first in (0..ARRAY).step_by(AT_ONCE) {
        let start = |index: usize| {
            let running = sandbox.spawn(["sweep", "run", "plan.jsonl", "--quiet", "--index", &index.to_string()]);
            (MemoryWatch::start(running.id()), running)
        };
        let running: Vec<_> = (first..(first + AT_ONCE).min(ARRAY)).map(start).collect();
        for (watch, running) in running {
            let finished = running.wait();
            peak_mib = peak_mib.max(watch.peak_mib());
            if finished.code != Some(0) {
                return Err(format!("a debate of the array failed\n{finished}"));
            }
        }
        server.forget();
    }
    let (wall, processor) = (started.elapsed(), processor_time()?.saturating_sub(before));
    Ok(Taken { per_debate: processor.as_secs_f64() / ARRAY as f64, peak_mib, wall, stored_mib: 0.0 })
}

#[expect(clippy::cast_precision_loss, reason = "debates are counted in thousands, and sizes far below 2^53")]
fn set(debates: usize) -> Result<Taken, String> {
    let server = server();
    let sandbox = planned(&server, debates)?;
    let (before, started, is_over) = (processor_time()?, Instant::now(), AtomicBool::new(false));
    let (finished, peak_mib) = std::thread::scope(|scope| {
        // Requests are of no use here, and there are many.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                server.forget();
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let jobs = JOBS.to_string();
        let running = sandbox.spawn(["sweep", "run", "plan.jsonl", "--quiet", "--jobs", &jobs, "--store", "set"]);
        let watch = MemoryWatch::start(running.id());
        let finished = running.wait();
        is_over.store(true, Ordering::Relaxed);
        (finished, watch.peak_mib())
    });
    let (wall, processor) = (started.elapsed(), processor_time()?.saturating_sub(before));
    if finished.code != Some(0) {
        return Err(format!("the set failed\n{finished}"));
    }
    let stored =
        size(&sandbox.directory().join("set")).map_err(|error| format!("the store cannot be read: {error}"))?;
    let per_debate = processor.as_secs_f64() / debates as f64;
    Ok(Taken { per_debate, peak_mib, wall, stored_mib: stored as f64 / MIB })
}

/// The bytes in a directory.
fn size(directory: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
