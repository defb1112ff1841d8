//! What watchers cost a debate: none, one, and fifty, ten of which never read.
//!
//! Watchers subscribe in the process of the debate. So this program starts itself again as a program of its own that
//! runs one through the library.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Row;
use crate::measured::{MemoryWatch, median};
use crate::support::{Incoming, MockServer, Reply, Sandbox, default_reply};
use dialectic_config::process_environment;
use dialectic_engine::runner::{Runner, Services, new_debate};
use dialectic_record::event::Created;
use dialectic_record::live::{Subscription, Words};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::{TerminationKind, default_settings};
use dialectic_record::store::Directory;

/// How many watch, in the environment of the program that is started.
pub(crate) const WATCHED_BY: &str = "DIALECTIC_BENCH_WATCHED_BY";

const RUNS: usize = 3;
const MANY: usize = 50;
/// Of the many.
const ASLEEP: usize = 10;
const LATENCY: Duration = Duration::from_millis(100);

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let runs = |consumers| (0..RUNS).map(|_| run(consumers)).collect::<Result<Vec<Watched>, String>>();
    let (nobody, one, many) = (runs(0)?, runs(1)?, runs(MANY)?);
    let all = || nobody.iter().chain(&one).chain(&many);
    let same = |is_same: fn(&Watched, &Watched) -> bool| {
        if all().all(|run| is_same(run, &nobody[0])) { "the same" } else { "not the same" }
    };
    let wall = |runs: &[Watched]| median(runs.iter().map(|run| run.wall).collect());
    let ratio = |runs: &[Watched]| wall(runs) / wall(&nobody);
    let peak = many.iter().map(|run| run.peak_mib).fold(0.0, f64::max);
    Ok(vec![
        Row::new("consumers: calls with 0, 1 and 50 of them", same(|a, b| a.asked == b.asked), "the same"),
        Row::new("consumers: state with 0, 1 and 50 of them", same(|a, b| a.state == b.state), "the same"),
        Row::new(
            "consumers: wall time with 1 and with 50 over that with none",
            format!("{:.3}, {:.3}", ratio(&one), ratio(&many)),
            "1",
        ),
        Row::new("consumers: peak memory with 50, 10 of which never read", format!("{peak:.1} MiB"), "<= 64 MiB"),
    ])
}

/// A debate that was watched.
struct Watched {
    wall: f64,
    peak_mib: f64,
    /// What was asked, sorted.
    asked: Vec<String>,
    /// What was said.
    state: Value,
}

fn run(consumers: usize) -> Result<Watched, String> {
    let server = MockServer::with(|request: &Incoming| -> Reply {
        // The same request is answered in the same way and after the same time, whoever watches.
        default_reply(request).after(LATENCY).word_by_word()
    });
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let sandbox = Sandbox::new().program(program).model_server(&server).env(WATCHED_BY, &consumers.to_string());
    let started = Instant::now();
    let running = sandbox.spawn::<&str>([]);
    let watch = MemoryWatch::start(running.id());
    let finished = running.wait();
    let wall = started.elapsed().as_secs_f64();
    if finished.code != Some(0) {
        return Err(format!("the debate failed\n{finished}"));
    }
    let mut asked: Vec<String> = server.requests().iter().map(|request| request.text()).collect();
    asked.sort();
    let state = said(&sandbox.state(&sandbox.only_debate()));
    Ok(Watched { wall, peak_mib: watch.peak_mib(), asked, state })
}

/// Everything of a state that does not say when or how fast.
fn said(state: &Value) -> Value {
    let contributions = state["rounds"].as_array().into_iter().flatten().flat_map(|round| {
        let contributions = round["contributions"].as_array().into_iter().flatten();
        contributions.map(|one| ["type", "agentId", "targetAgentId", "content"].map(|key| one[key].clone()))
    });
    let mut contributions: Vec<String> = contributions.map(|one| Value::from(one.to_vec()).to_string()).collect();
    contributions.sort();
    json!({"status": state["status"], "said": contributions, "solution": state["finalSolution"]})
}

/// Runs a debate here, in front of that many.
pub(crate) fn be_watched_by(consumers: &str) -> Result<(), String> {
    let consumers: usize = consumers.parse().map_err(|error| format!("{consumers} watchers: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let runner = Runner::new(Directory::at("debates"), Services::new(process_environment()));
        let mut settings = default_settings();
        settings.debate.rounds = 3;
        settings.debate.termination_condition.kind = TerminationKind::Fixed;
        let created = Created { seed: 1, ..new_debate("A queue must never lose a message.", &DIALECTIC, settings) };
        let run = runner.start(created).map_err(|error| error.to_string())?;
        let subscribe = || run.subscribe(Words::Wanted).1;
        let asleep: Vec<Subscription> = (0..if consumers == MANY { ASLEEP } else { 0 }).map(|_| subscribe()).collect();
        let readers: Vec<_> = (asleep.len()..consumers).map(|_| tokio::spawn(read(subscribe()))).collect();
        run.wait().await.map_err(|error| error.to_string())?;
        for reader in readers {
            reader.await.map_err(|error| error.to_string())?;
        }
        drop(asleep);
        Ok(())
    })
}

async fn read(mut subscription: Subscription) {
    while subscription.next().await.is_some() {}
}
