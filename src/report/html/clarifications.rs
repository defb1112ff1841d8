//! What the agents asked, and what the user answered.

use crate::report::View;

use super::cast::{Actor, Cast};
use super::markup::{Markup, html, push};
use super::text::{markdown, name, typed};

/// What stands for an answer that the user did not give.
const NOT_ANSWERED: &str = "NA";

/// The section.
pub(super) fn clarifications(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let groups = view.debate.clarifications.iter().flatten();
    let mut section = Markup::default();
    for group in groups.filter(|group| !group.items.is_empty()) {
        let named = || html!("{} ({})", name(&group.agent_name), name(&group.role));
        let asker = cast.find(&group.agent_id).map_or_else(named, Actor::chip);
        push!(section, "<h3>{}</h3>\n<dl class=\"questions\">\n", asker);
        for item in &group.items {
            let answer = match item.answer.as_str() {
                NOT_ANSWERED => html!("<p class=\"none\">The user gave no answer.</p>\n"),
                "" => html!("<p class=\"none\">Not answered yet.</p>\n"),
                answer => typed(answer, 4),
            };
            push!(section, "<dt>{}</dt>\n<dd>{}</dd>\n", markdown(&item.question, 4), answer);
        }
        push!(section, "</dl>\n");
    }
    section
}
