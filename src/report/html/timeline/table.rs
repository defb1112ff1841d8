//! The calls as a table, for those who cannot see the chart or want the figures.

use crate::figures::{cost, duration, thousands};

use super::super::calls::{Call, End};
use super::super::cast::Cast;
use super::super::markup::{Markup, html, push};
use super::super::table::{Column, table};
use super::super::text::name;

/// The table, folded away.
pub(super) fn call_table(cast: &Cast<'_>, calls: &[Call<'_>]) -> Markup {
    let mut rows = Markup::default();
    for call in calls {
        push!(rows, "{}", row(cast, call));
    }
    let before = ["Came back", "Who", "What"].map(Column::words);
    let numbers = ["Took", "Attempts", "Tokens", "Cost"].map(Column::number);
    let model = [Column::number("Round"), Column::words("Model")];
    let columns: Vec<Column> = before.into_iter().chain(model).chain(numbers).chain([Column::words("End")]).collect();
    let table = table("calls", "Calls in the order in which they came back", &columns, &rows, &Markup::default());
    html!("<details>\n<summary>The calls as a table</summary>\n{}</details>\n", table)
}

fn row(cast: &Cast<'_>, call: &Call<'_>) -> Markup {
    let record = call.record;
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let tokens = record.and_then(|record| record.tokens);
    let tokens = tokens.map(|tokens| thousands(tokens.input_tokens.saturating_add(tokens.output_tokens)));
    let numbers = [
        known(record.map(|record| duration(record.latency_ms))),
        known(record.map(|record| record.attempts.to_string())),
        known(tokens),
        cost(record.and_then(|record| record.cost_usd)),
    ];
    let mut row =
        html!("<tr><td><time datetime=\"{}\">{}</time></td>", call.at, call.at.utc().format("%m-%d %H:%M:%S"));
    push!(row, "<td>{}</td><td><bdi>{}</bdi></td>", cast.chip(call.agent), call.purpose(cast));
    let round = if call.round == 0 { "before".to_owned() } else { call.round.to_string() };
    push!(row, "<td class=\"number\">{}</td>", round);
    push!(row, "<td>{}</td>", record.map_or_else(Markup::default, |record| name(&record.model)));
    for number in numbers {
        push!(row, "<td class=\"number\">{}</td>", number);
    }
    let end = match call.end {
        End::Result => html!("result"),
        End::Again => html!("called again"),
        End::Failed(_) => html!("<strong>failed</strong>"),
    };
    push!(row, "<td>{}</td></tr>\n", end);
    row
}
