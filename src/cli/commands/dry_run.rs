//! `dialectic debate --dry-run`: what the debate would take, without a call and without a key.

use crate::cli::terminal::Terminal;
use crate::debate::{Created, DebateId, PromptSources, Settings, Span, Usd};
use crate::display;
use crate::engine::forecast;
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
    terminal.result(&display::forecast(&forecast))?;
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
