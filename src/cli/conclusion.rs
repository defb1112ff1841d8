//! Ends a run: prints the result and the outcome, and decides on success or an error.

use std::path::Path;

use crate::error::{Error, ErrorCategory, UserError};
use crate::status::{
    ASKS, OpenQuestion, Presence, STILL_RUNS, Standing, UNCLEAN, is_unclean, open_questions, open_requests,
};
use dialectic_base::sanitize::one_line;
use dialectic_engine::access::key_variable;
use dialectic_engine::engine::RunEnding;
use dialectic_engine::runner::Finished;
use dialectic_record::debate::{Debate, Failure, OutcomeKind, StopReason};
use dialectic_record::ids::CallStatus;
use dialectic_record::store::Entry;
use dialectic_report::display::{StreamEnd, gist, summary};

use super::output::{is_stdout, write_output, write_report};
use super::questions::{listed, listed_requests, to_answer};
use super::session::{Session, short_name, typed_name};
use super::terminal::Terminal;
use super::watchers::Seen;

/// The recorded kind of a failed call if the provider rejected the API key.
const REFUSED_KEY: &str = "unauthorized";

pub(super) fn conclude(
    Finished { debate, ending, is_kept }: Finished,
    seen: &Seen,
    session: &Session<'_>,
    saved_to: &Path,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if seen.stream == StreamEnd::ReaderGone {
        return Err(Error::PipeClosed);
    }
    let args = session.args;
    let entry = Entry::of_state(saved_to);
    let name = typed_name(&entry);
    if args.verbose {
        terminal.notice(&summary(&debate));
    }
    if !is_kept {
        terminal.notice("This debate was not saved: no model was reached and nothing was billed.");
        return Err(failed(&debate, &name, is_kept));
    }
    terminal.notice(&format!("Saved debate to {}", saved_to.display()));
    let questions = open_questions(&debate);
    if ending == RunEnding::Paused && !session.asks_user && !questions.is_empty() {
        terminal.text(&listed(&questions))?;
        return Err(asks(&name, &questions));
    }
    let reported = match (&session.report, ending) {
        // A failed debate gets a report too, since the user wants to know why it failed. A paused debate has not ended.
        (Some(path), RunEnding::Completed | RunEnding::Failed) => {
            write_report(&entry, None, Some(path), args.verbose, None, terminal)
        }
        _ => Ok(()),
    };
    match (finish(&debate, ending, session, &entry, terminal), reported) {
        (Err(error), reported) => {
            if let Err(unreported) = reported {
                terminal.warning(&format!("cannot write the report: {unreported}"));
            }
            Err(error)
        }
        (Ok(()), Err(unreported)) => Err(unreported),
        (Ok(()), Ok(())) if !seen.is_whole => Err(Error::stopped(format!(
            "interrupted; the debate {name} ended and is saved, but some output was not written"
        ))),
        (Ok(()), Ok(())) if seen.stream == StreamEnd::Incomplete => Err(Error::EventsIncomplete),
        (Ok(()), Ok(())) => Ok(()),
    }
}

fn finish(
    debate: &Debate,
    ending: RunEnding,
    session: &Session<'_>,
    entry: &Entry,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let args = session.args;
    let name = &typed_name(entry);
    match ending {
        RunEnding::Paused | RunEnding::Suspended => return Err(Error::Interrupted(name.clone())),
        RunEnding::HostAsked => {
            let requests = open_requests(entry)?;
            terminal.notice(listed_requests(name, &requests).trim());
            let has_outputs = args.output.is_some() || args.report.is_some() || args.events.is_some();
            let wants_end = has_outputs || args.strict || session.is_continued || session.review.is_some();
            return if wants_end { Err(asks_host(name)) } else { terminal.text(debate.id.as_str()) };
        }
        RunEnding::LimitReached => {
            let message = format!("usage limit reached; the debate {name} is saved as paused");
            return Err(to_resume(message, "when your usage limit resets", name));
        }
        RunEnding::ServerGone => {
            let message = format!("server unreachable; the debate {name} is saved as paused");
            return Err(to_resume(message, "when the server is back", name));
        }
        RunEnding::Failed => return Err(failure(debate, name)),
        RunEnding::Completed => {}
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let printed = match (&args.output, session.review) {
        (_, Some(review)) => review.print(debate, args, terminal),
        (Some(path), None) => write_output(path, debate, solution).map(|()| {
            terminal.notice(&format!("Wrote the result to {}", path.display()));
        }),
        (None, None) if args.events.as_deref().is_some_and(is_stdout) => Ok(()),
        (None, None) => {
            let shown = Terminal::shown(debate);
            let answer = shown.final_solution.as_ref().map_or("", |solution| &solution.description);
            terminal.solution(answer, !session.is_first)
        }
    };
    tell_outcome(debate, &short_name(entry), args.quiet, terminal);
    printed?;
    if let Some(review) = session.review {
        review.check_findings(debate)?;
    }
    if is_unclean(debate, args.strict) { Err(unclean(debate, name)) } else { Ok(()) }
}

pub(super) fn verdict(entry: &Entry, debate: &Debate, before: Presence, is_strict: bool) -> Result<(), Error> {
    let id = &typed_name(entry);
    match Standing::of(entry, debate, before) {
        Standing::Completed if is_unclean(debate, is_strict) => Err(unclean(debate, id)),
        Standing::Completed => Ok(()),
        Standing::Failed => Err(failure(debate, id)),
        Standing::Asking if debate.open_questions().next().is_none() => Err(asks_host(id)),
        Standing::Asking => Err(asks(id, &open_questions(debate))),
        Standing::Paused => Err(to_resume(format!("the debate {id} is paused"), "continue with", id)),
        Standing::Interrupted => {
            Err(to_resume(format!("the debate {id} was interrupted: no process is running it"), "continue with", id))
        }
        Standing::Unfinished => {
            let message = format!("the debate {id} is unfinished and cannot be resumed: it has no journal");
            Err(UserError::of(ErrorCategory::Busy, message).into())
        }
        Standing::Running => Err(still_running(id)),
    }
}

fn unclean(debate: &Debate, id: &str) -> Error {
    let answer = debate.answer_state().filter(|answer| !answer.is_clean());
    let answer = answer.map(|answer| format!("; its answer: {answer}")).unwrap_or_default();
    let said = format!("the debate {id} was {}{answer}", debate.run_in_words());
    Error::Coded { code: UNCLEAN, said, hint: Some(format!("`dialectic show {id}` shows why")) }
}

fn asks(id: &str, questions: &[OpenQuestion]) -> Error {
    let hint = format!("answer to continue: {}", to_answer(id, questions));
    Error::Coded { code: ASKS, said: format!("the debate {id} has questions for you"), hint: Some(hint) }
}

pub(super) fn asks_host(id: &str) -> Error {
    let hint = format!("read the requests: dialectic requests {id}");
    Error::Coded { code: ASKS, said: format!("the debate {id} has requests for you"), hint: Some(hint) }
}

pub(super) fn still_running(id: &str) -> Error {
    let hint = format!("keep waiting: dialectic wait {id}");
    Error::Coded { code: STILL_RUNS, said: format!("the debate {id} is still running"), hint: Some(hint) }
}

fn to_resume(message: String, when: &str, id: &str) -> Error {
    UserError::of(ErrorCategory::Busy, message).with_hint(format!("{when}: dialectic resume {id}")).into()
}

pub(super) fn texts_are_saved(id: &str) -> String {
    format!("all texts are saved; fix the cause, then: dialectic resume {id}")
}

fn failure(debate: &Debate, id: &str) -> Error {
    let Some(command) = with_higher_limit(debate, id) else { return failed(debate, id, true) };
    let hint = format!("to continue with a higher limit: {command}");
    debate_failed(id, &reason(debate)).with_hint(hint).into()
}

fn debate_failed(id: &str, reason: &str) -> UserError {
    UserError::of(ErrorCategory::Provider, format!("the debate {id} failed: {reason}"))
}

fn reason(debate: &Debate) -> String {
    debate.error.clone().unwrap_or_else(|| "unknown reason".to_owned())
}

/// Quotes the last failed call of the current round. If all calls failed and the provider rejected the key, names the
/// key's variable.
fn failed(debate: &Debate, id: &str, is_kept: bool) -> Error {
    let of_round = debate.failures.iter().rfind(|failure| failure.key.round == debate.current_round);
    let Some(failure) = of_round else {
        return debate_failed(id, &reason(debate)).with_hint(texts_are_saved(id)).into();
    };
    let is_failed = |settled: &CallStatus| *settled == CallStatus::Failed;
    if debate.settled.is_empty() || !debate.settled.values().all(is_failed) {
        let reason = reason(debate);
        let has_cause = reason.contains(&failure.error);
        let cause = if has_cause { String::new() } else { format!(" ({}: {})", failure.key.agent_id, failure.error) };
        return debate_failed(id, &(reason + &cause)).with_hint(texts_are_saved(id)).into();
    }
    let settings = debate.settings.as_ref();
    let variable = settings.filter(|_| failure.kind.as_deref() == Some(REFUSED_KEY)).and_then(|settings| {
        let agent = settings.everybody().find(|agent| agent.id == failure.key.agent_id)?;
        key_variable(&agent.provider, &settings.providers)
    });
    // The error reads `… (<status>): <the server's message>`.
    let (what, said) = match (failure.error.split_once("): "), &variable) {
        (Some((what, said)), Some(_)) => (format!("{what})"), Some(said.to_owned())),
        _ => (failure.error.clone(), None),
    };
    let is_other = |other: &&Failure| other.error != failure.error;
    let others = debate.failures.iter().filter(is_other).count();
    let check = variable.map_or_else(String::new, |variable| format!(": check {variable}"));
    let others = if others == 0 { String::new() } else { format!(" ({others} failed for other reasons)") };
    let mut failed = UserError::of(ErrorCategory::Provider, format!("all calls failed: {what}{check}{others}"));
    if is_kept {
        failed = failed.with_hint(texts_are_saved(id));
    }
    match said {
        Some(said) => failed.with_source(said).into(),
        None => failed.into(),
    }
}

fn tell_outcome(debate: &Debate, name: &str, quiet: bool, terminal: &mut Terminal) {
    if !quiet && terminal.is_watched() {
        return terminal.footer(debate, name);
    }
    if debate.is_offline() {
        terminal.notice("This was a rehearsal: no model was called. For a real debate, start with `dialectic init`.");
    }
    if let Some(outcome) = debate.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Full) {
        terminal.warning(&format!("this run is {}:", first_word(&debate.run_in_words())));
        terminal.notices(outcome.reasons.iter().map(|reason| format!("  - {reason}")));
    }
    if !quiet {
        terminal.notice(&format!("Run: {}", one_line(&debate.run_in_words())));
        if let Some(answer) = debate.answer_state() {
            terminal.notice(&format!("Answer: {}", one_line(&answer.to_string())));
        }
        terminal.notice(&gist(debate, name, None));
    }
}

pub(super) fn first_word(text: &str) -> &str {
    text.split([' ', ':']).next().unwrap_or(text)
}

/// How to continue with a higher limit if the limit left no room for the judge's answer; otherwise `None`. A debate
/// without texts has nothing to answer from, so resuming it does not help.
fn with_higher_limit(debate: &Debate, id: &str) -> Option<String> {
    let settings = debate.settings.as_ref()?;
    let was_asked = debate.failures.iter().any(|failure| failure.key.agent_id == settings.judge.id);
    if debate.stop_reason != Some(StopReason::Budget) || was_asked {
        return None;
    }
    let command = match debate.final_round() {
        Some(_) => format!("resume {id}"),
        None => format!("fork {id} --at start"),
    };
    let limit = if settings.max_calls().is_some() { "--max-calls <number>" } else { "--max-cost <dollars>" };
    Some(format!("dialectic {command} {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture;

    #[test]
    fn what_the_limit_kept_from_closing_is_resumed_with_a_higher_one() {
        let mut debate = fixture::debate();
        assert_eq!(with_higher_limit(&debate, "d"), None, "no limit stopped it");
        debate.stop_reason = Some(StopReason::Budget);
        let resume = "dialectic resume d --max-cost <dollars>";
        assert_eq!(with_higher_limit(&debate, "d").as_deref(), Some(resume));
        debate.settings.as_mut().unwrap().debate.budget.max_calls = Some(4);
        debate.rounds.clear();
        let fork = "dialectic fork d --at start --max-calls <number>";
        assert_eq!(with_higher_limit(&debate, "d").as_deref(), Some(fork), "there is nothing to close it with");
        debate.failures[0].key.agent_id = debate.settings.as_ref().unwrap().judge.id.clone();
        assert_eq!(with_higher_limit(&debate, "d"), None, "the judge was asked");
    }
}
