//! The end of a run: what is said of it, printed and written.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, ForeignMessage};
use crate::status::{Presence, Standing, open_questions};
use dialectic_engine::access::key_variable;
use dialectic_engine::engine::RunEnding;
use dialectic_record::debate::{Brief, CallStatus, Debate, Failure, ForkPoint, OutcomeKind, StopReason};
use dialectic_record::store::Entry;
use dialectic_report::display::{Ended, StreamEnd, gist, summary};

use super::args::{RunArgs, Watch};
use super::output::{Readership, detail, is_stdout, write_output, write_report};
use super::questions::{OnQuestions, listed};
use super::session::{Over, debates};
use super::terminal::Terminal;
use super::watchers::Waited;

/// The kind of a failure for which a key is to be looked at.
const REFUSED_KEY: &str = "unauthorized";

/// Where a run leaves what lasts.
pub(super) struct Files<'a> {
    /// The state file.
    pub(super) saved_to: &'a Path,
    /// Where the report goes, if there is to be one.
    pub(super) report: Option<&'a Path>,
    /// How long the run took.
    pub(super) took: Duration,
    /// Whether this is the first debate of the directory: who has never seen a result is not put into a pager.
    pub(super) is_first: bool,
}

/// Says where the debate is kept, writes the report, and says how it went.
pub(super) fn conclude(
    Over { debate, ending, is_kept, stream, waited, on_questions }: Over,
    files: &Files<'_>,
    args: &RunArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if stream == StreamEnd::ReaderGone {
        return Err(Error::PipeClosed);
    }
    if args.verbose {
        terminal.notice(&summary(&debate));
    }
    if !is_kept {
        terminal.notice("This debate leaves no record: no model was reached and nothing was billed.");
        return Err(failed(&debate, is_kept));
    }
    terminal.notice(&format!("Saved debate to {}", files.saved_to.display()));
    let questions = open_questions(&debate);
    if ending == RunEnding::Paused && on_questions == OnQuestions::Leave && !questions.is_empty() {
        terminal.text(&listed(&questions))?;
        return Err(Error::Asks { id: debate.id });
    }
    let reported = match (files.report, ending) {
        // Of a failed debate, too: what happened is what one wants to know then. A paused one goes on.
        (Some(path), RunEnding::Completed | RunEnding::Failed) => write_report(
            &Entry::of_state(files.saved_to),
            None,
            Some(path),
            detail(args.verbose),
            None,
            Readership::Owner,
            terminal,
        ),
        _ => Ok(()),
    };
    match (finish(&debate, ending, files, args, terminal), reported) {
        (Err(error), reported) => {
            if let Err(unreported) = reported {
                terminal.warning(&format!("the report is missing: {unreported}"));
            }
            Err(error)
        }
        (Ok(()), Err(unreported)) => Err(unreported),
        (Ok(()), Ok(())) if waited == Waited::NotToTheEnd => Err(Error::InterruptedAtEnd { id: debate.id }),
        (Ok(()), Ok(())) if stream == StreamEnd::Incomplete => Err(Error::EventsIncomplete),
        (Ok(()), Ok(())) => Ok(()),
    }
}

/// Prints the result, and says everything that kept the debate from being full.
fn finish(
    debate: &Debate,
    ending: RunEnding,
    files: &Files<'_>,
    args: &RunArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let id = || debate.id.clone();
    match ending {
        RunEnding::Paused | RunEnding::Suspended => return Err(Error::Interrupted { id: id() }),
        RunEnding::LimitReached => return Err(Error::LimitReached { id: id() }),
        RunEnding::ServerGone => return Err(Error::ServerGone { id: id() }),
        RunEnding::Failed => return Err(failure(debate)),
        RunEnding::Completed => {}
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let printed = match &args.output {
        Some(path) => write_output(path, debate, solution).map(|()| {
            terminal.notice(&format!("Wrote the result to {}", path.display()));
        }),
        None if args.events.as_deref().is_some_and(is_stdout) => Ok(()),
        None => terminal.solution(&with_brief(debate, solution), !args.watch.no_pager && !files.is_first),
    };
    tell_outcome(debate, files.took, args.watch.watch(), terminal);
    let is_full = debate.outcome.as_ref().is_none_or(|outcome| outcome.kind == OutcomeKind::Full);
    if args.strict && !is_full { Err(Error::NotFull { id: id() }) } else { printed }
}

/// How a saved debate ended, as the command ended or would have ended that ran it; or why it has not ended.
pub(super) fn verdict(entry: &Entry, debate: &Debate, before: Presence, is_strict: bool) -> Result<(), Error> {
    let id = debate.id.clone();
    match Standing::of(entry, debate, before) {
        Standing::Completed => {
            let is_full = debate.outcome.as_ref().is_none_or(|outcome| outcome.kind == OutcomeKind::Full);
            if is_strict && !is_full { Err(Error::NotFull { id }) } else { Ok(()) }
        }
        Standing::Failed => Err(failure(debate)),
        Standing::Asking => Err(Error::Asks { id }),
        Standing::Paused => Err(Error::Paused { id }),
        Standing::Interrupted | Standing::Unfinished => Err(Error::Killed { id }),
        Standing::Running => Err(Error::StillRunning { id }),
    }
}

/// Why a debate on record failed.
fn failure(debate: &Debate) -> Error {
    match without_room_to_close(debate) {
        Some(at) => Error::NoRoomToClose { id: debate.id.clone(), reason: reason(debate), at },
        None => failed(debate, true),
    }
}

/// What is printed of a solution: what the texts of a quick debate come to stands above it.
pub(super) fn with_brief<'a>(debate: &Debate, solution: &'a str) -> Cow<'a, str> {
    let brief = debate.final_solution.as_ref().and_then(|solution| solution.brief.as_ref());
    let lines = brief.map(Brief::lines).unwrap_or_default();
    if lines.is_empty() { solution.into() } else { format!("{}\n\n{solution}", lines.join("  \n")).into() }
}

fn reason(debate: &Debate) -> String {
    debate.error.clone().unwrap_or_else(|| "for an unknown reason".to_owned())
}

/// Why a debate failed: the error of its calls, if they are the cause.
fn failed(debate: &Debate, is_kept: bool) -> Error {
    let id = debate.id.clone();
    let of_round = debate.failures.iter().rfind(|failure| failure.key.round == debate.current_round);
    let Some(failure) = of_round else { return Error::DebateFailed { id, reason: reason(debate) } };
    let is_failed = |settled: &CallStatus| *settled == CallStatus::Failed;
    if debate.settled.is_empty() || !debate.settled.values().all(is_failed) {
        let reason = reason(debate);
        let has_cause = reason.contains(&failure.error);
        let cause = if has_cause { String::new() } else { format!(" ({}: {})", failure.key.agent_id, failure.error) };
        return Error::DebateFailed { id, reason: reason + &cause };
    }
    let settings = debate.settings.as_ref();
    let variable = settings.filter(|_| failure.kind.as_deref() == Some(REFUSED_KEY)).and_then(|settings| {
        let agent = settings.everybody().find(|agent| agent.id == failure.key.agent_id)?;
        key_variable(&agent.provider, &settings.providers)
    });
    // After the status stands what the server says.
    let (what, said) = match (failure.error.split_once("): "), &variable) {
        (Some((what, said)), Some(_)) => (format!("{what})"), Some(ForeignMessage(said.to_owned()))),
        _ => (failure.error.clone(), None),
    };
    let is_other = |other: &&Failure| other.error != failure.error;
    let others = debate.failures.iter().filter(is_other).count();
    Error::AllCallsFailed { id, what, check: variable.map(str::to_owned), others, said, is_kept }
}

/// Says everything that kept a finished debate from being a full one.
pub(super) fn tell_outcome(debate: &Debate, took: Duration, watch: Watch, terminal: &mut Terminal) {
    let name =
        debates().map_or_else(|_| debate.id.to_string(), |directory| directory.short_name(&debate.id).to_owned());
    if terminal.shows_footer(watch) {
        return terminal.footer(Ended { debate, took, is_offline: debate.is_offline() }, &name);
    }
    if debate.is_offline() {
        terminal.notice(
            "No model was called: the offline provider plays a prepared debate. For a real one see the README.",
        );
    }
    if let Some(outcome) = debate.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Full) {
        terminal.warning(&format!("this debate ended {}:", outcome.kind.name()));
        for reason in &outcome.reasons {
            terminal.notice(&format!("  - {reason}"));
        }
    }
    if watch != Watch::Quiet {
        terminal.notice(&gist(debate, &name, None));
    }
}

/// Where a fork could be closed, if the cost limit kept the judge from being asked: to resume the debate would change
/// nothing.
fn without_room_to_close(debate: &Debate) -> Option<ForkPoint> {
    let closing = debate.stages.last()?.id;
    let was_asked = debate.failures.iter().any(|failure| failure.key.stage == closing);
    if debate.stop_reason != Some(StopReason::Budget) || was_asked {
        return None;
    }
    let at_the_closing = |_| ForkPoint::before(debate.current_round, closing);
    Some(debate.final_round().map_or(ForkPoint::START, at_the_closing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture;
    use dialectic_record::debate::fixture::pitching;

    #[test]
    fn what_the_limit_kept_from_closing_is_forked_at_the_stage_that_closes() {
        let at = |debate: &Debate| without_room_to_close(debate).map(|at| at.to_string());
        let mut debate = fixture::debate();
        let closing = pitching::stages().last().cloned();
        debate.stages = debate.stages.iter().cloned().chain(closing).collect();
        assert_eq!(at(&debate), None, "no limit stopped it");
        debate.stop_reason = Some(StopReason::Budget);
        assert_eq!(at(&debate).as_deref(), Some("2.ruling"));
        debate.rounds.clear();
        assert_eq!(at(&debate).as_deref(), Some("start"), "there is nothing to close it with");
        debate.failures[0].key.stage = pitching::RULING;
        assert_eq!(at(&debate), None, "the judge was asked");
    }
}
