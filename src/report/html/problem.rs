//! What was asked, and who was asked.

use crate::report::{Participant, View};

use super::cast::{Actor, Cast};
use super::markup::{Markup, html, push};
use super::table::{Column, table};
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
    let mut rows = Markup::default();
    for actor in cast.actors() {
        push!(rows, "{}", row(actor));
    }
    let words = ["Name", "Id", "Role", "Model", "Provider"].map(Column::words);
    let columns: Vec<Column> = words.into_iter().chain([Column::number("Temperature")]).collect();
    let caption = "Agents and judge, with their number and colour on this page";
    let mut section = table("", caption, &columns, &rows, &Markup::default());
    if view.debate.settings.is_none() {
        let note = "The file does not hold the settings of this debate; what it does not say is assumed.";
        push!(section, "<p class=\"note\">{}</p>\n", note);
    }
    section
}

fn row(actor: &Actor<'_>) -> Markup {
    let of = |read: fn(&Participant) -> Markup| actor.participant.map_or_else(|| html!("unknown"), read);
    let role = if actor.is_judge { html!("judge") } else { of(|participant| name(&participant.role)) };
    let mut row = html!("<tr><th scope=\"row\">{}</th>", actor.chip());
    push!(row, "<td><code>{}</code></td><td>{}</td>", name(actor.id.as_str()), role);
    push!(row, "<td>{}</td>", of(|participant| name(&participant.model)));
    push!(row, "<td>{}</td>", of(|participant| name(&participant.provider)));
    push!(row, "<td class=\"number\">{}</td></tr>\n", of(|participant| html!("{}", participant.temperature)));
    row
}
