//! `dialectic sweep run`: runs debates of a plan.

use std::fmt;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use console::Term;
use futures_util::stream::{Stream, StreamExt};

use crate::cli::interrupt::{Interrupts, end_on_interrupt, exit_now};
use crate::cli::session::config_files;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, INTERRUPTED, UserError};
use crate::sweep::plan::{Machine, PlannedDebate, SavedPlan};
use crate::sweep::store;
use crate::sweep::worker::{Ended, Stop, Worker, WorkerTally};
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_config::{Loaded, Overrides, capture_environment};
use dialectic_engine::access::Environment;
use dialectic_record::ids::DebateId;

use super::{PlanArgs, store_of};

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepRunArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Run only the debate at this index, counting from 0
    #[arg(help_heading = "Which debates", long, value_name = "N", conflicts_with = "shard")]
    index: Option<usize>,

    /// Run every n-th debate, beginning with the i-th: `2/8` is the second of eight parts
    #[arg(help_heading = "Which debates", long, value_name = "i/n")]
    shard: Option<Shard>,

    /// Also resume debates that have failed; their finished calls are not repeated
    #[arg(help_heading = "Which debates", long)]
    retry_failed: bool,

    /// Run this many debates in parallel in this process
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    jobs: u16,

    /// The configuration with this machine's providers [default: ./debate-config.json]
    #[arg(help_heading = "This machine", short, long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(help_heading = "This machine", short, long, value_name = "PATH")]
    env_file: Option<PathBuf>,

    /// Print only warnings
    #[arg(long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Shard {
    /// The number of this part, counting from 1.
    part: NonZeroUsize,
    of: NonZeroUsize,
}

impl Shard {
    pub(in crate::cli) fn has(self, index: usize) -> bool {
        index % self.of == self.part.get() - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let shard = parsed.map(|(part, of)| Self { part, of }).filter(|shard| shard.part <= shard.of);
        shard.ok_or_else(|| "expected a part and the number of parts, such as 1/8 for the first of eight".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// How long calls in flight may take after a worker is told to stop. Kubernetes and Slurm send SIGKILL 30 seconds after
/// SIGTERM by default.
const TO_ANSWER: Duration = Duration::from_secs(25);

pub(super) fn run(args: &SweepRunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let saved = SavedPlan::read(&args.plan.plan)?;
    let debates = chosen(args, &saved)?;
    let environment = capture_environment(args.env_file.as_deref())?;
    let own = tempfile::Builder::new().prefix("dialectic-sweep-").tempdir().map_err(|source| {
        UserError::of(ErrorCategory::General, "cannot create a temporary directory")
            .with_hint("set TMPDIR to another directory")
            .with_source(source)
    })?;
    let prompts = own.path().join("prompts");
    saved.plan.unpack(&prompts)?;
    let machine = machine(args, environment.clone(), &prompts, terminal)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let tally = runtime.block_on(async {
        let stop = Stop::default();
        tokio::spawn(obey(Interrupts::listen(), stop.clone()));
        let store = store::open(&store_of(&args.plan.plan, args.plan.store.as_deref()), &environment).await?;
        let worker = Worker::begin(&saved, store, machine, own.path(), stop).await?;
        worker.check(&debates).await?;
        let all = debates.len();
        let ends = worker.run(debates, args.jobs.into(), args.retry_failed);
        Ok::<_, Error>(shown(ends, all, args.quiet, terminal).await)
    });
    runtime.shutdown_background();
    end_on_interrupt(None);
    let tally = tally?;
    if tally.is_complete() {
        return Ok(());
    }
    let (code, hint) = (tally.exit_code(), Some(tally.hint().to_owned()));
    Err(Error::Coded { code, said: format!("the set is not finished: {tally}"), hint })
}

fn chosen(args: &SweepRunArgs, saved: &SavedPlan) -> Result<Vec<PlannedDebate>, UserError> {
    let debates = &saved.plan.debates;
    if let Some(index) = args.index {
        let last = debates.len().saturating_sub(1);
        let debate = debates
            .get(index)
            .ok_or_else(|| UserError::input(format!("no debate {index} in this plan (0 to {last})")))?;
        return Ok(vec![debate.clone()]);
    }
    let is_chosen = |debate: &&PlannedDebate| args.shard.is_none_or(|shard| shard.has(debate.index));
    Ok(debates.iter().filter(is_chosen).cloned().collect())
}

/// The providers, keys and prompts with which this machine runs a plan.
fn machine(
    args: &SweepRunArgs,
    environment: Environment,
    prompts: &Path,
    terminal: &mut Terminal,
) -> Result<Machine, Error> {
    let files = config_files(args.config.as_ref(), &environment);
    let Loaded { settings, warnings, .. } = files.load(&Overrides::default())?;
    terminal.warnings(&warnings);
    let prompts = prompts.to_owned();
    Ok(Machine { providers: settings.providers, environment, prompts })
}

/// The first interrupt lets calls in flight finish within a time limit, the second abandons them, and the third ends
/// the worker immediately.
async fn obey(mut interrupts: Interrupts, stop: Stop) {
    interrupts.next().await;
    stop.begun.cancel();
    // After the time limit, calls in flight are abandoned too.
    drop(tokio::time::timeout(TO_ANSWER, interrupts.next()).await);
    stop.now.cancel();
    interrupts.next().await;
    exit_now(INTERRUPTED.into());
}

async fn shown(
    ends: impl Stream<Item = (DebateId, Ended)>,
    all: usize,
    quiet: bool,
    terminal: &mut Terminal,
) -> WorkerTally {
    let mut tally = WorkerTally::of(all);
    let term = Some(Term::stderr()).filter(|_| !quiet && std::io::stderr().is_terminal());
    let mut ends = Box::pin(ends);
    let count = |tally: &WorkerTally| {
        if let Some(term) = &term {
            // Fails only if the terminal is gone.
            drop(term.write_str(&format!("{} of {}", tally.finished, counted(all as u64, "debate"))));
        }
    };
    count(&tally);
    while let Some((id, ended)) = ends.next().await {
        if let Some(term) = &term {
            drop(term.clear_line());
        }
        tally.count(&ended);
        match ended {
            Ended::Finished { cost, before: false } if !quiet && term.is_none() => {
                let cost = cost.filter(|cost| *cost > Usd::ZERO).map(|cost| format!(", {cost}")).unwrap_or_default();
                terminal.notice(&format!("{id}: finished{cost} ({} of {all})", tally.finished));
            }
            Ended::Finished { .. } => {}
            Ended::Failed { reason } => terminal.warning(&format!("{id} failed: {reason}")),
            Ended::TakenOver => terminal.warning(&format!("{id} stopped: another worker has taken it over")),
            Ended::Refused { reason, .. } => terminal.warning(&format!("{id} cannot run: {reason}")),
            Ended::Later { reason } => terminal.warning(&format!("{id} is not finished: {reason}")),
        }
        count(&tally);
    }
    if let Some(term) = &term {
        drop(term.clear_line());
    }
    if !quiet {
        terminal.notice(&tally.to_string());
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_a_set_without_rest() {
        for of in 1..=5 {
            let shards: Vec<Shard> = (1..=of).map(|part| format!("{part}/{of}").parse().unwrap()).collect();
            for index in 0..12 {
                assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1, "{index} of {of}");
            }
            assert!(shards[0].has(0));
        }
        for wrong in ["0/3", "4/3", "1/0", "1", "a/b", "-1/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
