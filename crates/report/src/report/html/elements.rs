//! Common elements of sections: tables and times.

use maud::{Markup, Render, html};

use dialectic_record::debate::Timestamp;

pub(super) struct ColumnHeading {
    heading: Markup,
    class: &'static str,
}

impl ColumnHeading {
    pub(super) fn words(heading: impl Render) -> Self {
        Self { heading: heading.render(), class: "" }
    }

    /// A right-aligned column of numbers.
    pub(super) fn number(heading: impl Render) -> Self {
        Self { heading: heading.render(), class: "number" }
    }
}

/// A table. `rows` are its `<tr>` elements; `foot` is its total, if any.
pub(super) fn table(
    class: &'static str,
    caption: &str,
    columns: &[ColumnHeading],
    rows: &Markup,
    foot: Option<&Markup>,
) -> Markup {
    let attribute = |class: &'static str| Some(class).filter(|class| !class.is_empty());
    let table = html! {
        table class=[attribute(class)] {
            caption { span { (caption) } }
            thead {
                tr {
                    @for ColumnHeading { heading, class } in columns {
                        @if heading.0.is_empty() { td {} }
                        @else { th scope="col" class=[attribute(class)] { (heading) } }
                    }
                }
            }
            tbody { (rows) }
            @if let Some(foot) = foot { tfoot { (foot) } }
        }
    };
    scrolling(caption, &table)
}

/// A box that scrolls sideways if its content is wider than the window, by keyboard too. `label` describes it to screen
/// readers.
fn scrolling(label: &str, content: &Markup) -> Markup {
    html! {
        div.scroll role="group" aria-label=(label) tabindex="0" { (content) }
    }
}

/// A time in UTC to the second.
pub(super) fn time(at: Timestamp) -> Markup {
    let (day, clock) = (at.utc().format("%Y-%m-%d"), at.utc().format("%H:%M:%S"));
    html! {
        time datetime=(at) { (day) " " small { (clock) " UTC" } }
    }
}
