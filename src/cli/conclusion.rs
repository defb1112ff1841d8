//! The end of a run: what is said of it, printed and written.

use std::path::Path;

use crate::debate::{Debate, ForkPoint, OutcomeKind, StopReason};
use crate::display::{StreamEnd, summary};
use crate::engine::Ending;
use crate::error::Error;
use crate::llm::presets::OFFLINE;
use crate::store::Entry;

use super::args::RunArgs;
use super::output::{detail, is_stdout, write_output, write_report};
use super::session::Over;
use super::terminal::Terminal;
use super::watchers::Waited;

/// Where a run leaves what lasts.
pub(super) struct Files<'a> {
    /// The state file.
    pub(super) saved_to: &'a Path,
    /// Where the report goes, if there is to be one.
    pub(super) report: Option<&'a Path>,
}

/// Says where the debate is kept, writes the report, and says how it went.
pub(super) fn conclude(
    Over { debate, ending, stream, waited }: Over,
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
    terminal.notice(&format!("Saved debate to {}", files.saved_to.display()));
    let reported = match (files.report, ending) {
        // Of a failed debate, too: what happened is what one wants to know then. A paused one goes on.
        (Some(path), Ending::Completed | Ending::Failed) => {
            write_report(&Entry::of_state(files.saved_to), None, Some(path), detail(args.verbose), terminal)
        }
        _ => Ok(()),
    };
    match (finish(&debate, ending, args, terminal), reported) {
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
fn finish(debate: &Debate, ending: Ending, args: &RunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let id = || debate.id.clone();
    match ending {
        Ending::Paused | Ending::Suspended => return Err(Error::Interrupted { id: id() }),
        Ending::Failed => {
            let reason = debate.error.clone().unwrap_or_else(|| "for an unknown reason".to_owned());
            return Err(match without_room_to_close(debate) {
                Some(at) => Error::NoRoomToClose { id: id(), reason, at },
                None => Error::DebateFailed { id: id(), reason },
            });
        }
        Ending::Completed => {}
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let printed = match &args.output {
        Some(path) => write_output(path, debate, solution).map(|()| {
            terminal.notice(&format!("Wrote the result to {}", path.display()));
        }),
        None if args.events.as_deref().is_some_and(is_stdout) => Ok(()),
        None => terminal.markdown(solution),
    };
    tell_outcome(debate, terminal);
    let is_full = debate.outcome.as_ref().is_none_or(|outcome| outcome.kind == OutcomeKind::Full);
    if args.strict && !is_full { Err(Error::NotFull { id: id() }) } else { printed }
}

/// Says everything that kept a finished debate from being a full one.
pub(super) fn tell_outcome(debate: &Debate, terminal: &mut Terminal) {
    if is_offline(debate) {
        terminal.notice("No model was called: the offline provider works by rules. For a real debate see the README.");
    }
    if let Some(outcome) = debate.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Full) {
        terminal.warning(&format!("this debate ended {}:", outcome.kind.name()));
        for reason in &outcome.reasons {
            terminal.notice(&format!("  - {reason}"));
        }
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

/// Whether no agent and no judge of this debate is a model.
fn is_offline(debate: &Debate) -> bool {
    let settings = debate.settings.iter();
    settings.flat_map(|settings| settings.agents.iter().chain([&settings.judge])).all(|agent| agent.provider == OFFLINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::fixture::{self, pitching};

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
