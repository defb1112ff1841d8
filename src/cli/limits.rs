//! Required limits of commands that start debates for others.

use crate::error::UserError;
use dialectic_engine::access::is_program;
use dialectic_record::debate::Settings;

/// A limit is missing, without which other people could spend freely.
fn missing(command: &str, option: &str, reason: &str) -> UserError {
    UserError::input(format!("{command} needs {option}: {reason}"))
        .with_hint(format!("give {option}; `docs/models.md` explains the limits"))
}

/// A program used by an agent or the judge.
fn called(settings: &Settings) -> Option<&str> {
    settings.everybody().map(|agent| agent.provider.as_str()).find(|name| is_program(name, &settings.providers))
}

/// Checks that calls are limited if a program is used: a subscription has no price, so a cost limit does not apply.
pub(in crate::cli) fn check_calls(command: &'static str, settings: &Settings) -> Result<(), UserError> {
    let configured =
        || settings.providers.keys().map(String::as_str).find(|name| is_program(name, &settings.providers));
    let program = called(settings).or_else(configured).filter(|_| settings.debate.budget.max_calls.is_none());
    program.map_or(Ok(()), |program| {
        let reason = format!("the configuration calls models through a command-line program, `{program}`");
        Err(missing(command, "--max-calls", &reason))
    })
}

/// Checks that cost limits are set. With programs, which have no prices, the limit of calls suffices.
pub(in crate::cli) fn check_cost(
    command: &'static str,
    settings: &Settings,
    options: [(&'static str, bool); 2],
) -> Result<(), UserError> {
    if called(settings).is_some() {
        return Ok(());
    }
    let lacking = options.into_iter().find(|(_, is_there)| !is_there);
    lacking.map_or(Ok(()), |(option, _)| Err(missing(command, option, "its clients can start debates")))
}
