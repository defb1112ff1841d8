//! Calls that failed for good.

use crate::display::counted;
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
    let mut section = html!(
        "<p class=\"lead\">{} failed for good. The debate went on without what they would have brought.</p>\n<ul class=\"failures\">\n",
        counted(failures.len() as u64, "call")
    );
    for failure in failures {
        let target = failure.target_agent_id.as_ref().map(|target| html!(" of {}", cast.chip(target)));
        let round = if failure.round == 0 { Markup::default() } else { html!(", round {}", failure.round) };
        push!(
            section,
            "<li class=\"card\">\n<p>{}: {}{}{} <small>after {}, {}</small></p>\n<p class=\"error\" dir=\"auto\">{}</p>\n</li>\n",
            cast.chip(&failure.agent_id),
            failure.phase.name(),
            target.unwrap_or_default(),
            round,
            counted(failure.attempts.into(), "attempt"),
            time(failure.at),
            failure.error,
        );
    }
    push!(section, "</ul>\n");
    section
}
