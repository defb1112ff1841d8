//! `dialectic resume` without a debate: selects and confirms the newest one.

use crate::cli::args::ResumeArgs;
use crate::cli::consent::has_tools;
use crate::cli::dialogue::Dialogue;
use crate::cli::session::{config_files, debates, own};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::one_line;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{ResumableDebate, Runner, RunnerError};
use dialectic_record::debate::{Debate, Status};
use dialectic_record::store::{Directory, Entry, JournalError, StoreError, read_state};
use dialectic_report::display::price_tag;

/// The maximum number of characters shown of a problem.
const PROBLEM_WIDTH: usize = 100;

/// The newest resumable debate, once the user has confirmed its cost; `None` if declined.
pub(super) fn agreed(
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
    let own = own(&args.vouch, &config_files(args.vouch.config.as_ref(), environment))?;
    let tools = has_tools(saved.settings());
    let prepared = runner.resume(saved, &own)?;
    let limit = prepared.left()?;
    terminal.notice(&match prepared.forecast() {
        Ok(forecast) => {
            forecast.map_or_else(String::new, |forecast| format!("Remaining: {}.", price_tag(&forecast, limit, tools)))
        }
        Err(error) => format!("The remaining cost cannot be estimated: {error}."),
    });
    // Releases the lock while the user thinks.
    drop(prepared);
    if args.yes {
        return Ok(Some(entry));
    }
    let mut dialogue = Dialogue::begin("`dialectic resume`").map_err(|_| {
        UserError::input("no debate is named to resume, and there is no terminal to ask")
            .with_hint(format!("name it: dialectic resume {name}; or resume the newest: dialectic resume --yes"))
    })?;
    let is_meant = dialogue.confirm("Resume it?", true)?;
    if !is_meant {
        terminal.notice("Nothing was resumed.");
    }
    Ok(is_meant.then_some(entry))
}

/// The newest unfinished debate that does not run elsewhere and can be resumed.
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
        match runner.open(&entry, &[]) {
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

/// `“Design a queue”, paused in round 2`
fn described(debate: &Debate) -> String {
    let problem = one_line(&debate.title());
    let shown = truncate(&problem, PROBLEM_WIDTH);
    let more = if shown.len() < problem.len() { "…" } else { "" };
    // It is not running, so it was killed.
    let how = match debate.status {
        Status::Running => "interrupted",
        Status::Pending => "not started",
        status @ (Status::Paused | Status::Completed | Status::Failed) => status.name(),
    };
    let round = if debate.current_round == 0 { String::new() } else { format!(" in round {}", debate.current_round) };
    format!("“{shown}{more}”, {how}{round}")
}
