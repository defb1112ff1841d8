//! `dialectic debate`: starts a debate.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{NaiveDate, Utc};

use crate::cli::args::DebateArgs;
use crate::cli::dialogue;
use crate::cli::session::{Session, config_files, env_file, is_first_debate, runner};
use crate::cli::stdin;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{Loaded, ModelChoice, Overrides, Switch, capture_environment, model_warnings};
use dialectic_engine::agent::price_of;
use dialectic_engine::runner::Spec;
use dialectic_record::debate::Settings;

use super::problem::{self, Sources};
use super::{dry_run, protocols, serve};

/// The average latency of the offline provider in a user's first debate, which takes about ten seconds, so that there
/// is something to watch.
const FIRST_LOOK: Duration = Duration::from_millis(850);

pub(in crate::cli) fn run(args: &DebateArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let sources = Sources {
        text: args.problem.as_deref(),
        file: args.problem_file.as_deref(),
        stdin_is_taken: args.attach.iter().any(|path| path.as_os_str() == "-"),
    };
    let problem = problem::read(&sources, terminal)?;
    let environment = capture_environment(&env_file(args.run.env_file.as_ref()))?;
    let files = config_files(args.config.as_ref(), &environment);
    let Loaded { settings, warnings, choice, hooks, .. } = files.load(&overrides(args))?;
    let warnings = [warnings, model_warnings(&settings, today())].concat();
    let protocol = protocols::named(&settings.debate.protocol)?;
    let attachments = problem::read_attachments(&args.attach, problem.is_stdin, &settings, &environment, terminal)?;
    let spec = Spec {
        problem: problem.text.into(),
        context: None,
        attachments,
        change: None,
        protocol,
        settings: settings.clone(),
        seed: None,
    };
    // Answers to questions come from standard input.
    let reads_stdin = problem.is_stdin || sources.stdin_is_taken || settings.debate.interactive_clarifications;
    if args.dry_run {
        say(choice.as_ref(), &spec, reads_stdin, terminal);
        terminal.warnings(&warnings);
        return dry_run::run(&spec, &runner(environment)?, args.json, terminal);
    }
    let mut session = Session::open(&args.run, &settings, hooks, &environment, terminal)?;
    if let Some(choice) = &choice {
        choice.callable()?;
    }
    let mut paced = environment.clone();
    if settings.everybody().all(|agent| agent.provider == OFFLINE)
        && !args.run.detach
        && is_first_debate()
        && terminal.shows(args.run.quiet)
    {
        paced.pace_offline(FIRST_LOOK);
    }
    let server = args.serve.then(|| serve::for_one_debate(files.path(), &environment, args.max_cost)).transpose()?;
    let runner = runner(paced)?;
    let prepared = runner.prepare(spec.clone())?;
    say(choice.as_ref(), &spec, reads_stdin, terminal);
    terminal.warnings(warnings.iter().chain(&prepared.panel().warnings));
    terminal.warnings(runner.check_prompts(&spec)?);
    prepared.check_limit()?;
    warn_of_unknown_costs(&settings, terminal);
    let foreseen = dialogue::agreed(&prepared, &settings, terminal)?;
    session.server = server;
    session.run(prepared.begin()?, foreseen, terminal)
}

/// Reports settings that the command line does not name.
fn say(choice: Option<&ModelChoice>, spec: &Spec, reads_stdin: bool, terminal: &mut Terminal) {
    if !reads_stdin && stdin::has_text() {
        terminal.warning("standard input was not read; add --attach -");
    }
    for notice in choice.map(ToString::to_string).into_iter().chain(problem::notice_of(&spec.attachments)) {
        terminal.notice(&notice);
    }
}

fn overrides(args: &DebateArgs) -> Overrides {
    let switch = |on| if on { Switch::On } else { Switch::AsConfigured };
    Overrides {
        agents: args.agents.clone(),
        model: args.models.model.clone(),
        judge_model: args.models.judge_model.clone(),
        mixed: switch(args.mixed),
        rounds: args.rounds,
        until: args.until.map(Into::into),
        protocol: args.protocol.clone(),
        check: args.check,
        quick: switch(args.quick),
        clarify: switch(args.clarify),
        offline: switch(args.offline),
        max_cost: args.max_cost,
        max_calls: args.calls.max_calls,
        context_dir: args.context.clone(),
    }
}

/// The day for checking the retirement of models.
pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// Warns that a cost warning only counts known costs.
fn warn_of_unknown_costs(settings: &Settings, terminal: &mut Terminal) {
    if settings.debate.budget.warn_cost_usd.is_none() {
        return;
    }
    let everybody = settings.everybody();
    let unpriced = everybody.filter(|agent| price_of(agent, settings).is_none());
    let models: BTreeSet<&str> = unpriced.map(|agent| agent.model.as_str()).collect();
    if !models.is_empty() {
        let models = models.into_iter().collect::<Vec<_>>().join(", ");
        terminal.warning(&format!("no known price for {models}: its calls do not count towards `warnCostUsd`"));
    }
}
