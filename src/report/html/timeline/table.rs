//! The calls as a table, for those who cannot see the chart or want the figures.

use crate::display::{cost, duration, thousands};

use super::super::calls::{Call, End};
use super::super::cast::Cast;
use super::super::markup::{Markup, html, push};
use super::super::text::name;

/// The table, folded away.
pub(super) fn table(cast: &Cast<'_>, calls: &[Call<'_>]) -> Markup {
    let mut table = html!(
        "<details>\n<summary>The calls as a table</summary>\n\
         <div class=\"scroll\" role=\"group\" aria-label=\"Table of calls\" tabindex=\"0\">\n<table class=\"calls\">\n\
         <caption>Calls in the order in which they came back</caption>\n<thead><tr><th scope=\"col\">Came back</th>\
         <th scope=\"col\">Who</th><th scope=\"col\">What</th><th scope=\"col\" class=\"number\">Round</th>\
         <th scope=\"col\">Model</th><th scope=\"col\" class=\"number\">Took</th><th scope=\"col\" class=\"number\">Attempts</th>\
         <th scope=\"col\" class=\"number\">Tokens</th><th scope=\"col\" class=\"number\">Cost</th><th scope=\"col\">End</th></tr></thead>\n<tbody>\n"
    );
    for call in calls {
        let unknown = || "unknown".to_owned();
        let number = |value: Option<String>| value.unwrap_or_else(unknown);
        push!(
            table,
            "<tr><td><time datetime=\"{}\">{}</time></td><td>{}</td><td><bdi>{}</bdi></td><td class=\"number\">{}</td><td>{}</td>",
            call.at,
            call.at.utc().format("%m-%d %H:%M:%S"),
            cast.chip(call.agent),
            call.purpose(cast),
            call.round,
            call.record.map_or_else(Markup::default, |record| name(&record.model)),
        );
        push!(
            table,
            "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
            number(call.record.map(|record| duration(record.latency_ms))),
            number(call.record.map(|record| record.attempts.to_string())),
            number(
                call.record
                    .and_then(|record| record.tokens)
                    .map(|tokens| thousands(tokens.input_tokens.saturating_add(tokens.output_tokens)))
            ),
            cost(call.record.and_then(|record| record.cost_usd)),
            match call.end {
                End::Result => html!("result"),
                End::Again => html!("called again"),
                End::Failed(_) => html!("<strong>failed</strong>"),
            },
        );
    }
    push!(table, "</tbody>\n</table>\n</div>\n</details>\n");
    table
}
