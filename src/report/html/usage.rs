//! What the debate took: tokens and cost by agent and round, and by model.

use std::fmt::Display;

use crate::debate::{ModelUsage, Usd};
use crate::display::{cost, thousands};
use crate::report::View;

use super::calls::Call;
use super::cast::{Actor, Cast};
use super::ledger::{Amounts, Ledger, Stage};
use super::markup::{Markup, html, push};
use super::text::name;

/// The section.
pub(super) fn usage(view: &View<'_>, cast: &Cast<'_>, calls: &[Call<'_>]) -> Markup {
    let ledger = Ledger::of(view, cast, calls);
    let mut section = Markup::default();
    if !ledger.stages().is_empty() {
        if calls.is_empty() {
            push!(
                section,
                "<p class=\"lead\">Without a journal this counts what the saved texts say of themselves. Calls of the judge and \
                 what each call cost are not on record.</p>\n"
            );
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
    let mut table = html!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"Tokens and cost by agent and round\" tabindex=\"0\">\n<table class=\"usage\">\n\
         <caption>Tokens and cost by agent and round; bars compare tokens</caption>\n<thead><tr><th scope=\"col\">Who</th>"
    );
    for stage in &stages {
        push!(table, "<th scope=\"col\" class=\"number\">{}</th>", label(*stage));
    }
    push!(table, "<th scope=\"col\" class=\"number\">All</th></tr></thead>\n<tbody>\n");
    for (place, actor) in actors() {
        let total = ledger.sum(|who, _| who == place);
        push!(table, "<tr><th scope=\"row\">{}</th>", actor.chip());
        for stage in &stages {
            push!(table, "{}", cell(ledger.at(place, *stage), actor, most));
        }
        push!(table, "<td class=\"number total\">{}</td></tr>\n", figures(&total));
    }
    push!(table, "</tbody>\n<tfoot><tr><th scope=\"row\">All</th>");
    for stage in &stages {
        push!(table, "<td class=\"number\">{}</td>", figures(&ledger.sum(|_, when| when == *stage)));
    }
    push!(
        table,
        "<td class=\"number total\">{}</td></tr></tfoot>\n</table>\n</div>\n",
        figures(&ledger.sum(|_, _| true))
    );
    table
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
        "<svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\"><rect class=\"track\" width=\"100\" \
         height=\"4\"/><rect class=\"{}\" width=\"{}\" height=\"4\"/></svg>",
        colour,
        format!("{share:.1}"),
    )
}

fn by_model(view: &View<'_>) -> Markup {
    let mut table = html!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"Calls, tokens and cost by model\" tabindex=\"0\">\n<table>\n\
         <caption>Calls, tokens and cost by model; cached input is a part of the input</caption>\n<thead><tr><th scope=\"col\">Model</th>\
         <th scope=\"col\" class=\"number\">Calls</th><th scope=\"col\" class=\"number\">Input</th>\
         <th scope=\"col\" class=\"number\">Cached</th><th scope=\"col\" class=\"number\">Output</th>\
         <th scope=\"col\" class=\"number\">Cost</th></tr></thead>\n<tbody>\n"
    );
    let mut all = ModelUsage { cost_usd: Some(Usd::ZERO), ..ModelUsage::default() };
    for (model, usage) in &view.debate.usage {
        push!(table, "<tr><th scope=\"row\">{}</th>{}</tr>\n", name(model), row(usage));
        all.requests = all.requests.saturating_add(usage.requests);
        all.input_tokens = all.input_tokens.saturating_add(usage.input_tokens);
        all.cached_input_tokens = all.cached_input_tokens.saturating_add(usage.cached_input_tokens);
        all.output_tokens = all.output_tokens.saturating_add(usage.output_tokens);
        all.cost_usd = all.cost_usd.zip(usage.cost_usd).map(|(sum, cost)| sum + cost);
    }
    push!(table, "</tbody>\n");
    if view.debate.usage.len() > 1 {
        push!(table, "<tfoot><tr><th scope=\"row\">All</th>{}</tr></tfoot>\n", row(&all));
    }
    push!(table, "</table>\n</div>\n");
    table
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
