//! What the debate took: tokens and cost by agent and round, and by model.

use std::fmt::Display;

use crate::debate::{ModelUsage, Usd};
use crate::figures::{cost, thousands};
use crate::report::View;

use super::calls::Call;
use super::cast::{Actor, Cast};
use super::ledger::{Amounts, Ledger, Stage};
use super::markup::{Markup, html, push};
use super::table::{Column, table};
use super::text::name;

/// The section.
pub(super) fn usage(view: &View<'_>, cast: &Cast<'_>, calls: &[Call<'_>]) -> Markup {
    let ledger = Ledger::of(view, cast, calls);
    let mut section = Markup::default();
    if !ledger.stages().is_empty() {
        if calls.is_empty() {
            let lead = "Without a journal this counts what the saved texts say of themselves. Calls of the judge and \
                        what each call cost are not on record.";
            push!(section, "<p class=\"lead\">{}</p>\n", lead);
        }
        push!(section, "{}", by_agent(cast, &ledger));
    }
    if !view.debate.usage.is_empty() {
        push!(section, "{}", by_model(view));
    }
    section
}

fn by_agent(cast: &Cast<'_>, ledger: &Ledger) -> Markup {
    let stages = ledger.stages();
    let actors = || cast.actors().iter().enumerate();
    let cells = actors().flat_map(|(place, _)| stages.iter().filter_map(move |stage| ledger.at(place, *stage)));
    let most = cells.map(|amounts| amounts.known_tokens).max().unwrap_or(0);
    let mut rows = Markup::default();
    for (place, actor) in actors() {
        push!(rows, "<tr><th scope=\"row\">{}</th>", actor.chip());
        for stage in &stages {
            push!(rows, "{}", cell(ledger.at(place, *stage), actor, most));
        }
        push!(rows, "<td class=\"number total\">{}</td></tr>\n", figures(&ledger.sum(|who, _| who == place)));
    }
    let mut foot = html!("<tr><th scope=\"row\">All</th>");
    for stage in &stages {
        push!(foot, "<td class=\"number\">{}</td>", figures(&ledger.sum(|_, when| when == *stage)));
    }
    push!(foot, "<td class=\"number total\">{}</td></tr>", figures(&ledger.sum(|_, _| true)));
    let labels = stages.iter().map(|stage| Column::number(&label(*stage)));
    let columns: Vec<Column> =
        [Column::words("Who")].into_iter().chain(labels).chain([Column::number("All")]).collect();
    table("usage", "Tokens and cost by agent and round; bars compare tokens", &columns, &rows, &foot)
}

fn label(stage: Stage) -> String {
    match stage {
        Stage::Before => "Before".to_owned(),
        Stage::Round(round) => format!("Round {round}"),
        Stage::Closing => "Closing".to_owned(),
    }
}

fn cell(amounts: Option<Amounts>, actor: &Actor<'_>, most: u64) -> Markup {
    match amounts {
        None => html!("<td class=\"number\"><span class=\"none\">–</span></td>"),
        Some(amounts) => {
            html!("<td class=\"number\">{}{}</td>", figures(&amounts), bar(&actor.colour, amounts.known_tokens, most))
        }
    }
}

fn figures(amounts: &Amounts) -> Markup {
    html!("{} <small>{}</small>", amounts.tokens(), cost(amounts.cost))
}

/// A small bar as long as `value` is of `most`. It repeats a number that stands beside it, so it is hidden from screen
/// readers.
pub(super) fn bar(colour: &str, value: u64, most: u64) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a bar is good to a pixel")]
    let share = if most == 0 { 0.0 } else { value as f64 / most as f64 * 100.0 };
    html!(
        "<svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\">\
         <rect class=\"track\" width=\"100\" height=\"4\"/><rect class=\"{}\" width=\"{}\" height=\"4\"/></svg>",
        colour,
        format!("{share:.1}"),
    )
}

fn by_model(view: &View<'_>) -> Markup {
    let mut rows = Markup::default();
    let mut all = ModelUsage { cost_usd: Some(Usd::ZERO), ..ModelUsage::default() };
    for (model, usage) in &view.debate.usage {
        push!(rows, "<tr><th scope=\"row\">{}</th>{}</tr>\n", name(model), row(usage));
        all.requests = all.requests.saturating_add(usage.requests);
        all.input_tokens = all.input_tokens.saturating_add(usage.input_tokens);
        all.cached_input_tokens = all.cached_input_tokens.saturating_add(usage.cached_input_tokens);
        all.output_tokens = all.output_tokens.saturating_add(usage.output_tokens);
        all.cost_usd = all.cost_usd.zip(usage.cost_usd).map(|(sum, cost)| sum + cost);
    }
    let foot = match view.debate.usage.len() {
        0 | 1 => Markup::default(),
        _ => html!("<tr><th scope=\"row\">All</th>{}</tr>", row(&all)),
    };
    let numbers = ["Calls", "Input", "Cached", "Output", "Cost"].map(Column::number);
    let columns: Vec<Column> = [Column::words("Model")].into_iter().chain(numbers).collect();
    table("", "Calls, tokens and cost by model; cached input is a part of the input", &columns, &rows, &foot)
}

fn row(usage: &ModelUsage) -> Markup {
    let mut row = Markup::default();
    let mut cell = |value: &dyn Display| push!(row, "<td class=\"number\">{}</td>", value);
    for count in [usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens] {
        cell(&thousands(count));
    }
    cell(&cost(usage.cost_usd));
    row
}
