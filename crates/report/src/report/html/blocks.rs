//! Blocks and tables on the page.

use maud::{Markup, Render, html};

use crate::report::block::{Audience, Block, ListItem, Phrase, Piece, TableBlock};
use dialectic_record::debate::{Point, PointStatus, Severity, Timestamp};

use super::participants::Participants;
use super::text::{markdown, name, verbatim};

/// The blocks of a section. Its headings have level `top`, those of texts are below.
pub(super) fn blocks(blocks: &[Block<'_>], participants: &Participants<'_>, top: u8) -> Markup {
    html! { @for one in blocks { (block(one, participants, top)) } }
}

fn block(block: &Block<'_>, participants: &Participants<'_>, top: u8) -> Markup {
    let shown = |pieces: &Phrase<'_>| line(pieces, participants);
    let within = |inner: &[Block<'_>]| blocks(inner, participants, top);
    match block {
        Block::Heading(title) if top == 3 => html! { h3 { (shown(title)) } },
        Block::Heading(title) => html! { h4 { (shown(title)) } },
        Block::Paragraph(said) => html! { p { (shown(said)) } },
        Block::List(items) => list(items, participants, top),
        Block::Table(one) => table_block(one, participants),
        Block::Text(text) => markdown(text, top + 1),
        Block::Verbatim(text) => verbatim(text),
        Block::Said(what, text) => html! {
            p { strong { (shown(what)) } @if text.is_none() { " " span.none { "No reason was given." } } }
            @if let Some(text) = text { (markdown(text, top + 1)) }
        },
        Block::Folded(what, inner) => html! { details { summary { (shown(what)) } (within(inner)) } },
        Block::Indented(what, inner) => html! { p { (shown(what)) } div.fate { (within(inner)) } },
        Block::Warning(inner) => html! { div.notice.warn { (within(inner)) } },
        Block::Aside(inner) => html! {
            @for one in inner {
                @if let Block::Paragraph(said) = one { p.lead { (shown(said)) } } @else { (self::block(one, participants, top)) }
            }
        },
    }
}

fn list(items: &[ListItem<'_>], participants: &Participants<'_>, top: u8) -> Markup {
    html! {
        @if !items.is_empty() {
            ul { @for item in items { li { (line(&item.line, participants)) (blocks(&item.more, participants, top)) } } }
        }
    }
}

fn table_block(given: &TableBlock<'_>, participants: &Participants<'_>) -> Markup {
    let kept = given.columns.iter().enumerate().filter(|(_, column)| column.audience != Audience::Programs);
    let kept: Vec<(usize, bool)> = kept.map(|(place, column)| (place, column.is_figure)).collect();
    let columns: Vec<ColumnHeading> = kept
        .iter()
        .map(|(place, is_figure)| {
            let title = line(&given.columns[*place].title, participants);
            if *is_figure { ColumnHeading::number(title) } else { ColumnHeading::words(title) }
        })
        .collect();
    let row = |row: &Vec<Phrase<'_>>| {
        html! {
            tr {
                @for (at, (place, is_figure)) in kept.iter().enumerate() {
                    @let cell = row.get(*place).map(|cell| line(cell, participants));
                    @if at == 0 { th scope="row" { (cell.unwrap_or_default()) } }
                    @else if *is_figure { td.number { (cell.unwrap_or_default()) } }
                    @else { td { (cell.unwrap_or_default()) } }
                }
            }
        }
    };
    let (body, foot) = given.rows.split_at(given.rows.len() - usize::from(given.has_total && !given.rows.is_empty()));
    let foot = foot.first().map(row);
    table(given.class, &given.caption, &columns, &html! { @for one in body { (row(one)) } }, foot.as_ref())
}

/// A line on the page.
pub(super) fn line(pieces: &[Piece<'_>], participants: &Participants<'_>) -> Markup {
    html! {
        @for piece in pieces {
            @match piece {
                Piece::Words(words) => (words),
                Piece::Foreign(text) => (name(text)),
                Piece::Marked(text) => strong { (name(text)) },
                Piece::Agent(id) => (participants.chip(id)),
                Piece::Point(number) => a href={ "#" (anchor(number)) } { (number) },
                Piece::Severity(severity) => (pill(*severity)),
                Piece::Aside(pieces) => (line(pieces, participants)),
            }
        }
    }
}

/// A point's severity.
fn pill(severity: Severity) -> Markup {
    let class = match severity {
        Severity::Blocking => "bad",
        Severity::Major => "warn",
        Severity::Minor => "minor",
    };
    html! { span.pill.(class) { (severity.name()) } }
}

/// A point's severity, as a pill only while the point is open.
pub(super) fn severity(point: &Point) -> Markup {
    if point.status() == PointStatus::Open {
        return pill(point.point.severity);
    }
    html! { small { (point.point.severity.name()) } }
}

/// A point's anchor on the page.
pub(super) fn anchor(number: &str) -> String {
    let safe = number.chars().filter(|c| c.is_alphanumeric() || *c == '.');
    "objection-".chars().chain(safe).collect()
}

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
