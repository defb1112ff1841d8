//! Who takes part, as the page shows it: each with a number and a colour that stay the same throughout.

use std::collections::HashMap;

use crate::debate::AgentId;
use crate::report::{Participant, View};

use super::markup::{Markup, html};
use super::text::{name, plain};

/// Characters of a name.
const NAME: usize = 60;
/// The colours in the stylesheet, `a1` to this.
const COLOURS: usize = 8;

/// Everybody who takes part.
pub(super) struct Cast<'v> {
    actors: Vec<Actor<'v>>,
    places: HashMap<&'v AgentId, usize>,
}

/// An agent or the judge.
pub(super) struct Actor<'v> {
    /// Its id.
    pub(super) id: &'v AgentId,
    /// What people call it, cut where that is absurdly long.
    pub(super) name: String,
    /// What is known of it; nothing of those who speak but are in no configuration.
    pub(super) participant: Option<&'v Participant>,
    /// Its number from 1; `J` for the judge.
    pub(super) badge: String,
    /// The class that gives its colour: `a1` to `a8`, `judge`.
    pub(super) colour: String,
    /// Whether it is the judge.
    pub(super) is_judge: bool,
}

impl<'v> Cast<'v> {
    /// The agents in the view's order, then those that the record speaks of besides, then the judge.
    pub(super) fn of(view: &'v View<'_>) -> Self {
        let mut cast = Self { actors: Vec::new(), places: HashMap::new() };
        for agent in &view.agents {
            cast.add_agent(&agent.id, Some(agent));
        }
        let contributions = view.debate.rounds.iter().flat_map(|round| &round.contributions);
        let spoken_of = contributions.flat_map(|one| [Some(&one.agent_id), one.target_agent_id.as_ref()]).flatten();
        for id in spoken_of.filter(|id| **id != view.judge.id) {
            cast.add_agent(id, None);
        }
        cast.places.entry(&view.judge.id).or_insert(cast.actors.len());
        cast.actors.push(Actor {
            id: &view.judge.id,
            name: plain(&view.judge.name, NAME),
            participant: Some(&view.judge),
            badge: "J".to_owned(),
            colour: "judge".to_owned(),
            is_judge: true,
        });
        cast
    }

    fn add_agent(&mut self, id: &'v AgentId, participant: Option<&'v Participant>) {
        let place = self.actors.len();
        if self.places.contains_key(id) {
            return;
        }
        self.places.insert(id, place);
        self.actors.push(Actor {
            id,
            name: plain(participant.map_or(id.as_str(), |participant| &participant.name), NAME),
            participant,
            badge: (place + 1).to_string(),
            colour: format!("a{}", place % COLOURS + 1),
            is_judge: false,
        });
    }

    /// Agents, then the judge.
    pub(super) fn actors(&self) -> &[Actor<'v>] {
        &self.actors
    }

    /// The place of an agent or the judge among [`Self::actors`].
    pub(super) fn place(&self, id: &AgentId) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// An agent or the judge.
    pub(super) fn find(&self, id: &AgentId) -> Option<&Actor<'v>> {
        self.actors.get(self.place(id)?)
    }

    /// An agent or the judge with badge and name; a bare id where it is neither.
    pub(super) fn chip(&self, id: &AgentId) -> Markup {
        self.find(id).map_or_else(|| name(id.as_str()), Actor::chip)
    }

    /// What people call an agent or the judge.
    pub(super) fn name_of<'c>(&'c self, id: &'c AgentId) -> &'c str {
        self.find(id).map_or(id.as_str(), |actor| actor.name.as_str())
    }
}

impl Actor<'_> {
    /// Badge and name.
    pub(super) fn chip(&self) -> Markup {
        html!("<span class=\"who\">{}{}</span>", self.mark(), name(&self.name))
    }

    /// The badge alone, for places where the name stands beside it.
    pub(super) fn mark(&self) -> Markup {
        html!("<span class=\"badge {}\" aria-hidden=\"true\">{}</span>", self.colour, self.badge)
    }
}
