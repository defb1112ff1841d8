//! `dialectic sweep`: plans, runs and collects sets of debates. An external scheduler, such as Slurm, places, retries
//! and cancels the jobs.

mod plan;
mod run;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::examples::examples;
use crate::cli::target::OutputTarget;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::sweep::collect::{csv, jsonl, read_rows, write_records};
use crate::sweep::plan::SavedPlan;
use crate::sweep::status::{SetProgress, SetStatus};
use crate::sweep::store::{self, SharedStore};
use dialectic_base::figures::{self, cost, named_cost, short_cost};
use dialectic_base::sanitize::one_line;
use dialectic_config::process_environment;
use dialectic_record::store::Directory;
use dialectic_report::display::{StyledText, Table, TableColumn};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SweepCommand {
    /// Plan a set of debates without calling a model: one line per debate, with its id and maximum cost
    #[command(after_help = examples(&["dialectic sweep plan sweep.json -o plan.jsonl", "dialectic sweep plan sweep.json --offline > plan.jsonl"]))]
    Plan(plan::SweepPlanArgs),
    /// Run a plan's debates, skipping finished and failed ones and resuming interrupted ones
    #[command(after_help = examples(&["dialectic sweep run plan.jsonl --jobs 8", "dialectic sweep run plan.jsonl --index 17 --store /shared/set", "dialectic sweep run plan.jsonl --shard 2/8"]))]
    Run(run::SweepRunArgs),
    /// Show the progress and cost of a set
    #[command(after_help = examples(&["dialectic sweep status plan.jsonl", "dialectic sweep status plan.jsonl --json"]))]
    Status {
        #[command(flatten)]
        plan: PlanArgs,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Collect the results of a set, in the plan's order
    #[command(after_help = examples(&["dialectic sweep collect plan.jsonl > results.jsonl", "dialectic sweep collect plan.jsonl -o results.csv", "dialectic sweep collect plan.jsonl --records debates"]))]
    Collect(SweepCollectArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    /// The plan file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// The store for the debates: a directory that all machines share, or `s3://bucket/prefix` [default: next to the
    /// plan, with the extension `.store`]
    #[arg(long, value_name = "DIR|s3://...")]
    store: Option<String>,
}

pub(in crate::cli) fn run(command: &SweepCommand, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        SweepCommand::Plan(args) => plan::run(args, terminal),
        SweepCommand::Run(args) => run::run(args, terminal),
        SweepCommand::Status { plan, json } => show_status(plan, *json, terminal),
        SweepCommand::Collect(args) => collect(args, terminal),
    }
}

fn opened(args: &PlanArgs, terminal: &mut Terminal) -> Result<(SavedPlan, Option<SharedStore>), Error> {
    let opened = opened_at(&args.plan, args.store.as_deref())?;
    if let (Some(store), None) = (&args.store, &opened.1) {
        terminal.warning(&format!("the store {store} does not exist"));
    }
    Ok(opened)
}

/// The store is `None` if its directory does not exist: reading does not create the directory.
pub(super) fn opened_at(plan: &Path, store: Option<&str>) -> Result<(SavedPlan, Option<SharedStore>), Error> {
    let (place, plan) = (store_of(plan, store), SavedPlan::read(plan)?);
    if !place.contains("://") && !Path::new(&place).exists() {
        return Ok((plan, None));
    }
    Ok((plan, Some(store::open_to_read(&place, &process_environment())?)))
}

fn store_of(plan: &Path, given: Option<&str>) -> String {
    given.map_or_else(|| plan.with_extension("store").display().to_string(), str::to_owned)
}

pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?.block_on(work)
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepCollectArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Write to a file, as CSV if it ends in `.csv`, otherwise as JSON Lines [default: JSON Lines to standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// The output format [default: from the file extension]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<CollectFormat>,

    /// Exit with code 75 and write nothing unless every debate is finished
    #[arg(long)]
    complete: bool,

    /// Write the records of ended debates to a directory, for `show` and `report`, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "format", "complete"])]
    records: Option<PathBuf>,
}

impl SweepCollectArgs {
    pub(in crate::cli) fn format(&self) -> CollectFormat {
        let of_ending = |path: &Path| {
            let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
            if is_table { CollectFormat::Csv } else { CollectFormat::Jsonl }
        };
        self.format.or_else(|| self.output.as_deref().map(of_ending)).unwrap_or(CollectFormat::Jsonl)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CollectFormat {
    /// A line of JSON for each debate, with its answer
    Jsonl,
    /// A CSV table with a row for each debate
    Csv,
}

fn collect(args: &SweepCollectArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let output = args.output.as_deref().map(OutputTarget::prepare).transpose()?;
    let (plan, store) = opened(&args.plan, terminal)?;
    if let Some(directory) = &args.records {
        return records(directory, &plan, store, terminal);
    }
    let rows = match store {
        Some(store) => block_on(async { Ok(read_rows(&plan, &*store).await?) })?,
        None => Vec::new(),
    };
    let (missing, debates) = (plan.plan.debates.len() - rows.len(), plan.plan.counted());
    if args.complete && missing > 0 {
        let hint = "`dialectic sweep status` shows the progress; omit --complete to collect the finished debates";
        let message = format!("{missing} of {debates} not finished");
        return Err(UserError::of(ErrorCategory::Busy, message).with_hint(hint).into());
    }
    let bytes = match args.format() {
        CollectFormat::Jsonl => jsonl(&rows),
        CollectFormat::Csv => csv(&rows).map_err(Error::Stdout)?,
    };
    match output {
        Some(target) => target.write_result(&bytes, terminal)?,
        None => terminal.result_from(|out| out.write_all(&bytes))?,
    }
    if missing > 0 {
        terminal.warning(&format!("{missing} of {debates} not finished"));
    }
    Ok(())
}

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

fn show_status(args: &PlanArgs, json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let (counted, status) = block_on(async {
        let (plan, store) = opened(args, terminal)?;
        let status = match store {
            Some(store) => SetStatus::read(&plan, &*store).await?,
            None => SetStatus::of_nothing(&plan.plan),
        };
        Ok((plan.plan.counted(), status))
    })?;
    if json {
        return terminal.json(&status);
    }
    terminal.result(&format!("{}\n{}", said(&status, &counted), table(&status).drawn(terminal.layout())))
}

fn said(status: &SetStatus, counted: &str) -> String {
    let SetProgress { debates: _, finished, running, failed, waiting, cost_usd, expected_usd, lost } = &status.all;
    let counts = [(*finished, "finished"), (*running, "running"), (*failed, "failed"), (*waiting, "waiting")];
    let counts: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let mut text = format!(
        "{counted}: {}\n{} so far, {} expected\n",
        counts.join(", "),
        named_cost(*cost_usd),
        named_cost(*expected_usd),
    );
    if lost.calls > 0 {
        let calls = figures::counted(u64::from(lost.calls), "call");
        // If the price of a call is unknown, `lost.usd` omits the call and is not the maximum.
        let most = match cost_usd.and(*expected_usd) {
            Some(_) => format!("at most {}", short_cost(lost.usd)),
            None => "at unknown cost".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{calls} in flight when a worker stopped may have been billed, {most}");
    }
    text
}

fn table(status: &SetStatus) -> Table {
    let mut table = Table::new([
        TableColumn::text("VARIANT").flexible(12),
        TableColumn::figure("FINISHED"),
        TableColumn::figure("RUNNING").rank(3),
        TableColumn::figure("FAILED").rank(2),
        TableColumn::figure("WAITING").rank(4),
        TableColumn::figure("COST").rank(1),
        TableColumn::figure("EXPECTED").rank(5),
    ])
    .of_lines();
    for (name, one) in &status.variants {
        table.row(
            [
                one_line(name),
                format!("{}/{}", one.finished, one.debates),
                one.running.to_string(),
                one.failed.to_string(),
                one.waiting.to_string(),
                cost(one.cost_usd),
                cost(one.expected_usd),
            ]
            .map(StyledText::plain),
        );
    }
    table
}
