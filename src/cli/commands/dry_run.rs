//! `dialectic debate --dry-run`: what the debate would take, without a call and without a key.

use crate::cli::terminal::Terminal;
use crate::debate::{Created, DebateId, PromptSources, Settings, Span};
use crate::display;
use crate::engine::forecast;
use crate::error::Error;
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
    if let Some(limit) = settings.debate.budget.max_cost_usd {
        let most = forecast.calls.iter().map(|call| call.cost).sum::<Option<Span<_>>>();
        if most.is_none_or(|most| most.high > limit) {
            terminal.notice(&format!("The cost limit is {limit}: the debate would close before it costs more."));
        }
    }
    Ok(())
}
