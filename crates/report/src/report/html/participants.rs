//! Who takes part, as the page shows it: each with a number and a colour that stay the same throughout.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::report::{Participant, View};
use dialectic_record::debate::{AgentId, Position};

use super::elements::{Column, table};
use super::text::{SHORT, name, plain};

/// The colours in the stylesheet, `a1` to this.
const COLOURS: usize = 8;

/// Everybody who takes part.
pub(super) struct Participants<'v> {
    members: Vec<Member<'v>>,
    places: HashMap<&'v AgentId, usize>,
}

/// An agent or the judge.
pub(super) struct Member<'v> {
    /// Its id.
    pub(super) id: &'v AgentId,
    /// What people call it, cut where that is absurdly long.
    pub(super) name: String,
    /// What is known of it; nothing of those who speak but are in no configuration.
    participant: Option<&'v Participant>,
    /// Its number from 1; `J` for the judge.
    pub(super) badge: String,
    /// The class that gives its colour: `a1` to `a8`, `judge`.
    pub(super) colour: String,
    is_judge: bool,
    /// Its side; nothing where nobody takes any, so that the table has no column for them.
    side: Option<&'static str>,
}

impl<'v> Participants<'v> {
    /// The agents in the view's order, then those that the record speaks of besides, then the judge.
    pub(super) fn of(view: &'v View<'_>) -> Self {
        let mut participants = Self { members: Vec::new(), places: HashMap::new() };
        for agent in &view.agents {
            participants.add_agent(view, &agent.id, Some(agent));
        }
        let contributions = view.debate.rounds.iter().flat_map(|round| &round.contributions);
        let spoken_of = contributions.flat_map(|one| [Some(&one.agent_id), one.target_agent_id.as_ref()]).flatten();
        for id in spoken_of.filter(|id| **id != view.judge.id) {
            participants.add_agent(view, id, None);
        }
        participants.places.entry(&view.judge.id).or_insert(participants.members.len());
        participants.members.push(Member {
            id: &view.judge.id,
            name: plain(&view.judge.name, SHORT),
            participant: Some(&view.judge),
            badge: "J".to_owned(),
            colour: "judge".to_owned(),
            is_judge: true,
            side: view.has_sides().then_some(""),
        });
        participants
    }

    fn add_agent(&mut self, view: &View<'_>, id: &'v AgentId, participant: Option<&'v Participant>) {
        let place = self.members.len();
        if self.places.contains_key(id) {
            return;
        }
        self.places.insert(id, place);
        self.members.push(Member {
            id,
            name: plain(participant.map_or(id.as_str(), |participant| &participant.name), SHORT),
            participant,
            badge: (place + 1).to_string(),
            colour: format!("a{}", place % COLOURS + 1),
            is_judge: false,
            side: view.has_sides().then(|| view.side_of(id).map_or("none", Position::name)),
        });
    }

    /// Agents, then the judge.
    pub(super) fn members(&self) -> &[Member<'v>] {
        &self.members
    }

    /// The place of an agent or the judge among [`Self::members`].
    pub(super) fn place(&self, id: &AgentId) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// An agent or the judge.
    pub(super) fn find(&self, id: &AgentId) -> Option<&Member<'v>> {
        self.members.get(self.place(id)?)
    }

    /// An agent or the judge with badge and name; a bare id where it is neither.
    pub(super) fn chip(&self, id: &AgentId) -> Markup {
        self.find(id).map_or_else(|| name(id.as_str()), Member::chip)
    }

    /// What people call an agent or the judge.
    pub(super) fn name_of<'p>(&'p self, id: &'p AgentId) -> &'p str {
        self.find(id).map_or(id.as_str(), |member| member.name.as_str())
    }
}

impl Member<'_> {
    /// Badge and name.
    pub(super) fn chip(&self) -> Markup {
        html! {
            span.who {
                span.badge.(self.colour) aria-hidden="true" { (self.badge) }
                (name(&self.name))
            }
        }
    }

    fn row(&self) -> Markup {
        let known = |read: fn(&Participant) -> String| {
            html! {
                @if let Some(participant) = self.participant { (name(&read(participant))) } @else { "unknown" }
            }
        };
        html! {
            tr {
                th scope="row" { (self.chip()) }
                td { code { (name(self.id.as_str())) } }
                td { @if self.is_judge { "judge" } @else { (known(|participant| participant.role.clone())) } }
                @if let Some(side) = self.side { td { (side) } }
                td { (known(|participant| participant.model.clone())) }
                td { (known(|participant| participant.provider.clone())) }
                td.number {
                    @if let Some(participant) = self.participant { (participant.temperature) } @else { "unknown" }
                }
            }
        }
    }
}

/// The section: the agents and the judge.
pub(super) fn section(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let side = view.has_sides().then_some("Side");
    let words = ["Name", "Id", "Role"].into_iter().chain(side).chain(["Model", "Provider"]).map(Column::words);
    let columns: Vec<Column> = words.chain([Column::number("Temperature")]).collect();
    let caption = "Agents and judge, with their number and colour on this page";
    let rows = html! { @for member in participants.members() { (member.row()) } };
    html! {
        (table("participants", caption, &columns, &rows, None))
        @if view.debate.settings.is_none() {
            p.note { "The file does not hold the settings of this debate; what it does not say is assumed." }
        }
    }
}
