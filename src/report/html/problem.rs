//! What was asked, and who was asked.

use crate::report::{Participant, View};

use super::cast::{Actor, Cast};
use super::markup::{Markup, html, push};
use super::text::{name, typed};

/// What the user asked.
pub(super) fn problem(view: &View<'_>) -> Markup {
    let mut section = typed(&view.debate.problem, 3);
    if let Some(context) = &view.debate.context {
        push!(section, "<h3>Context</h3>\n{}", typed(context, 4));
    }
    section
}

/// The agents and the judge.
pub(super) fn participants(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let mut section = html!(
        "<div class=\"scroll\" role=\"group\" aria-labelledby=\"participants-title\" tabindex=\"0\">\n<table>\n\
         <caption>Agents and judge, with their number and colour on this page</caption>\n\
         <thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Id</th><th scope=\"col\">Role</th>\
         <th scope=\"col\">Model</th><th scope=\"col\">Provider</th><th scope=\"col\" class=\"number\">Temperature</th>\
         </tr></thead>\n<tbody>\n"
    );
    for actor in cast.actors() {
        push!(section, "{}", row(actor));
    }
    push!(section, "</tbody>\n</table>\n</div>\n");
    if view.debate.settings.is_none() {
        push!(
            section,
            "<p class=\"note\">The file does not hold the settings of this debate; what it does not say is assumed.</p>\n"
        );
    }
    section
}

fn row(actor: &Actor<'_>) -> Markup {
    let of = |read: fn(&Participant) -> Markup| actor.participant.map_or_else(|| html!("unknown"), read);
    let role = if actor.is_judge { html!("judge") } else { of(|participant| name(&participant.role)) };
    html!(
        "<tr><th scope=\"row\">{}</th><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>\n",
        actor.chip(),
        name(actor.id.as_str()),
        role,
        of(|participant| name(&participant.model)),
        of(|participant| name(&participant.provider)),
        of(|participant| html!("{}", participant.temperature)),
    )
}
