//! `dialectic fork`: forks a debate with changes.

use std::sync::Arc;

use clap::Args;

use crate::cli::args::{CallsArgs, ModelArgs, RunArgs, VouchArgs, dollars};
use crate::cli::dialogue;
use crate::cli::session::{Session, config_files, or_latest_said, own, runner};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::money::Usd;
use dialectic_config::changes::{SettingChange, change_settings, check_changes};
use dialectic_config::{Overrides, capture_environment, model_warnings};
use dialectic_engine::engine::{check_prices, check_purchase};
use dialectic_engine::runner::RunnerError;
use dialectic_record::event::{Event, ForkPoint};
use dialectic_record::ids::{DebateId, ResultKind};
use dialectic_record::settings::Settings;
use dialectic_record::store::{Entry, StoreError, read_journal};
use dialectic_report::display;

use super::debate::{show_forecast, today};
use super::protocols;

#[derive(Debug, Args)]
pub(in crate::cli) struct ForkArgs {
    /// The debate: an id, a unique prefix or suffix of an id, or a state file [default on a terminal: latest]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,

    /// The first stage to repeat, such as `2.critiques`, or `critiques` for the last round. Earlier stages are kept;
    /// `start` keeps only the problem and the settings [default with `--protocol`: after the first proposals]
    #[arg(long, value_name = "ROUND.STAGE", required_unless_present = "protocol")]
    at: Option<String>,

    /// Continue under another protocol; it reuses the first proposals if possible
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,

    /// Change a setting, such as `debate.rounds=4`, `judge.model=gpt-4o` or `agents.agent-kiss.temperature=0.2`.
    /// Repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<SettingChange>,

    #[command(flatten)]
    models: ModelArgs,

    /// Rehearse without a model; needs no key and costs nothing
    #[arg(long)]
    offline: bool,

    /// The cost limit in dollars, excluding the calls kept from the original debate
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    #[command(flatten)]
    calls: CallsArgs,

    /// Print the planned calls with their tokens and likely and maximum cost, without calling a model
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    dry_run: bool,

    #[command(flatten)]
    vouch: VouchArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

pub(in crate::cli) fn run(args: &ForkArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest_said(args.debate.as_deref(), "fork", terminal)?;
    let environment = capture_environment(args.run.env_file.as_deref())?;
    let runner = runner(environment.clone())?;
    let at = point(args, &entry)?;
    let files = config_files(args.vouch.config.as_ref(), &environment);
    let branch = runner.branch(&entry, &at, &own(&args.vouch, &files)?)?;
    let parent = branch.parent().clone();
    let ModelArgs { model, judge_model } = args.models.clone();
    let (max_cost, max_calls) = (args.max_cost, args.calls.max_calls);
    let overrides =
        Overrides { model, judge_model, offline: args.offline, max_cost, max_calls, ..Overrides::default() };
    let wanted = changes(args, &parent.settings)?;
    check_changes(&parent.settings, &wanted)?;
    let (settings, of_changes) = change_settings(&parent.settings, &wanted, &overrides, &environment)?;
    if args.dry_run {
        terminal.warnings(environment.warnings().iter().chain(&of_changes));
        if let Some(forecast) = runner.forecast_fork(branch, settings.clone())? {
            show_forecast(&forecast, &settings, terminal)?;
            // The purchase counts the calls that a later point keeps.
            if let Some(purchase) = forecast.purchase.filter(|_| at.is_start()) {
                check_purchase(&purchase)?;
                terminal.notice(&display::purchase(&purchase));
            }
        }
        return Ok(check_prices(&settings)?);
    }
    let session = Session::open(&args.run, &settings, files.hooks()?, &environment, terminal)?;
    let prepared = runner.fork(branch, settings.clone())?;
    let of_models = model_warnings(&settings, today());
    let warnings = environment.warnings().iter().chain(&of_changes).chain(&of_models);
    terminal.warnings(warnings.chain(&prepared.panel().warnings));
    // A fork under another protocol has different prompts anyway, so do not warn about them.
    if settings.debate.protocol == parent.settings.debate.protocol {
        let sources = parent.prompt_sources.iter();
        terminal.warnings(sources.flat_map(|before| before.changes(&prepared.panel().sources)));
    }
    let foreseen = dialogue::agreed(&prepared, &settings, terminal)?;
    let ready = prepared.begin()?;
    let is_same = settings == parent.settings;
    let sample = if is_same { ", with unchanged settings" } else { "" };
    terminal.notice(&format!("Forked {} at {at} as {}{sample}", parent.id, ready.debate().id));
    session.run(ready, foreseen, terminal)
}

/// Where to fork. Without `--at`, this is the first stage after the first round's proposals that makes calls, or the
/// start if there is none.
fn point(args: &ForkArgs, entry: &Entry) -> Result<ForkPoint, Error> {
    let events = read_journal(entry.journal_path()?).map_err(StoreError::from)?.events;
    if let Some(at) = &args.at {
        let refused = |reason| RunnerError::Fork { id: DebateId::new(entry.id()), reason };
        return Ok(ForkPoint::named(at, &events).map_err(refused)?);
    }
    let stages = events.first().and_then(|first| match &first.event {
        Event::Created(created) => Some(Arc::clone(&created.stages)),
        _ => None,
    });
    let stages = stages.unwrap_or_default();
    let behind = stages.iter().skip_while(|stage| stage.yields != Some(ResultKind::Proposal)).skip(1);
    let next = behind.into_iter().find(|stage| stage.is_transition_target && stage.in_round && stage.makes_calls());
    Ok(next.map_or(ForkPoint::START, |stage| ForkPoint::before(1, stage.id)))
}

/// A change of protocol also sets that protocol's default number of rounds, unless `--set` sets the rounds.
fn changes(args: &ForkArgs, parent: &Settings) -> Result<Vec<SettingChange>, Error> {
    let mut changes = Vec::new();
    if let Some(name) = args.protocol.as_ref().filter(|name| **name != parent.debate.protocol) {
        let rounds = Some(protocols::named(name)?.default_rounds).filter(|rounds| *rounds != parent.debate.rounds);
        changes.push(format!("debate.protocol={name}"));
        changes.extend(rounds.map(|rounds| format!("debate.rounds={rounds}")));
    }
    let changes = changes.iter().filter_map(|change| change.parse::<SettingChange>().ok());
    let changes = changes.filter(|change| !args.set.iter().any(|own| own.path() == change.path()));
    Ok(changes.chain(args.set.iter().cloned()).collect())
}
