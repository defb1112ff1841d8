//! What agents and judge condensed, so as not to carry the whole history on.

use crate::debate::Summary;
use crate::figures::{counted, duration, thousands};
use crate::report::View;

use super::cast::Cast;
use super::markup::{Markup, html, push};
use super::text::markdown;

/// The section.
pub(super) fn summaries(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let mut section = Markup::default();
    for round in &view.debate.rounds {
        let mut summaries: Vec<&Summary> = round.summaries.iter().flatten().map(|(_, summary)| summary).collect();
        summaries.sort_by_key(|summary| cast.place(&summary.agent_id));
        for summary in summaries {
            push!(section, "{}", shown(summary, &html!("Round {}", round.round_number), cast));
        }
    }
    if let Some(summary) = &view.debate.judge_summary {
        push!(section, "{}", shown(summary, &html!("Before the synthesis"), cast));
    }
    section
}

fn shown(summary: &Summary, when: &Markup, cast: &Cast<'_>) -> Markup {
    let metadata = &summary.metadata;
    let [before, after] = [metadata.before_chars, metadata.after_chars].map(|chars| thousands(chars as u64));
    let mut figures = html!("{} to {} characters", before, after);
    if let Some(tokens) = metadata.tokens_used {
        push!(figures, " · {}", counted(tokens, "token"));
    }
    if let Some(millis) = metadata.latency_ms {
        push!(figures, " · {}", duration(millis));
    }
    html!(
        "<details>\n<summary><span>{} · {}</span> <small>{}</small></summary>\n{}</details>\n",
        when,
        cast.chip(&summary.agent_id),
        figures,
        markdown(&summary.summary, 4),
    )
}
