//! A run of the program with what it took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};

use crate::call_graph::marker;
use crate::support::{Exchange, Incoming, MockServer, Purpose, Reply, Sandbox, default_reply, prose};

/// The points of a critique.
const POINTS: usize = 5;

/// What a debate took.
pub(crate) struct Measured {
    /// From the start of the process to its end.
    pub(crate) wall: Duration,
    /// User and system time of the process.
    pub(crate) processor: Duration,
    /// The most memory it had at a time, in MiB.
    pub(crate) peak_mib: f64,
    /// The calls it made.
    pub(crate) exchanges: Vec<Exchange>,
    /// What is saved of it.
    pub(crate) state: String,
}

/// Runs `dialectic debate` on a problem, with the configuration if there is one.
pub(crate) fn debate(
    config: Option<&Value>,
    problem: &str,
    script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static,
) -> Result<Measured, String> {
    let server = MockServer::with(script);
    let mut sandbox = Sandbox::new().model_server(&server).limit(Duration::from_mins(5)).file("problem.md", problem);
    if let Some(config) = config {
        sandbox = sandbox.config(config);
    }
    let before = processor_time()?;
    let started = Instant::now();
    let running = sandbox.spawn(["debate", "-p", "problem.md", "-o", "solution.md"]);
    let watch = MemoryWatch::start(running.id());
    let finished = running.wait();
    let wall = started.elapsed();
    let processor = processor_time()?.saturating_sub(before);
    let peak_mib = watch.peak_mib();
    let exchanges = server.exchanges();
    if finished.code != Some(0) {
        return Err(format!("the debate failed\n{finished}"));
    }
    if exchanges.is_empty() {
        return Err(format!("the program called no model\n{finished}"));
    }
    if let Some(violation) = server.violations().first() {
        return Err(format!("a request that a real server would refuse: {violation}"));
    }
    let state = sandbox.read(format!("debates/{}.json", sandbox.only_debate()));
    Ok(Measured { wall, processor, peak_mib, exchanges, state })
}

/// A script whose replies can be recognised in later prompts; `words` long where text is asked for. Critics raise points,
/// and authors accept all of them.
pub(crate) fn marked_reply(words: usize) -> impl Fn(&Incoming) -> Reply + Send + Sync + 'static {
    // Made once: the server shares the machine with what is measured.
    let (text, point) = (prose(1, words), prose(2, words / POINTS));
    move |request| {
        let marker = marker(request.index);
        match request.purpose {
            // Critics and checkers are asked again if an answer has no points.
            Purpose::Text if request.task() == "check" => default_reply(request),
            Purpose::Propose | Purpose::Summarize | Purpose::Text => Reply::text(format!("{marker} {text}")),
            Purpose::Critique => {
                let points = (1..=POINTS).map(|number| format!("{number}. [major] Delivery: {marker} {point}"));
                Reply::text(points.collect::<Vec<_>>().join("\n"))
            }
            Purpose::Refine => {
                let answers =
                    listed(request.prompt()).map(|point| format!("- {point} accepted (Delivery): it is stored."));
                let answers = answers.collect::<Vec<_>>().join("\n");
                Reply::text(format!("{marker} {text}\n\n## Response to critiques\n\n{answers}"))
            }
            _ => default_reply(request),
        }
    }
}

/// The numbers of the points that a prompt lists: `2.7 [major] ...`.
fn listed(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.lines().filter_map(|line| {
        let (number, _) = line.split_once(" [")?;
        let (text, point) = number.split_once('.')?;
        [text, point].iter().all(|part| part.parse::<u32>().is_ok()).then_some(number)
    })
}

/// A configuration with that many agents and rounds. Each agent has a model of its own, so that calls can be told apart.
pub(crate) fn config(agents: usize, rounds: usize) -> Value {
    let roles = ["architect", "performance", "security", "testing", "kiss", "datamodeling", "generalist"];
    let agents: Vec<Value> = (0..agents)
        .map(|agent| {
            let (id, role) = (format!("agent-{agent}"), roles[agent % roles.len()]);
            json!({
                "id": id, "name": id, "role": role, "model": format!("model-{agent}"), "provider": "openai",
                "temperature": 0.5,
            })
        })
        .collect();
    let judge = json!({
        "id": "judge-main", "name": "Judge", "role": "generalist", "model": "model-judge", "provider": "openai",
        "temperature": 0.3,
    });
    let fixed = json!({"type": "fixed"});
    json!({"agents": agents, "judge": judge, "debate": {"rounds": rounds, "terminationCondition": fixed}})
}

/// The least value. What else runs on the machine can only make a short run longer.
pub(crate) fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// The middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn processor_time() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("no figures from the system: {error}"))?;
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

/// Reads the kernel's high-water mark of a process until that ends. `getrusage` has one too, but it counts what the
/// parent held when the child was started, and this process holds every prompt.
pub(crate) struct MemoryWatch {
    peak_kib: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl MemoryWatch {
    pub(crate) fn start(id: u32) -> Self {
        let watch = Self { peak_kib: Arc::default(), ended: Arc::default() };
        let (peak, ended) = (Arc::clone(&watch.peak_kib), Arc::clone(&watch.ended));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed)
                && let Ok(status) = std::fs::read_to_string(format!("/proc/{id}/status"))
            {
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
                peak.fetch_max(kib.unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        watch
    }

    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 KiB")]
    pub(crate) fn peak_mib(&self) -> f64 {
        self.ended.store(true, Ordering::Relaxed);
        self.peak_kib.load(Ordering::Relaxed) as f64 / 1024.0
    }
}
