//! Common elements of sections: tables, scrolling boxes, drawings, times.

use maud::{Markup, Render, html};

use dialectic_record::debate::Timestamp;

/// The heading of a column.
pub(super) struct ColumnHeading {
    heading: Markup,
    class: &'static str,
}

impl ColumnHeading {
    /// A column of words.
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
pub(super) fn scrolling(label: &str, content: &Markup) -> Markup {
    html! {
        div.scroll role="group" aria-label=(label) tabindex="0" { (content) }
    }
}

/// A small bar for the ratio of `value` to `most`. Hidden from screen readers, since the number is next to it.
pub(super) fn bar(colour: &str, value: u64, most: u64) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a bar is good to a pixel")]
    let share = if most == 0 { 0.0 } else { value as f64 / most as f64 * 100.0 };
    html! {
        svg.bar aria-hidden="true" { rect.(colour) width={ (px(share)) "%" } height="4" {} }
    }
}

/// A coordinate of a drawing.
pub(super) fn px(value: f64) -> String {
    let shown = format!("{value:.1}");
    shown.strip_suffix(".0").map(str::to_owned).unwrap_or(shown)
}

/// Converts a count to a coordinate.
#[expect(clippy::cast_precision_loss, reason = "a drawing has few elements")]
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

/// A time in UTC to the second.
pub(super) fn time(at: Timestamp) -> Markup {
    let (day, clock) = (at.utc().format("%Y-%m-%d"), at.utc().format("%H:%M:%S"));
    html! {
        time datetime=(at) { (day) " " small { (clock) " UTC" } }
    }
}
