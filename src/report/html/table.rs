//! Tables, and boxes for what may be wider than the window.

use super::markup::{Content, Markup, html, push};

/// The heading of a column.
pub(super) struct Column {
    heading: Markup,
    class: &'static str,
}

impl Column {
    /// A column of words.
    pub(super) fn words(heading: &(impl Content + ?Sized)) -> Self {
        Self { heading: html!("{}", *heading), class: "" }
    }

    /// A column of numbers, which are set flush right.
    pub(super) fn number(heading: &(impl Content + ?Sized)) -> Self {
        Self { heading: html!("{}", *heading), class: "number" }
    }
}

/// A table. `rows` are its `<tr>`s; `foot` those that add up, if any.
pub(super) fn table(
    class: &'static str,
    caption: &'static str,
    columns: &[Column],
    rows: &Markup,
    foot: &Markup,
) -> Markup {
    let mut head = Markup::default();
    for Column { heading, class } in columns {
        if heading.is_empty() {
            push!(head, "<td></td>");
        } else {
            push!(head, "<th scope=\"col\"{}>{}</th>", attribute(class), heading);
        }
    }
    let mut table = html!("<table{}>\n<caption>{}</caption>\n", attribute(class), caption);
    push!(table, "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n", head, rows);
    if !foot.is_empty() {
        push!(table, "<tfoot>{}</tfoot>\n", foot);
    }
    push!(table, "</table>\n");
    scrolling(caption, &table)
}

/// The attribute that gives an element its class, if it has one.
fn attribute(class: &'static str) -> Markup {
    if class.is_empty() { Markup::default() } else { html!(" class=\"{}\"", class) }
}

/// A box that scrolls sideways when the window is narrower than its content, with the keyboard too. Screen readers are
/// told by `label` what it is.
pub(super) fn scrolling(label: &'static str, content: &Markup) -> Markup {
    html!("<div class=\"scroll\" role=\"group\" aria-label=\"{}\" tabindex=\"0\">\n{}</div>\n", label, content)
}
