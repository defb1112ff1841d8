//! `dialectic sweep collect`: collects the results of a set, in the plan's order.

use std::path::Path;

use crate::cli::args::{CollectFormat, SweepCollectArgs};
use crate::cli::target::OutputTarget;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::sweep::collect::{Collected, write_records};
use crate::sweep::plan::SavedPlan;
use crate::sweep::store::SharedStore;
use dialectic_record::store::Directory;

use super::{block_on, opened};

pub(super) fn run(args: &SweepCollectArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let output = args.output.as_deref().map(OutputTarget::prepare).transpose()?;
    let (plan, store) = opened(&args.plan)?;
    if let Some(directory) = &args.records {
        return records(directory, &plan, store, terminal);
    }
    let collected = match store {
        Some(store) => block_on(async { Ok(Collected::read(&plan, &*store).await?) })?,
        None => Collected { rows: Vec::new(), missing: plan.plan.debates.len() },
    };
    let (missing, debates) = (collected.missing, plan.plan.counted());
    if args.complete && missing > 0 {
        let hint = "`dialectic sweep status` shows their progress; omit --complete to collect the finished ones";
        let message = format!("{missing} of {debates} not finished");
        return Err(UserError::of(ErrorCategory::Busy, message).with_hint(hint).into());
    }
    let bytes = match args.format() {
        CollectFormat::Jsonl => collected.jsonl(),
        CollectFormat::Csv => collected.csv().map_err(Error::Stdout)?,
    };
    match output {
        Some(target) => target.write(|out| out.write_all(&bytes))?,
        None => terminal.result_from(|out| out.write_all(&bytes))?,
    }
    if missing > 0 {
        terminal.warning(&format!("{missing} of {debates} not finished"));
    }
    Ok(())
}

/// Writes the records of debates that have ended, and prints the paths of their states.
fn records(
    directory: &Path,
    plan: &SavedPlan,
    store: Option<SharedStore>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let states = match store {
        Some(store) => block_on(write_records(plan, &*store, &Directory::at(directory)))?,
        None => vec![None; plan.plan.debates.len()],
    };
    let missing = states.iter().filter(|state| state.is_none()).count();
    for state in states.into_iter().flatten() {
        terminal.text(&state.display().to_string())?;
    }
    if missing > 0 {
        terminal.warning(&format!("{missing} of {} not ended", plan.plan.counted()));
    }
    Ok(())
}
