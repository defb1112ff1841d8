//! `dialectic resume`: carries a debate on from its last finished call.

mod newest;

use crate::cli::args::ResumeArgs;
use crate::cli::consent;
use crate::cli::output::{detail, report_path, write_report};
use crate::cli::session::{Session, config_files, debates, env_file, runner, vouched};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::money::BudgetLimit;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{DEFAULT_PATH, Overrides, capture_environment, model_warnings};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::RunnerError;
use dialectic_record::debate::{DebateId, Settings};
use dialectic_record::store::Entry;

use super::debate::today;

pub(in crate::cli) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(&env_file(args.run.env_file.as_ref()))?;
    let runner = runner(environment.clone())?;
    let entry = match &args.debate {
        Some(name) => debates()?.find(name)?,
        None => match newest::agreed(&runner, &environment, args, terminal)? {
            Some(entry) => entry,
            None => return Ok(()),
        },
    };
    let saved = match runner.open(&entry, &[]) {
        Err(RunnerError::IsFinished { id, warnings }) => {
            for warning in &warnings {
                terminal.warning(warning);
            }
            return finished(&id, &entry, args, terminal);
        }
        opened => opened?,
    };
    for warning in saved.warnings() {
        terminal.warning(warning);
    }
    if args.finish && saved.debate().final_round().is_none() {
        return Err(Error::NothingToFinish { id: saved.debate().id.clone() });
    }
    let settings = saved.settings().clone();
    let sources = saved.debate().prompt_sources.clone();
    let files = config_files(args.vouch.config.as_ref(), &environment);
    let session = Session::open(&args.run, &settings, files.hooks()?, &environment, terminal)?;
    let provenance = vouched(saved.provenance(), &args.vouch, &files)?
        .and_limit(BudgetLimit { usd: args.max_cost, calls: args.calls.max_calls })
        .and_calls_per_day(args.calls.max_calls_per_day);
    let prepared = runner.resume(saved, &provenance)?;
    let of_models = model_warnings(&settings, today());
    for warning in environment.warnings().iter().chain(&of_models).chain(&prepared.panel().warnings) {
        terminal.warning(warning);
    }
    for change in sources.iter().flat_map(|before| before.changes(&prepared.panel().sources)) {
        terminal.warning(&change);
    }
    for difference in configured_otherwise(&settings, &environment) {
        terminal.notice(&difference);
    }
    // Of the newest one it was said and asked already.
    let foreseen = match &args.debate {
        Some(_) => consent::agreed(&prepared, &settings, terminal)?,
        None => None,
    };
    let ready = prepared.begin()?;
    session.run(if args.finish { ready.closing() } else { ready }, foreseen, terminal)
}

/// Agents whose model differs in the current configuration of that directory. The debate goes on with what was saved; a
/// user who changed the file may expect otherwise.
fn configured_otherwise(saved: &Settings, environment: &Environment) -> Vec<String> {
    let Some(path) = saved.base_dir.as_ref().map(|directory| directory.join(DEFAULT_PATH)) else { return Vec::new() };
    if !path.is_file() {
        return Vec::new();
    }
    // A configuration that cannot be used now is no matter of a debate that does not use it.
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

/// Nothing is left to do for a finished debate but to report on it.
fn finished(id: &DebateId, entry: &Entry, args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.notice(&format!("The debate {id} is finished; nothing is left to do."));
    let Some(path) = &args.run.report else { return Ok(()) };
    let path = report_path(path, terminal);
    write_report(entry, None, Some(&path), detail(args.run.verbose), None, terminal)
}
