//! `dialectic debate --dry-run`: forecasts a debate without a call or a key.

use serde::Serialize;

use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_engine::engine::{check_prices, check_problem, check_purchase, check_windows};
use dialectic_engine::runner::{Runner, Spec};
use dialectic_record::debate::{Forecast, PlannedCall, Settings};
use dialectic_report::display;

/// The forecast for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForecastJson<'f> {
    calls: &'f [PlannedCall],
    /// `None` if a price is unknown.
    likely_usd: Option<Usd>,
    most_usd: Option<Usd>,
}

pub(super) fn run(spec: &Spec, runner: &Runner, json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let settings = &spec.settings;
    (spec.protocol.check)(settings)?;
    check_problem(&spec.problem, settings)?;
    let forecast = runner.forecast(spec)?;
    if json {
        let (likely_usd, most_usd) = (forecast.likely(), forecast.most());
        terminal.json(&ForecastJson { calls: &forecast.calls, likely_usd, most_usd })?;
        terminal.warnings(check_windows(&forecast.calls, settings)?);
    } else {
        show(&forecast, settings, terminal)?;
    }
    // Refuses the same programs and limits as the debate would.
    terminal.warnings(runner.check_programs(spec)?);
    check_prices(settings)?;
    if let Some(purchase) = &forecast.purchase {
        check_purchase(purchase)?;
        terminal.notice(&display::purchase(purchase));
    }
    Ok(())
}

/// Prints a forecast, and warns of prompts that may be too long.
pub(super) fn show(forecast: &Forecast, settings: &Settings, terminal: &mut Terminal) -> Result<(), Error> {
    let total = display::price_tag(forecast, settings.max_cost());
    // The table is clean, and coloured on a terminal.
    terminal.result(&format!("{}\n\n{}", one_line(&total), display::forecast(forecast, terminal.screen())))?;
    terminal.warnings(check_windows(&forecast.calls, settings)?);
    Ok(())
}
