//! `dialectic debate --dry-run`: what the debate would take, without a call and without a key.

use std::collections::BTreeSet;

use crate::cli::terminal::Terminal;
use crate::debate::{Created, DebateId, PromptSources, Settings};
use crate::display;
use crate::engine::{check_prices, check_purchase, check_windows, forecast, telling_rounds};
use crate::error::Error;
use crate::protocol::Protocol;

pub(super) fn run(
    protocol: &'static Protocol,
    settings: &Settings,
    routed: &BTreeSet<String>,
    created: impl Fn(&PromptSources, DebateId) -> Created,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let forecast = runtime.block_on(forecast(protocol, settings, routed, created))?;
    terminal.text(&display::forecast(&forecast))?;
    for warning in check_windows(&forecast.calls, settings)? {
        terminal.warning(&warning);
    }
    // A limit that the debate would be refused for is refused here, too.
    check_prices(settings)?;
    if let Some(purchase) = &forecast.purchase {
        check_purchase(purchase)?;
        terminal.notice(&display::purchase(purchase));
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
    let forecast = runtime.block_on(forecast(protocol, &shortened(settings.clone()), &BTreeSet::new(), begun))?;
    for warning in check_windows(&forecast.calls, settings)? {
        terminal.warning(&warning);
    }
    Ok(())
}
