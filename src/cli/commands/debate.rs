//! `dialectic debate`: starts a debate.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{NaiveDate, Utc};
use clap::Args;
use serde_json::json;

use crate::cli::args::{CallsArgs, ModelArgs, RunArgs, choice, dollars};
use crate::cli::session::{Session, config_files, is_first_debate, runner};
use crate::cli::terminal::Terminal;
use crate::cli::{dialogue, input};
use crate::error::Error;
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_config::{Loaded, ModelChoice, Overrides, capture_environment, model_warnings};
use dialectic_engine::agent::price_of;
use dialectic_engine::engine::{check_prices, check_problem, check_purchase, check_windows};
use dialectic_engine::runner::{Runner, new_debate};
use dialectic_record::debate::Attachment;
use dialectic_record::event::Created;
use dialectic_record::live::Forecast;
use dialectic_record::settings::{DebateSettings, Settings, TerminationKind};
use dialectic_report::display;

use super::{protocols, serve};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line option")]
pub(in crate::cli) struct DebateArgs {
    /// The problem as text. Use `-` or a pipe to read it from standard input
    problem: Option<String>,

    /// Read the problem from a UTF-8 file
    #[arg(help_heading = "Problem", 
        short = 'p',
        long,
        aliases = ["problemDescription", "problem-description"],
        value_name = "PATH",
        allow_hyphen_values = true
    )]
    problem_file: Option<PathBuf>,

    /// Attach a text file for all agents and the judge. Repeatable; `-` reads standard input
    #[arg(help_heading = "Problem", long, value_name = "PATH")]
    attach: Vec<PathBuf>,

    #[command(flatten)]
    models: ModelArgs,

    /// Use models from different vendors, depending on which keys are set and which programs are installed
    #[arg(help_heading = "Agents and models", long, conflicts_with = "model")]
    mixed: bool,

    /// Comma-separated roles of the agents. Uses your configured agents with these roles, otherwise built-in ones
    #[arg(help_heading = "Agents and models", short, long, value_name = "ROLES", value_delimiter = ',')]
    agents: Option<Vec<String>>,

    /// The number of rounds, from 1 to 100 [default: from the configuration, else from the protocol]
    #[arg(help_heading = "Debate", short, long, value_name = "N", value_parser = rounds, allow_negative_numbers = true)]
    rounds: Option<u32>,

    /// When to end early [default: from the configuration, else fixed]
    #[arg(hide_short_help = true, help_heading = "Debate", long, value_name = "CONDITION", value_parser = choice(UNTIL))]
    until: Option<TerminationKind>,

    /// The configuration file [default: ./debate-config.json]
    #[arg(help_heading = "Agents and models", short, long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// The directory that agents may read with their tools [default: the working directory]
    #[arg(help_heading = "Problem", long, value_name = "DIR")]
    context: Option<PathBuf>,

    /// The protocol; see `dialectic protocols` [default: from the configuration, else dialectic]
    #[arg(help_heading = "Debate", long, value_name = "NAME")]
    protocol: Option<String>,

    /// The number of checkers that review the answer, from 0 to 3 [default: from the configuration, else 3]
    #[arg(help_heading = "Debate", long, value_name = "N", value_parser = lenses, allow_negative_numbers = true)]
    check: Option<u32>,

    /// Use a council of two agents and one checker; good for a first debate
    #[arg(help_heading = "Debate", long)]
    quick: bool,

    /// Let the agents ask you questions before they begin
    #[arg(help_heading = "Debate", long)]
    clarify: bool,

    /// Rehearse without a model: list what the problem leaves open, at no cost
    #[arg(help_heading = "Agents and models", long)]
    offline: bool,

    /// The cost limit in dollars, including the judge's answer
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    #[command(flatten)]
    calls: CallsArgs,

    /// Print the planned calls with their tokens and likely and maximum cost, without calling a model
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    dry_run: bool,

    /// Print every call of the dry run as JSON
    #[arg(hide_short_help = true, help_heading = "Cost", long, requires = "dry_run")]
    json: bool,

    /// Watch and steer the debate in a browser; the page stays open until you press Ctrl-C
    #[arg(help_heading = "Output", long, conflicts_with = "detach")]
    serve: bool,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

const UNTIL: &[(&str, &str, TerminationKind)] = &[
    ("fixed", "Never end early", TerminationKind::Fixed),
    ("convergence", "When the judge finds that the agents agree", TerminationKind::Convergence),
    ("quality", "When the judge finds the solution good enough", TerminationKind::Quality),
    ("resolved", "When no blocking or major objection is open", TerminationKind::Resolved),
];

fn rounds(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(rounds) if (1..=DebateSettings::MOST_ROUNDS).contains(&rounds) => Ok(rounds),
        _ => Err(format!("expected a whole number from 1 to {}", DebateSettings::MOST_ROUNDS)),
    }
}

fn lenses(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (0..=DebateSettings::DEFAULT_CHECK).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 0 to {}", DebateSettings::DEFAULT_CHECK))
}

/// The offline provider's average latency in a user's first debate, which then takes about ten seconds and can be
/// watched.
const FIRST_LOOK: Duration = Duration::from_millis(850);

pub(in crate::cli) fn run(args: &DebateArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (text, file) = (args.problem.as_deref(), args.problem_file.as_deref());
    let attaches_stdin = args.attach.iter().any(|path| path.as_os_str() == "-");
    let problem = input::read_problem(text, file, attaches_stdin, terminal)?;
    let is_stdin = input::is_stdin(text, file);
    let environment = capture_environment(args.run.env_file.as_deref())?;
    let files = config_files(args.config.as_ref(), &environment);
    let Loaded { settings, warnings, choice, hooks, .. } = files.load(&overrides(args))?;
    let warnings = [warnings, model_warnings(&settings, today())].concat();
    let protocol = protocols::named(&settings.debate.protocol)?;
    let attachments = input::read_attachments(&args.attach, is_stdin, &settings, &environment, terminal)?;
    let created = Created { attachments, ..new_debate(problem, protocol, settings.clone()) };
    // With interactive clarifications, answers are read from standard input.
    let reads_stdin = is_stdin || attaches_stdin || settings.debate.interactive_clarifications;
    if args.dry_run {
        say(choice.as_ref(), &created.attachments, reads_stdin, terminal);
        terminal.warnings(&warnings);
        return dry_run(&created, &runner(environment)?, args.json, terminal);
    }
    let mut session = Session::open(&args.run, &settings, hooks, &environment, terminal)?;
    choice.iter().try_for_each(ModelChoice::callable)?;
    let mut paced = environment.clone();
    if settings.is_offline() && !args.run.detach && is_first_debate() && terminal.shows(args.run.quiet) {
        paced.pace_offline(FIRST_LOOK);
    }
    let server = args.serve.then(|| serve::for_one_debate(files.path(), &environment, args.max_cost)).transpose()?;
    let runner = runner(paced)?;
    let prepared = runner.prepare(created.clone())?;
    say(choice.as_ref(), &created.attachments, reads_stdin, terminal);
    terminal.warnings(warnings.iter().chain(&prepared.panel().warnings));
    terminal.warnings(runner.check_prompts(&created)?);
    prepared.check_limit()?;
    warn_of_unknown_costs(&settings, terminal);
    let foreseen = dialogue::agreed(&prepared, &settings, terminal)?;
    session.server = server;
    session.run(prepared.begin()?, foreseen, terminal)
}

/// Prints which model was chosen and what is attached. Warns if there is piped input, unless `reads_stdin` is set,
/// because the user may expect that the debate uses the input.
fn say(choice: Option<&ModelChoice>, attachments: &[Attachment], reads_stdin: bool, terminal: &mut Terminal) {
    if !reads_stdin && input::has_text() {
        terminal.warning("standard input was not read; to attach it, add --attach -");
    }
    terminal.notices(choice.map(ToString::to_string).into_iter().chain(input::notice_of(attachments)));
}

fn overrides(args: &DebateArgs) -> Overrides {
    Overrides {
        agents: args.agents.clone(),
        model: args.models.model.clone(),
        judge_model: args.models.judge_model.clone(),
        mixed: args.mixed,
        rounds: args.rounds,
        until: args.until,
        protocol: args.protocol.clone(),
        check: args.check,
        quick: args.quick,
        clarify: args.clarify,
        offline: args.offline,
        max_cost: args.max_cost,
        max_calls: args.calls.max_calls,
        context_dir: args.context.clone(),
    }
}

/// The current date in UTC, which decides whether a model is retired.
pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// Warns if `warnCostUsd` is set but does not count some of the calls, because their model has no known price.
fn warn_of_unknown_costs(settings: &Settings, terminal: &mut Terminal) {
    if settings.debate.budget.warn_cost_usd.is_none() {
        return;
    }
    let everybody = settings.everybody();
    let unpriced = everybody.filter(|agent| price_of(agent, settings).is_none());
    let models: BTreeSet<&str> = unpriced.map(|agent| agent.model.as_str()).collect();
    if !models.is_empty() {
        let models = models.into_iter().collect::<Vec<_>>().join(", ");
        terminal.warning(&format!("no known price for {models}, so unpriced calls do not count towards `warnCostUsd`"));
    }
}

/// Prints the forecast. Needs no key and does not call a model.
pub(super) fn dry_run(created: &Created, runner: &Runner, json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let settings = &created.settings;
    runner.check_protocol(created)?;
    check_problem(&created.problem, settings)?;
    let forecast = runner.forecast(created)?;
    if json {
        print_json(&forecast, settings, terminal)?;
        terminal.warnings(check_windows(&forecast.calls, settings)?);
    } else {
        show_forecast(&forecast, settings, terminal)?;
    }
    // Reject the programs and limits that the debate itself would reject.
    terminal.warnings(runner.check_programs(created)?);
    check_prices(settings)?;
    if let Some(purchase) = &forecast.purchase {
        check_purchase(purchase)?;
        terminal.notice(&display::purchase(purchase));
    }
    Ok(())
}

/// Costs are null if a price is unknown.
pub(super) fn print_json(forecast: &Forecast, settings: &Settings, terminal: &mut Terminal) -> Result<(), Error> {
    let within = |cost: Usd| settings.max_cost().map_or(cost, |limit| cost.min(limit));
    let (likely, most) = (forecast.likely().map(within), forecast.most().map(within));
    terminal.json(&json!({ "calls": forecast.calls, "likelyUsd": likely, "mostUsd": most }))
}

pub(super) fn show_forecast(forecast: &Forecast, settings: &Settings, terminal: &mut Terminal) -> Result<(), Error> {
    let total = display::price_tag(forecast, settings.max_cost());
    // Do not sanitize the table again: this would remove its colours.
    terminal.result(&format!("{}\n\n{}", one_line(&total), display::forecast(forecast, terminal.screen())))?;
    terminal.warnings(check_windows(&forecast.calls, settings)?);
    Ok(())
}
