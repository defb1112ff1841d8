//! `dialectic sweep`: sets of debates on an engine that places, retries and cancels work.

mod collect;
mod plan;
mod run;
mod status;

use std::path::Path;

use crate::cli::args::{PlanArgs, SweepArgs, SweepCommand};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::sweep::plan::SavedPlan;
use crate::sweep::store::{self, SharedStore};
use dialectic_config::process_environment;

pub(in crate::cli) fn run(args: &SweepArgs, terminal: &mut Terminal) -> Result<(), Error> {
    match &args.command {
        SweepCommand::Plan(args) => plan::run(args, terminal),
        SweepCommand::Run(args) => run::run(args, terminal),
        SweepCommand::Status(args) => status::run(args, terminal),
        SweepCommand::Collect(args) => collect::run(args, terminal),
    }
}

/// The plan and its store for reading. Without a directory there is no store, since readers create none.
fn opened(args: &PlanArgs) -> Result<(SavedPlan, Option<SharedStore>), Error> {
    opened_at(&args.plan, args.store.as_deref())
}

/// [`opened`] for a plan, and the place of its store if that is given.
pub(super) fn opened_at(plan: &Path, store: Option<&str>) -> Result<(SavedPlan, Option<SharedStore>), Error> {
    let (place, plan) = (store_of(plan, store), SavedPlan::read(plan)?);
    if !place.contains("://") && !Path::new(&place).exists() {
        return Ok((plan, None));
    }
    Ok((plan, Some(store::open_to_read(&place, &process_environment())?)))
}

/// The place of a plan's store: the given one, or next to the plan.
fn store_of(plan: &Path, given: Option<&str>) -> String {
    given.map_or_else(|| plan.with_extension("store").display().to_string(), str::to_owned)
}

/// Runs asynchronous work on a store.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?.block_on(work)
}
