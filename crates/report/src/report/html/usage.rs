//! The usage of the debate: tokens and cost by agent and round, and by model.

use maud::{Markup, html};

use crate::report::stages::Period;
use crate::report::{View, subject};
use dialectic_base::figures::cost;

use super::blocks::blocks;
use super::calls::CallEntry;
use super::elements::{ColumnHeading, bar, table};
use super::participants::{PanelMember, Participants};
use super::spending::{Amounts, Spending};

pub(super) fn usage(view: &View<'_>, participants: &Participants<'_>, calls: &[CallEntry<'_>]) -> Markup {
    let spending = Spending::of(view, participants, calls);
    html! {
        @if view.debate.is_offline() { p.lead { "Offline: no model was called, so nothing was paid for." } }
        @else if !spending.periods().is_empty() {
            @if calls.is_empty() {
                p.lead {
                    "There is no journal, so these figures come from the saved texts. The judge's calls "
                    "and what each call cost are not on record."
                }
            }
            (by_agent(participants, &spending))
        }
        @if !view.debate.usage.is_empty() { (blocks(&subject::usage(view.debate), participants, 3)) }
    }
}

fn by_agent(participants: &Participants<'_>, spending: &Spending) -> Markup {
    let periods = spending.periods();
    let members = participants.members();
    let cells =
        (0..members.len()).flat_map(|place| periods.iter().filter_map(move |period| spending.at(place, *period)));
    let most = cells.map(|amounts| amounts.known_tokens).max().unwrap_or(0);
    let rows = html! {
        @for (place, member) in members.iter().enumerate() {
            tr {
                th scope="row" { (member.chip()) }
                @for period in &periods { (cell(spending.at(place, *period), member, most)) }
                td.number.total { (figures(&spending.sum(|who, _| who == place))) }
            }
        }
    };
    let foot = html! {
        tr {
            th scope="row" { "All" }
            @for period in &periods { td.number { (figures(&spending.sum(|_, when| when == *period))) } }
            td.number.total { (figures(&spending.sum(|_, _| true))) }
        }
    };
    let labels = periods.iter().map(|period| ColumnHeading::number(label(*period)));
    let columns: Vec<ColumnHeading> =
        [ColumnHeading::words("Who")].into_iter().chain(labels).chain([ColumnHeading::number("All")]).collect();
    table("usage", "Tokens and cost by agent and round; bars compare tokens", &columns, &rows, Some(&foot))
}

fn label(period: Period) -> String {
    match period {
        Period::Before => "Before".to_owned(),
        Period::Round(round) => format!("Round {round}"),
        Period::Closing => "Closing".to_owned(),
    }
}

fn cell(amounts: Option<Amounts>, member: &PanelMember<'_>, most: u64) -> Markup {
    html! {
        td.number {
            @if let Some(amounts) = amounts {
                (figures(&amounts)) (bar(&member.colour, amounts.known_tokens, most))
            } @else {
                span.none { "–" }
            }
        }
    }
}

fn figures(amounts: &Amounts) -> Markup {
    html! { (amounts.tokens()) " " small { (cost(amounts.cost)) } }
}
