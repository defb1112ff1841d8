//! `dialectic resume`: carries a debate on from its last finished call.

use crate::cli::args::ResumeArgs;
use crate::cli::output::{detail, report_path, write_report};
use crate::cli::session::{DEBATES, Session, env_file};
use crate::cli::terminal::Terminal;
use crate::config::Environment;
use crate::debate::{DebateId, Status};
use crate::error::Error;
use crate::protocol::Protocol;
use crate::store::{Directory, Entry, Record, read_state};

pub(in crate::cli) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = Directory::at(DEBATES).find(&args.debate)?;
    if entry.journal.is_none() {
        let debate = read_state(&entry.state).map_err(crate::store::StoreError::from)?;
        if debate.status == Status::Completed {
            return finished(&debate.id, &entry, args, terminal);
        }
        return Err(Error::NotResumable { id: debate.id, reason: "it has no journal (older versions kept none)" });
    }
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let (record, contents) = Record::reopen(&entry)?;
    if contents.cut_short {
        terminal.warning("the last line of the journal was cut short by a crash and is dropped");
    }
    let debate = record.debate();
    if debate.status == Status::Completed {
        // A kill behind the last event leaves a state file that does not know of it.
        if read_state(&entry.state).ok().as_ref() != Some(debate) {
            record.write_state()?;
        }
        return finished(&debate.id, &entry, args, terminal);
    }
    let not_resumable = |reason| Error::NotResumable { id: debate.id.clone(), reason };
    let settings = debate.settings.clone().ok_or_else(|| not_resumable("its settings are not saved"))?;
    let protocol =
        Protocol::named(&settings.debate.protocol).ok_or_else(|| not_resumable("its protocol is unknown"))?;
    let mut session = Session::open(&args.run, terminal)?;
    let panel = session.panel(&settings, &environment)?;
    for warning in environment.warnings().iter().chain(&panel.warnings) {
        terminal.warning(warning);
    }
    if debate.prompt_sources.as_ref().is_some_and(|before| *before != panel.sources) {
        terminal.warning("prompts come from other places than when this debate was begun");
    }
    session.run(protocol, panel, record, &contents.events, terminal)
}

/// Nothing is left to do for a finished debate but to report on it.
fn finished(id: &DebateId, entry: &Entry, args: &ResumeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.notice(&format!("The debate {id} is finished; nothing is left to do."));
    let Some(path) = &args.run.report else { return Ok(()) };
    let path = report_path(path, terminal);
    write_report(entry, None, Some(&path), detail(args.run.verbose), terminal)
}
