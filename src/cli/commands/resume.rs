//! `dialectic resume`: continues a debate from its last finished call.

use clap::Args;

use crate::cli::args::{ContinueArgs, RunArgs};
use crate::cli::conclusion::verdict;
use crate::cli::dialogue::{self, Dialogue};
use crate::cli::output::{report_path, write_output, write_report};
use crate::cli::questions::{GivenAnswers, not_asking};
use crate::cli::session::{Session, config_files, debates, own, runner};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::{Presence, load};
use dialectic_base::markdown::truncate;
use dialectic_base::money::BudgetLimit;
use dialectic_base::provider::OFFLINE;
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigFiles, ConfigPath, DEFAULT_PATH, Overrides, capture_environment, model_warnings};
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::runner::{ResumableDebate, Runner, RunnerError, renew_limit};
use dialectic_record::debate::{Debate, Status};
use dialectic_record::ids::DebateId;
use dialectic_record::settings::Settings;
use dialectic_record::store::{Directory, Entry, JournalError, StoreError, read_state};
use dialectic_report::display::price_tag;

use super::debate::today;

#[derive(Debug, Args)]
pub(in crate::cli) struct ResumeArgs {
    /// The debate: `latest`, an id, a unique prefix or suffix of an id, or a state file [default: the newest resumable
    /// debate, after confirmation]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,

    /// Resume the newest resumable debate without asking; needed in scripts that do not name a debate
    #[arg(short, long, conflicts_with = "debate")]
    yes: bool,

    /// Skip to the solution, using only the texts so far
    #[arg(long)]
    finish: bool,

    #[command(flatten)]
    going_on: ContinueArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

pub(super) struct ResumeOrder<'a> {
    pub(in crate::cli) environment: &'a Environment,
    pub(in crate::cli) entry: &'a Entry,
    pub(in crate::cli) is_agreed: bool,
    pub(in crate::cli) finish: bool,
    pub(in crate::cli) going_on: &'a ContinueArgs,
    pub(super) run: &'a RunArgs,
    pub(in crate::cli) answers: Option<GivenAnswers>,
    pub(in crate::cli) asks_user: bool,
}

pub(in crate::cli) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(args.run.env_file.as_deref())?;
    let entry = match &args.debate {
        Some(name) => debates()?.find(name)?,
        None => match agreed(&runner(environment.clone())?, &environment, args, terminal)? {
            Some(entry) => entry,
            None => return Ok(()),
        },
    };
    let order = ResumeOrder {
        environment: &environment,
        entry: &entry,
        // If no debate was named, `agreed` has already reported the cost.
        is_agreed: args.debate.is_none(),
        finish: args.finish,
        going_on: &args.going_on,
        run: &args.run,
        answers: None,
        asks_user: !args.run.detach,
    };
    go_on(order, terminal)
}

pub(super) fn go_on(order: ResumeOrder<'_>, terminal: &mut Terminal) -> Result<(), Error> {
    let ResumeOrder { environment, entry, is_agreed, finish, going_on, run, answers, asks_user } = order;
    let runner = runner(environment.clone())?;
    let saved = match runner.open(entry) {
        Err(RunnerError::IsFinished { id, warnings }) => {
            terminal.warnings(&warnings);
            if answers.is_some() {
                return Err(not_asking(&id).into());
            }
            return finished(&id, entry, run, terminal);
        }
        opened => opened?,
    };
    terminal.warnings(saved.warnings());
    if let Some(answers) = &answers {
        answers.check(saved.debate())?;
    }
    let given = answers.map(|answers| (answers, saved.debate().clone()));
    if finish && saved.debate().final_round().is_none() {
        let id = &saved.debate().id;
        return Err(UserError::input(format!("the debate {id} cannot be finished yet: it has no texts"))
            .with_hint(format!("continue the debate: dialectic resume {id}"))
            .into());
    }
    let sources = saved.debate().prompt_sources.clone();
    let ContinueArgs { max_cost, calls, vouch } = going_on;
    let limit = BudgetLimit { usd: *max_cost, calls: calls.max_calls };
    let files = config_files(vouch.config.as_ref(), environment);
    let own = UserSettings { limit, ..own(vouch, &files)? };
    let settings = own.over(saved.settings(), environment);
    let mut session = Session::open(run, &settings, files.hooks()?, environment, terminal)?;
    let prepared = runner.resume(saved, &own)?;
    let of_models = model_warnings(&settings, today());
    terminal.warnings(environment.warnings().iter().chain(&of_models).chain(&prepared.panel().warnings));
    terminal.warnings(sources.iter().flat_map(|before| before.changes(&prepared.panel().sources)));
    terminal.notices(configured_otherwise(&settings, environment));
    prepared.check_limit()?;
    let foreseen = if is_agreed { None } else { dialogue::agreed(&prepared, &settings, terminal)? };
    let mut ready = prepared.begin()?;
    // Servers with a daily limit count the cost limit that was last recorded for a debate, so record the limit of this
    // run.
    if let Err(error) = renew_limit(&debates()?, &DebateId::new(entry.id()), limit.usd) {
        terminal.warning(&error.to_string());
    }
    ready.closes = finish;
    (session.given, session.asks_user, session.is_continued) = (given, asks_user, true);
    session.run(ready, foreseen, terminal)
}

/// Names the agents whose configured model differs from the saved one. The debate uses the saved model, which may
/// surprise a user who has edited the configuration.
fn configured_otherwise(saved: &Settings, environment: &Environment) -> Vec<String> {
    let Some(path) = saved.base_dir.as_ref().map(|directory| directory.join(DEFAULT_PATH)) else { return Vec::new() };
    if !path.is_file() {
        return Vec::new();
    }
    // Ignore an unusable configuration: the debate does not use it.
    let Ok(now) = ConfigFiles::new(ConfigPath::Found(path), environment).load(&Overrides::default()) else {
        return Vec::new();
    };
    let now = now.settings;
    let saved = saved.everybody().filter(|agent| agent.provider != OFFLINE);
    let differing = saved.filter_map(|agent| {
        let now = now.everybody().find(|now| now.id == agent.id)?;
        ((&now.model, &now.provider) != (&agent.model, &agent.provider)).then(|| {
            let (id, model, provider) = (&agent.id, &agent.model, &agent.provider);
            format!(
                "{id} continues with {provider}/{model}, as saved; the configuration says {}/{}",
                now.provider, now.model
            )
        })
    });
    differing.collect()
}

fn finished(id: &DebateId, entry: &Entry, args: &RunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.notice(&format!("The debate {id} is finished."));
    let debate = load(entry)?;
    if let Some(path) = &args.output {
        let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str());
        write_output(path, &debate, solution.unwrap_or_default())?;
        terminal.notice(&format!("Wrote the result to {}", path.display()));
    }
    if let Some(path) = &args.report {
        let path = report_path(path, terminal);
        write_report(entry, None, Some(&path), args.verbose, None, terminal)?;
    }
    verdict(entry, &debate, Presence::default(), args.strict)
}

/// The maximum number of characters of a problem to show.
const PROBLEM_WIDTH: usize = 100;

/// Finds the newest debate that can be resumed, and asks whether to resume it. Returns `None` if the user declines.
fn agreed(
    runner: &Runner,
    environment: &Environment,
    args: &ResumeArgs,
    terminal: &mut Terminal,
) -> Result<Option<Entry>, Error> {
    let directory = debates()?;
    let (entry, saved) = newest(&directory, runner, terminal)?.ok_or_else(|| {
        UserError::input(format!("no debate in {} can be resumed", directory.path().display()))
            .with_hint("`dialectic list` shows the saved debates")
    })?;
    let name = directory.short_name(&saved.debate().id).to_owned();
    terminal.notice(&format!("Newest debate to resume: {name}, {}.", described(saved.debate())));
    let own = own(&args.going_on.vouch, &config_files(args.going_on.vouch.config.as_ref(), environment))?;
    let prepared = runner.resume(saved, &own)?;
    let limit = prepared.left()?;
    terminal.notice(&match prepared.forecast() {
        Ok(forecast) => {
            forecast.map_or_else(String::new, |forecast| format!("Remaining: {}.", price_tag(&forecast, limit)))
        }
        Err(error) => format!("Cannot estimate the remaining cost: {error}."),
    });
    // Release the debate's lock while waiting for the user.
    drop(prepared);
    if args.yes {
        return Ok(Some(entry));
    }
    let mut dialogue = Dialogue::open().ok_or_else(|| {
        UserError::input("no debate given, and no terminal to confirm the newest one").with_hint(format!(
            "specify a debate: dialectic resume {name}; or resume the newest: dialectic resume --yes"
        ))
    })?;
    let is_meant = dialogue.confirm("Resume it?", true)?;
    if !is_meant {
        terminal.notice("Nothing was resumed.");
    }
    Ok(is_meant.then_some(entry))
}

/// The newest debate that can be resumed and is not running in another process.
fn newest(
    directory: &Directory,
    runner: &Runner,
    terminal: &mut Terminal,
) -> Result<Option<(Entry, ResumableDebate)>, Error> {
    for entry in directory.entries()? {
        let is_completed = read_state(&entry.state).is_ok_and(|debate| debate.status == Status::Completed);
        if entry.journal.is_none() || is_completed {
            continue;
        }
        match runner.open(&entry) {
            Ok(saved) => return Ok(Some((entry, saved))),
            Err(RunnerError::IsFinished { .. }) => {}
            Err(RunnerError::Store(StoreError::Journal(JournalError::Locked { .. }))) => {
                terminal.notice(&format!("{} is running in another process.", entry.id()));
            }
            Err(error) => terminal.warning(&format!("skipping {}: {error}", entry.id())),
        }
    }
    Ok(None)
}

/// For example, `“Design a queue”, paused in round 2`.
fn described(debate: &Debate) -> String {
    let problem = one_line(&debate.title());
    let shown = truncate(&problem, PROBLEM_WIDTH);
    let more = if shown.len() < problem.len() { "…" } else { "" };
    let how = match debate.status {
        // No process is running the debate, so the process that ran it was killed.
        Status::Running => "interrupted",
        Status::Pending => "not started",
        status @ (Status::Paused | Status::Completed | Status::Failed) => status.name(),
    };
    let round = if debate.current_round == 0 { String::new() } else { format!(" in round {}", debate.current_round) };
    format!("“{shown}{more}”, {how}{round}")
}
