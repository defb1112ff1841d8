//! `dialectic resume`: carries a debate on from its last finished call.

use crate::cli::args::ResumeArgs;
use crate::cli::output::{detail, report_path, write_report};
use crate::cli::session::{DEBATES, Session, env_file, of_record};
use crate::cli::terminal::Terminal;
use crate::config::{ConfigPath, DEFAULT_PATH, Environment, Overrides, elsewhere, model_warnings};
use crate::debate::{DebateId, Settings, Status};
use crate::engine::Course;
use crate::error::Error;
use crate::llm::presets::OFFLINE;
use crate::protocol::Protocol;
use crate::store::{Directory, Entry, Record, read_state};

use super::debate::{load_settings, today};

pub(in crate::cli) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = Directory::at(DEBATES).find(&args.debate)?;
    if entry.journal.is_none() {
        let debate = read_state(&entry.state).map_err(crate::store::StoreError::from)?;
        if debate.status == Status::Completed {
            return finished(&debate.id, &entry, args, terminal);
        }
        if let Some(path) = entry.journal_gone() {
            return Err(Error::JournalGone { id: debate.id, path });
        }
        return Err(Error::NotResumable { id: debate.id, reason: "it has no journal (older versions kept none)" });
    }
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let (record, contents) = Record::reopen(&entry)?;
    if contents.cut_short {
        terminal.warning("the last line of the journal was cut short by a crash and is dropped");
    }
    let state = read_state(&entry.state);
    if let Some(unreadable) = state.as_ref().err().filter(|error| !error.is_missing()) {
        terminal.warning(&format!("{unreadable}; it is written anew from the journal"));
    }
    let debate = record.debate();
    if debate.status == Status::Completed {
        // A kill behind the last event leaves a state file that does not know of it.
        if state.ok().as_ref() != Some(debate) {
            record.write_state()?;
        }
        return finished(&debate.id, &entry, args, terminal);
    }
    let not_resumable = |reason| Error::NotResumable { id: debate.id.clone(), reason };
    let mut settings = debate.settings.clone().ok_or_else(|| not_resumable("its settings are not saved"))?;
    settings.elsewhere = elsewhere(&settings, &environment);
    let protocol =
        Protocol::named(&settings.debate.protocol).ok_or_else(|| not_resumable("its protocol is unknown"))?;
    let course = if args.finish { Course::Closing } else { Course::Regular };
    if args.finish && debate.final_round().is_none() {
        return Err(Error::NothingToFinish { id: debate.id.clone() });
    }
    let mut session = Session::open(&args.run, &settings, terminal)?.heading(course);
    let journal = entry.journal.as_deref().unwrap_or(&entry.state);
    let provenance = of_record(&args.vouch, journal, debate.prompt_sources.as_ref(), &environment)?;
    let panel = session.panel(&settings, &environment, &provenance, terminal)?;
    let of_models = model_warnings(&settings, today());
    for warning in environment.warnings().iter().chain(&of_models).chain(&panel.warnings) {
        terminal.warning(warning);
    }
    for change in debate.prompt_sources.iter().flat_map(|before| before.changes(&panel.sources)) {
        terminal.warning(&change);
    }
    for difference in configured_otherwise(&settings, &environment) {
        terminal.notice(&difference);
    }
    session.run(protocol, panel, record, &contents.events, terminal)
}

/// Who has another model in the configuration that lies where this debate's lay. The debate goes on with what was
/// saved; a user who changed the file may expect otherwise.
fn configured_otherwise(saved: &Settings, environment: &Environment) -> Vec<String> {
    let Some(path) = saved.base_dir.as_ref().map(|directory| directory.join(DEFAULT_PATH)) else { return Vec::new() };
    if !path.is_file() {
        return Vec::new();
    }
    // A configuration that cannot be used now is no matter of a debate that does not use it.
    let Ok(now) = load_settings(&ConfigPath::Named(path), environment, &Overrides::default()) else {
        return Vec::new();
    };
    let now = now.settings;
    let saved = saved.agents.iter().chain([&saved.judge]).filter(|agent| agent.provider != OFFLINE);
    let differing = saved.filter_map(|agent| {
        let now = now.agents.iter().chain([&now.judge]).find(|now| now.id == agent.id)?;
        ((&now.model, &now.provider) != (&agent.model, &agent.provider)).then(|| {
            let (id, model, provider) = (&agent.id, &agent.model, &agent.provider);
            format!(
                "{id} goes on with {model} ({provider}), as saved; the configuration says {} ({})",
                now.model, now.provider
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
    write_report(entry, None, Some(&path), detail(args.run.verbose), terminal)
}
