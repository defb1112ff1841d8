//! Reports the cost of a debate, a question or an evaluation before anything is paid, and asks for confirmation if it
//! is high or unknown.

use dialectic_base::money::Usd;
use dialectic_base::provider::calls_models;
use dialectic_config::{confirm_above, process_environment};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Prepared;
use dialectic_record::debate::{Forecast, Settings};
use dialectic_report::display::price_tag;

use super::dialogue::Dialogue;
use super::terminal::Terminal;
use crate::error::Error;

/// Reports the cost of a debate and asks for confirmation if no limit applies and it may exceed the user's threshold.
/// Returns the forecast; `None` if no model is called.
pub(super) fn agreed(
    prepared: &Prepared,
    settings: &Settings,
    terminal: &mut Terminal,
) -> Result<Option<Forecast>, Error> {
    if !settings.everybody().any(|agent| calls_models(&agent.provider)) {
        return Ok(None);
    }
    let limit = prepared.left()?;
    let forecast = match prepared.forecast() {
        Ok(forecast) => forecast,
        Err(error) => {
            terminal.warning(&format!("the cost cannot be estimated: {error}"));
            None
        }
    };
    let offer = Offer { forecast: forecast.as_ref(), limit, tools: has_tools(settings) };
    if agree(&offer, "Begin?", terminal)? { Ok(forecast) } else { Err(Error::Declined) }
}

/// The offered work.
#[derive(Clone, Copy)]
pub(super) struct Offer<'a> {
    /// The calls; `None` if they could not be computed.
    pub(super) forecast: Option<&'a Forecast>,
    pub(super) limit: Option<Usd>,
    /// Whether agents may call tools, which no figure includes.
    pub(super) tools: bool,
}

impl Offer<'_> {
    /// The maximum cost; `None` if unknown.
    pub(super) fn most(&self) -> Option<Usd> {
        self.forecast.and_then(Forecast::most).filter(|most| !self.tools || *most == Usd::ZERO)
    }
}

/// Reports the cost and asks `question` if no limit applies and it may exceed the user's threshold, or is unknown.
/// Returns whether to proceed.
pub(super) fn agree(offer: &Offer<'_>, question: &str, terminal: &mut Terminal) -> Result<bool, Error> {
    tell(offer, terminal);
    may_begin(offer.limit, offer.most(), question)
}

/// Asks `question` if no limit applies and the cost may exceed the user's threshold, or its maximum is unknown. Returns
/// whether to proceed.
pub(super) fn may_begin(limit: Option<Usd>, most: Option<Usd>, question: &str) -> Result<bool, Error> {
    // Found files cannot influence this: only the process's environment counts.
    let environment = process_environment();
    let above = confirm_above(&environment)?;
    if limit.is_some() || is_automated(&environment) || most.is_some_and(|most| most <= above) {
        return Ok(true);
    }
    // Without a terminal the command proceeds, as always.
    let Ok(mut dialogue) = Dialogue::begin("this command") else { return Ok(true) };
    dialogue.confirm(question, false)
}

/// Reports the cost.
fn tell(offer: &Offer<'_>, terminal: &mut Terminal) {
    if let Some(forecast) = offer.forecast {
        terminal.notice(&price_tag(forecast, offer.limit, offer.tools));
    }
}

/// Whether any agent may call tools.
pub(super) fn has_tools(settings: &Settings) -> bool {
    settings.agents.iter().any(|agent| !agent.tools.is_empty())
}

/// Whether the terminal belongs to an automated system.
pub(super) fn is_automated(environment: &Environment) -> bool {
    environment.get("CI").is_some_and(|value| !matches!(value, "" | "0" | "false"))
}
