//! `dialectic resume`: continues a debate from its last finished call.

mod newest;

use crate::cli::args::{ResumeArgs, RunArgs, VouchArgs};
use crate::cli::consent;
use crate::cli::output::{detail, report_path, write_report};
use crate::cli::questions::OnQuestions;
use crate::cli::session::{Session, config_files, debates, env_file, runner, vouched};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::money::BudgetLimit;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{DEFAULT_PATH, Overrides, capture_environment, model_warnings};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{RunnerError, renew_limit};
use dialectic_record::debate::{DebateId, Settings};
use dialectic_record::store::Entry;

use super::answer::{TypedAnswers, not_asking};
use super::debate::today;

/// The debate to resume, and how.
pub(super) struct ResumeOrder<'a> {
    pub(super) environment: &'a Environment,
    pub(super) entry: &'a Entry,
    /// Whether the cost was already confirmed.
    pub(super) is_agreed: bool,
    /// Whether to skip to the solution.
    pub(super) finish: bool,
    pub(super) limit: BudgetLimit,
    pub(super) vouch: &'a VouchArgs,
    pub(super) run: &'a RunArgs,
    /// The answers to open questions.
    pub(super) answers: Option<&'a TypedAnswers>,
    pub(super) on_questions: OnQuestions,
}

pub(in crate::cli) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(&env_file(args.run.env_file.as_ref()))?;
    let entry = match &args.debate {
        Some(name) => debates()?.find(name)?,
        None => match newest::agreed(&runner(environment.clone())?, &environment, args, terminal)? {
            Some(entry) => entry,
            None => return Ok(()),
        },
    };
    let order = ResumeOrder {
        environment: &environment,
        entry: &entry,
        // The cost of the newest debate was already confirmed.
        is_agreed: args.debate.is_none(),
        finish: args.finish,
        limit: BudgetLimit { usd: args.max_cost, calls: args.calls.max_calls },
        vouch: &args.vouch,
        run: &args.run,
        answers: None,
        on_questions: if args.run.detach { OnQuestions::Leave } else { OnQuestions::Ask },
    };
    go_on(&order, terminal)
}

/// Resumes and runs a debate.
pub(super) fn go_on(order: &ResumeOrder<'_>, terminal: &mut Terminal) -> Result<(), Error> {
    let ResumeOrder { environment, entry, finish, limit, vouch, run, answers, .. } = *order;
    let runner = runner(environment.clone())?;
    let saved = match runner.open(entry, &[]) {
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
    let given = answers.map(|typed| typed.to(saved.debate())).transpose()?;
    if finish && saved.debate().final_round().is_none() {
        let id = &saved.debate().id;
        return Err(UserError::input(format!("the debate {id} cannot be closed yet: it has no proposal"))
            .with_hint(format!("continue it: dialectic resume {id}"))
            .into());
    }
    let settings = saved.settings().clone();
    let sources = saved.debate().prompt_sources.clone();
    let files = config_files(vouch.config.as_ref(), environment);
    let mut session = Session::open(run, &settings, files.hooks()?, environment, terminal)?;
    let provenance = vouched(saved.provenance(), vouch, &files)?.and_limit(limit);
    let prepared = runner.resume(saved, &provenance)?;
    let of_models = model_warnings(&settings, today());
    terminal.warnings(environment.warnings().iter().chain(&of_models).chain(&prepared.panel().warnings));
    terminal.warnings(sources.iter().flat_map(|before| before.changes(&prepared.panel().sources)));
    for difference in configured_otherwise(&settings, environment) {
        terminal.notice(&difference);
    }
    let foreseen = if order.is_agreed { None } else { consent::agreed(&prepared, &settings, terminal)? };
    let ready = prepared.begin()?;
    // A server with a daily limit counts the maximum spending of this run, not that of an earlier one.
    if let Err(error) = renew_limit(&debates()?, &DebateId::new(entry.id()), limit.usd) {
        terminal.warning(&error.to_string());
    }
    let ready = if finish { ready.closing() } else { ready };
    (session.given, session.on_questions) = (given, order.on_questions);
    session.run(ready, foreseen, terminal)
}

/// Agents whose model differs in the directory's current configuration. The debate uses the saved model, which may
/// surprise a user who edited the file.
fn configured_otherwise(saved: &Settings, environment: &Environment) -> Vec<String> {
    let Some(path) = saved.base_dir.as_ref().map(|directory| directory.join(DEFAULT_PATH)) else { return Vec::new() };
    if !path.is_file() {
        return Vec::new();
    }
    // An unusable configuration does not concern a debate that does not use it.
    let Ok(now) = config_files(Some(&path), environment).load(&Overrides::default()) else {
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

/// For a finished debate, only writes its outputs.
fn finished(id: &DebateId, entry: &Entry, args: &RunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.notice(&format!("The debate {id} is finished."));
    let Some(path) = &args.report else { return Ok(()) };
    let path = report_path(path, terminal);
    write_report(entry, None, Some(&path), detail(args.verbose), None, terminal)
}
