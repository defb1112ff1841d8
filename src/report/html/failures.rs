//! Calls that failed for good.

use crate::figures::counted;
use crate::report::View;

use super::cast::Cast;
use super::markup::{Markup, html, push};
use super::masthead::time;

/// The section.
pub(super) fn failures(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let failures = &view.debate.failures;
    if failures.is_empty() {
        return Markup::default();
    }
    let count = counted(failures.len() as u64, "call");
    let what = "failed for good. The debate went on without what they would have brought.";
    let mut section = html!("<p class=\"lead\">{} {}</p>\n<ul class=\"failures\">\n", count, what);
    for failure in failures {
        let target = failure.target_agent_id.as_ref().map(|target| html!(" of {}", cast.chip(target)));
        let target = target.unwrap_or_default();
        let attempts = counted(failure.attempts.into(), "attempt");
        let (agent, phase) = (cast.chip(&failure.agent_id), failure.phase.name());
        let round = if failure.round == 0 { Markup::default() } else { html!(", round {}", failure.round) };
        push!(section, "<li class=\"card\">\n<p>{}: {}{}{}", agent, phase, target, round);
        push!(section, " <small>after {}, {}</small></p>\n", attempts, time(failure.at));
        push!(section, "<p class=\"error\" dir=\"auto\">{}</p>\n</li>\n", failure.error);
    }
    push!(section, "</ul>\n");
    section
}
