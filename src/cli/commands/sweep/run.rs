//! `dialectic sweep run`: runs debates of a plan.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use console::Term;
use futures_util::stream::{Stream, StreamExt};

use crate::cli::args::SweepRunArgs;
use crate::cli::interrupt::{Interrupts, end_on_interrupt};
use crate::cli::session::{config_files, env_file};
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::sweep::plan::{Machine, PlannedDebate, SavedPlan};
use crate::sweep::store;
use crate::sweep::worker::{Ended, RunOptions, Stop, Tally, Worker};
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_config::{Loaded, Overrides, capture_environment};
use dialectic_engine::access::Environment;
use dialectic_llm::command::end_all;
use dialectic_record::debate::DebateId;

use super::store_of;

/// The time for calls in flight after a worker is told to stop. Engines send SIGKILL 30 seconds after SIGTERM.
const TO_ANSWER: Duration = Duration::from_secs(25);

pub(super) fn run(args: &SweepRunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let saved = SavedPlan::read(&args.plan.plan)?;
    let debates = chosen(args, &saved)?;
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    let own = tempfile::Builder::new().prefix("dialectic-sweep-").tempdir().map_err(|source| {
        UserError::of(ErrorCategory::General, "cannot make a temporary directory")
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
        let options = RunOptions { jobs: args.jobs.into(), retry_failed: args.retry_failed };
        Ok::<_, Error>(shown(worker.run(debates, options), all, args.quiet, terminal).await)
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

/// The requested debates.
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

/// The providers and keys that this machine adds to a plan.
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

/// The first interrupt ends the worker after the answers in flight, if they come in time; the second abandons them, the
/// third ends it at once.
async fn obey(mut interrupts: Interrupts, stop: Stop) {
    interrupts.next().await;
    stop.begun.cancel();
    // A timeout abandons them too.
    drop(tokio::time::timeout(TO_ANSWER, interrupts.next()).await);
    stop.now.cancel();
    interrupts.next().await;
    end_all();
    #[expect(clippy::exit, reason = "the user asked three times")]
    std::process::exit(130);
}

/// Shows how the debates end: a count on a terminal, otherwise a line for each debate.
async fn shown(ends: impl Stream<Item = (DebateId, Ended)>, all: usize, quiet: bool, terminal: &mut Terminal) -> Tally {
    let mut tally = Tally::of(all);
    let term = Some(Term::stderr()).filter(|_| !quiet && std::io::stderr().is_terminal());
    let mut ends = Box::pin(ends);
    let count = |tally: &Tally| {
        if let Some(term) = &term {
            // Without a terminal there is nothing to draw on.
            drop(term.write_str(&format!("{} of {}", tally.finished(), counted(all as u64, "debate"))));
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
                terminal.notice(&format!("{id}: finished{cost} ({} of {all})", tally.finished()));
            }
            Ended::Finished { .. } => {}
            Ended::Failed { reason } => terminal.warning(&format!("{id} failed: {reason}")),
            Ended::TakenOver => terminal.warning(&format!("{id} stopped here: another worker continues it")),
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
