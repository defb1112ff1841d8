//! What a debate may cost: said before anything is paid, and asked about where it is much or unknown.

use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::confirm_above;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Prepared;
use dialectic_record::debate::{Forecast, Settings};
use dialectic_report::display::price_tag;

use super::dialogue::{Dialogue, NotAsked};
use super::terminal::Terminal;
use crate::error::Error;

/// Says what the debate takes and asks a person whether it may, where no limit holds and it may cost more than the user
/// wants to be asked about. Returns what was foreseen; nothing of a debate that calls no model.
pub(super) fn agreed(
    prepared: &Prepared,
    settings: &Settings,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Option<Forecast>, Error> {
    if settings.everybody().all(|agent| agent.provider == OFFLINE) {
        return Ok(None);
    }
    let limit = prepared.left()?;
    let forecast = prepared.forecast()?;
    if let Some(forecast) = &forecast {
        terminal.notice(&price_tag(forecast, limit, has_tools(settings)));
    }
    // Tools take calls that no figure counts.
    let most = forecast.as_ref().and_then(Forecast::most).filter(|most| !has_tools(settings) || *most == Usd::ZERO);
    let above = confirm_above(environment)?;
    if limit.is_some() || is_automated(environment) || most.is_some_and(|most| most <= above) {
        return Ok(forecast);
    }
    // Nobody is there to ask: then it goes on, as it always did.
    let Ok(mut dialogue) = Dialogue::begin("`dialectic debate`") else { return Ok(forecast) };
    if dialogue.confirm("Begin?", false)? { Ok(forecast) } else { Err(NotAsked::Declined.into()) }
}

/// Whether an agent may call tools.
pub(super) fn has_tools(settings: &Settings) -> bool {
    settings.agents.iter().any(|agent| !agent.tools.is_empty())
}

/// Whether it is a machine's terminal.
pub(super) fn is_automated(environment: &Environment) -> bool {
    environment.get("CI").is_some_and(|value| !matches!(value, "" | "0" | "false"))
}
