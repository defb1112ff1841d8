//! What agents looked up while they wrote.

use crate::debate::{Contribution, ToolCall};
use crate::report::View;

use super::cast::Cast;
use super::evolution::kind;
use super::markup::{Markup, html, push};
use super::text::{name, plain, verbatim};

/// Characters of a call's arguments that are shown while it is folded.
const ARGUMENTS: usize = 90;

/// The section.
pub(super) fn tools(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let mut section = Markup::default();
    for round in &view.debate.rounds {
        for contribution in &round.contributions {
            for (place, call) in contribution.metadata.tool_calls.iter().enumerate() {
                let answer = answer(contribution, call, place);
                let about = contribution.target_agent_id.as_ref().map(|target| html!(" on {}", cast.chip(target)));
                let (who, what) = (cast.chip(&contribution.agent_id), kind(contribution.kind));
                let about = about.unwrap_or_default();
                push!(section, "<details>\n<summary><span>{} · round {}, ", who, round.round_number);
                push!(section, "{}{}</span> <code>{}</code>", what, about, name(&call.name));
                let (arguments, end) = (plain(&call.arguments, ARGUMENTS), answer.map_or("no answer", status));
                push!(section, " <small><bdi>{}</bdi> · {}</small></summary>\n", arguments, end);
                push!(section, "<h3>Arguments</h3>\n{}<h3>Answer</h3>\n", verbatim(&call.arguments));
                let none = || html!("<p class=\"none\">No answer is on record.</p>\n");
                push!(section, "{}</details>\n", answer.map_or_else(none, verbatim));
            }
        }
    }
    section
}

/// What the tool answered: by the call's id, or by its place where ids say nothing.
fn answer<'v>(contribution: &'v Contribution, call: &ToolCall, place: usize) -> Option<&'v str> {
    let results = &contribution.metadata.tool_results;
    let at_place = results.get(place).filter(|result| result.tool_call_id == call.id);
    let found = at_place.or_else(|| results.iter().find(|result| result.tool_call_id == call.id));
    found.map(|result| result.content.as_str())
}

/// Whether it worked, as far as the answer says.
fn status(answer: &str) -> &'static str {
    let answer: Option<serde_json::Value> = serde_json::from_str(answer).ok();
    match answer.as_ref().and_then(|answer| answer.get("status")?.as_str()) {
        Some("success") => "answered",
        Some("error") => "error",
        _ => "answer of another form",
    }
}
