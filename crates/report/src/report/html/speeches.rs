//! The texts of a debate by round, in their order.

use maud::{Markup, html};

use crate::report::{View, stages};
use dialectic_record::debate::{Contribution, ResultKind};

use super::contributions::folded;
use super::participants::Participants;
use super::text::noun;

pub(super) fn yielding(view: &View<'_>, participants: &Participants<'_>, wanted: ResultKind) -> Markup {
    rounds(view, participants, |yields| yields == Some(wanted))
}

/// The section of all other texts: from unknown stages, or unexpected.
pub(super) fn others(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    rounds(view, participants, |yields| {
        let has_a_place = [ResultKind::Proposal, ResultKind::Critique, ResultKind::Speech, ResultKind::Ballot];
        yields.is_none_or(|yields| !has_a_place.contains(&yields))
    })
}

fn rounds(view: &View<'_>, participants: &Participants<'_>, belongs: impl Fn(Option<ResultKind>) -> bool) -> Markup {
    let said = view.debate.rounds.iter().map(|round| {
        let new = round.contributions.iter().filter(|one| !one.metadata.carried_over);
        let belonging = new.filter(|one| belongs(view.debate.yield_of(one)));
        (round.round_number, belonging.collect::<Vec<_>>())
    });
    html! {
        @for (round, said) in said.filter(|(_, said)| !said.is_empty()) {
            h3 { "Round " (round) }
            @for one in said { (text(view, participants, one)) }
        }
    }
}

fn text(view: &View<'_>, participants: &Participants<'_>, one: &Contribution) -> Markup {
    let title = html! {
        (participants.chip(&one.agent_id)) " · " (noun(view.debate, one.stage))
        @if let Some(target) = &one.target_agent_id { " " (stages::preposition(view.debate, one.stage)) " " (participants.chip(target)) }
    };
    folded(&title, one)
}
