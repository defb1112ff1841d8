//! What a debate, a question or an evaluation may cost: said before anything is paid, and asked about where it is much or unknown.

use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{confirm_above, process_environment};
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
    terminal: &mut Terminal,
) -> Result<Option<Forecast>, Error> {
    if settings.everybody().all(|agent| agent.provider == OFFLINE) {
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
    if agree(&offer, "Begin?", terminal)? { Ok(forecast) } else { Err(NotAsked::Declined.into()) }
}

/// What is about to be paid for.
#[derive(Clone, Copy)]
pub(super) struct Offer<'a> {
    /// Its calls; absent where they cannot be worked out.
    pub(super) forecast: Option<&'a Forecast>,
    /// What it may cost, if that is limited.
    pub(super) limit: Option<Usd>,
    /// Whether somebody may call tools, which take calls that no figure counts.
    pub(super) tools: bool,
}

impl Offer<'_> {
    /// What it can cost at most; nothing where that is unknown.
    pub(super) fn most(&self) -> Option<Usd> {
        self.forecast.and_then(Forecast::most).filter(|most| !self.tools || *most == Usd::ZERO)
    }
}

/// Says what something takes, and asks a person `question` where no limit holds and it may cost more than the user wants
/// to be asked about, or nobody knows what. Returns
/// whether it may go on.
pub(super) fn agree(offer: &Offer<'_>, question: &str, terminal: &mut Terminal) -> Result<bool, Error> {
    tell(offer, terminal);
    // A file that was found has no say in it: what it sets is not in the process's environment.
    let environment = process_environment();
    let above = confirm_above(&environment)?;
    if offer.limit.is_some() || is_automated(&environment) || offer.most().is_some_and(|most| most <= above) {
        return Ok(true);
    }
    // Nobody is there to ask: then it goes on, as it always did.
    let Ok(mut dialogue) = Dialogue::begin("this command") else { return Ok(true) };
    dialogue.confirm(question, false)
}

/// Says what something takes.
pub(super) fn tell(offer: &Offer<'_>, terminal: &mut Terminal) {
    if let Some(forecast) = offer.forecast {
        terminal.notice(&price_tag(forecast, offer.limit, offer.tools));
    }
}

/// Whether an agent may call tools.
pub(super) fn has_tools(settings: &Settings) -> bool {
    settings.agents.iter().any(|agent| !agent.tools.is_empty())
}

/// Whether it is a machine's terminal.
pub(super) fn is_automated(environment: &Environment) -> bool {
    environment.get("CI").is_some_and(|value| !matches!(value, "" | "0" | "false"))
}
