//! Renders blocks, tables and participants. Each participant is shown with a colour and a number.

use std::collections::HashMap;

use maud::{Markup, Render, html};

use crate::report::block::{Audience, Block, ListItem, Phrase, Piece, TableBlock};
use crate::report::{View, subject};
use dialectic_record::ids::{AgentId, Timestamp};
use dialectic_record::points::{Point, PointStatus, Severity};
use dialectic_record::settings::AgentSettings;

use super::text::{SHORT, markdown, name, plain, verbatim};

/// Renders blocks. Their headings have level `top`; headings inside texts have lower levels.
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
                @if let Block::Paragraph(said) = one { p.lead { (shown(said)) } }
                @else { (self::block(one, participants, top)) }
            }
        },
    }
}

fn list(items: &[ListItem<'_>], participants: &Participants<'_>, top: u8) -> Markup {
    html! {
        @if !items.is_empty() {
            ul { @for one in items { li { (line(&one.line, participants)) (blocks(&one.more, participants, top)) } } }
        }
    }
}

fn table_block(given: &TableBlock<'_>, participants: &Participants<'_>) -> Markup {
    let kept = given.columns.iter().enumerate().filter(|(_, column)| column.audience != Audience::Programs);
    let kept: Vec<(usize, bool)> = kept.map(|(place, column)| (place, column.is_figure)).collect();
    let columns = kept.iter().map(|(place, is_figure)| {
        let title = line(&given.columns[*place].title, participants);
        if *is_figure {
            html! { th scope="col" class="number" { (title) } }
        } else {
            column(title)
        }
    });
    let columns: Vec<Markup> = columns.collect();
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

fn pill(severity: Severity) -> Markup {
    let class = match severity {
        Severity::Blocking => "bad",
        Severity::Major => "warn",
        Severity::Minor => "minor",
    };
    html! { span.pill.(class) { (severity.name()) } }
}

pub(super) fn severity(point: &Point) -> Markup {
    if point.status() == PointStatus::Open {
        return pill(point.point.severity);
    }
    html! { small { (point.point.severity.name()) } }
}

pub(super) fn anchor(number: &str) -> String {
    let safe = number.chars().filter(|c| c.is_alphanumeric() || *c == '.');
    "objection-".chars().chain(safe).collect()
}

pub(super) fn column(heading: impl Render) -> Markup {
    let heading = heading.render();
    html! { @if heading.0.is_empty() { td {} } @else { th scope="col" { (heading) } } }
}

/// `rows` contains the `<tr>` elements, and `foot` contains the total.
pub(super) fn table(
    class: &'static str,
    caption: &str,
    columns: &[Markup],
    rows: &Markup,
    foot: Option<&Markup>,
) -> Markup {
    let attribute = |class: &'static str| Some(class).filter(|class| !class.is_empty());
    html! {
        // A box that scrolls sideways, also by keyboard, if the table is too wide.
        div.scroll role="group" aria-label=(caption) tabindex="0" {
            table class=[attribute(class)] {
                caption { span { (caption) } }
                thead { tr { @for heading in columns { (heading) } } }
                tbody { (rows) }
                @if let Some(foot) = foot { tfoot { (foot) } }
            }
        }
    }
}

pub(super) fn time(at: Timestamp) -> Markup {
    let (day, clock) = (at.utc().format("%Y-%m-%d"), at.utc().format("%H:%M:%S"));
    html! {
        time datetime=(at) { (day) " " small { (clock) " UTC" } }
    }
}

/// The number of colours in the stylesheet, with the classes `a1` to `a8`.
const COLOURS: usize = 8;

pub(super) struct Participants<'v> {
    /// The agents, then the judge.
    pub(super) members: Vec<PanelMember<'v>>,
    places: HashMap<&'v AgentId, usize>,
}

pub(super) struct PanelMember<'v> {
    pub(super) id: &'v AgentId,
    /// The participant's name, truncated if it is long.
    name: String,
    /// The number, if it is greater than [`COLOURS`]. Otherwise, the class already implies it.
    high_number: Option<usize>,
    /// The CSS class: `a1` to `a8`, or `judge`.
    colour: String,
}

impl<'v> Participants<'v> {
    /// The agents by number, then others named in the record, then the judge.
    pub(super) fn of(view: &'v View<'_>) -> Self {
        let mut participants = Self { members: Vec::new(), places: HashMap::new() };
        let number = |id: &AgentId| view.number_of(id).map(|number| number as usize);
        for agent in view.by_number() {
            participants.add_agent(&agent.id, number(&agent.id), Some(agent));
        }
        let contributions = view.debate.rounds.iter().flat_map(|round| &round.contributions);
        let spoken_of = contributions.flat_map(|one| [Some(&one.agent_id), one.target_agent_id.as_ref()]).flatten();
        for id in spoken_of.filter(|id| **id != view.judge.id) {
            participants.add_agent(id, number(id), None);
        }
        participants.places.entry(&view.judge.id).or_insert(participants.members.len());
        participants.members.push(PanelMember {
            id: &view.judge.id,
            name: plain(&view.judge.name, SHORT),
            high_number: None,
            colour: "judge".to_owned(),
        });
        participants
    }

    fn add_agent(&mut self, id: &'v AgentId, number: Option<usize>, participant: Option<&'v AgentSettings>) {
        let place = self.members.len();
        if self.places.contains_key(id) {
            return;
        }
        self.places.insert(id, place);
        // A participant without a number comes after those that have one, so use its place in the list.
        let number = number.unwrap_or(place + 1);
        self.members.push(PanelMember {
            id,
            name: plain(participant.map_or(id.as_str(), |participant| &participant.name), SHORT),
            high_number: Some(number).filter(|number| *number > COLOURS),
            colour: format!("a{}", (number - 1) % COLOURS + 1),
        });
    }

    /// The index of a participant in [`members`](Self::members).
    pub(super) fn place(&self, id: &AgentId) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(super) fn find(&self, id: &AgentId) -> Option<&PanelMember<'v>> {
        self.members.get(self.place(id)?)
    }

    /// Shows a participant's name with its badge, or only the id if the participant is unknown.
    pub(super) fn chip(&self, id: &AgentId) -> Markup {
        self.find(id).map_or_else(|| name(id.as_str()), PanelMember::chip)
    }
}

impl PanelMember<'_> {
    /// The stylesheet adds the badge, because hundreds of badges in the HTML would bloat the page.
    pub(super) fn chip(&self) -> Markup {
        html! { bdi.who.(self.colour) data-number=[self.high_number] { (self.name) } }
    }
}

pub(super) fn participants_section(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        (blocks(&[Block::Table(subject::everybody(view))], participants, 3))
        @if view.debate.settings.is_none() {
            p.note { "The file does not contain this debate's settings, so default values are assumed." }
        }
    }
}
