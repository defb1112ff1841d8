//! `dialectic debate --dry-run`: what the debate would take, without a call and without a key.

use std::collections::BTreeSet;

use crate::cli::terminal::Terminal;
use crate::debate::{Created, FORMAT_VERSION, Forecast, Settings};
use crate::display;
use crate::engine::{check_prices, check_purchase, check_windows, forecast, telling_rounds};
use crate::error::Error;
use crate::runner::Spec;

pub(super) fn run(spec: &Spec, routed: &BTreeSet<String>, terminal: &mut Terminal) -> Result<(), Error> {
    let settings = &spec.settings;
    (spec.protocol.check)(settings)?;
    let forecast = forecast_of(spec, settings, routed)?;
    terminal.text(&display::forecast(&forecast, &spec.protocol.infos()))?;
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
pub(super) fn check_prompts(spec: &Spec, terminal: &mut Terminal) -> Result<(), Error> {
    let Some(rounds) = telling_rounds(&spec.settings, spec.problem.len()) else { return Ok(()) };
    let mut shortened = spec.settings.clone();
    shortened.debate.rounds = rounds;
    let forecast = forecast_of(spec, &shortened, &BTreeSet::new())?;
    for warning in check_windows(&forecast.calls, &spec.settings)? {
        terminal.warning(&warning);
    }
    Ok(())
}

fn forecast_of(spec: &Spec, settings: &Settings, routed: &BTreeSet<String>) -> Result<Forecast, Error> {
    let created = |sources: &crate::debate::PromptSources, id| Created {
        format_version: FORMAT_VERSION,
        id,
        problem: spec.problem.clone(),
        context: spec.context.clone(),
        settings: settings.clone(),
        stages: spec.protocol.infos(),
        prompt_sources: sources.clone(),
        seed: settings.debate.seed.unwrap_or_default(),
        forked_from: None,
    };
    Ok(forecast(spec.protocol, settings, routed, created)?)
}
