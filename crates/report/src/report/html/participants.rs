//! The participants on the page, each with a colour and the number of its text and of the points against it.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::report::block::Block;
use crate::report::{ParticipantView, View, subject};
use dialectic_record::debate::AgentId;

use super::blocks::blocks;
use super::text::{SHORT, name, plain};

/// The number of colours in the stylesheet, from `a1`.
const COLOURS: usize = 8;

pub(super) struct Participants<'v> {
    members: Vec<PanelMember<'v>>,
    places: HashMap<&'v AgentId, usize>,
}

pub(super) struct PanelMember<'v> {
    pub(super) id: &'v AgentId,
    /// The display name, cut if it is absurdly long.
    name: String,
    /// The number, if the stylesheet has no separate colour for it.
    high_number: Option<usize>,
    /// The class of its colour: `a1` to `a8`, `judge`.
    colour: String,
}

impl<'v> Participants<'v> {
    /// The agents by their numbers, then others named in the record, then the judge.
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

    fn add_agent(&mut self, id: &'v AgentId, number: Option<usize>, participant: Option<&'v ParticipantView>) {
        let place = self.members.len();
        if self.places.contains_key(id) {
            return;
        }
        self.places.insert(id, place);
        // Somebody whom the settings do not know has no number, and follows the others.
        let number = number.unwrap_or(place + 1);
        self.members.push(PanelMember {
            id,
            name: plain(participant.map_or(id.as_str(), |participant| &participant.name), SHORT),
            high_number: Some(number).filter(|number| *number > COLOURS),
            colour: format!("a{}", (number - 1) % COLOURS + 1),
        });
    }

    /// Agents, then the judge.
    pub(super) fn members(&self) -> &[PanelMember<'v>] {
        &self.members
    }

    /// The index of an agent or the judge in [`Self::members`].
    pub(super) fn place(&self, id: &AgentId) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(super) fn find(&self, id: &AgentId) -> Option<&PanelMember<'v>> {
        self.members.get(self.place(id)?)
    }

    /// An agent or the judge with badge and name; otherwise the bare id.
    pub(super) fn chip(&self, id: &AgentId) -> Markup {
        self.find(id).map_or_else(|| name(id.as_str()), PanelMember::chip)
    }
}

impl PanelMember<'_> {
    /// Badge and name. The stylesheet draws the badge: a page holds hundreds of them.
    pub(super) fn chip(&self) -> Markup {
        html! { bdi.who.(self.colour) data-number=[self.high_number] { (self.name) } }
    }
}

/// The section: the agents and the judge.
pub(super) fn section(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        (blocks(&[Block::Table(subject::everybody(view))], participants, 3))
        @if view.debate.settings.is_none() {
            p.note { "The file lacks the settings of this debate; missing values are assumed." }
        }
    }
}
