//! `dialectic debate --dry-run`: what the debate would take, without a call and without a key.

use crate::cli::terminal::Terminal;
use crate::debate::{Created, DebateId, PromptSources, Settings, Span, Usd};
use crate::display;
use crate::engine::{check_windows, forecast, telling_rounds};
use crate::error::Error;
use crate::llm::{Budget, BudgetError};
use crate::protocol::Protocol;

pub(super) fn run(
    protocol: &'static Protocol,
    settings: &Settings,
    created: impl Fn(&PromptSources, DebateId) -> Created,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let forecast = runtime.block_on(forecast(protocol, settings, created))?;
    terminal.text(&display::forecast(&forecast))?;
    for warning in check_windows(&forecast.calls, settings)? {
        terminal.warning(&warning);
    }
    // A limit that the debate would be refused for is refused here, too.
    if let Some(limit) = Budget::of(settings, Usd::ZERO)?.map(|budget| budget.limit()) {
        if let Some(needed) = forecast.least_closing.filter(|needed| *needed > limit) {
            return Err(BudgetError::TooLow { limit, needed }.into());
        }
        let most = forecast.calls.iter().map(|call| call.cost).sum::<Option<Span<_>>>();
        if most.is_none_or(|most| most.high > limit) {
            terminal.notice(&format!("The cost limit is {limit}: the debate would close before it costs more."));
        }
    }
    Ok(())
}

/// Sees to it that the prompts of a debate that is about to begin fit into what its models read, where that is in
/// question.
pub(super) fn check_prompts(
    protocol: &'static Protocol,
    settings: &Settings,
    created: impl Fn(&PromptSources, DebateId) -> Created,
    problem: &str,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let Some(rounds) = telling_rounds(settings, problem.len()) else { return Ok(()) };
    let shortened = |mut settings: Settings| {
        settings.debate.rounds = rounds;
        settings
    };
    let begun = |sources: &PromptSources, id| {
        let created = created(sources, id);
        Created { settings: shortened(created.settings.clone()), ..created }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let forecast = runtime.block_on(forecast(protocol, &shortened(settings.clone()), begun))?;
    for warning in check_windows(&forecast.calls, settings)? {
        terminal.warning(&warning);
    }
    Ok(())
}
