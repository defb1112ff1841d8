//! What was said for its own sake, round by round, in the order in which it was said.

use maud::{Markup, html};

use crate::report::View;
use dialectic_base::figures::counted;
use dialectic_record::debate::{Contribution, ResultKind};

use super::contributions::{cut, figures};
use super::critiques::beginning;
use super::participants::Participants;
use super::text::{markdown, noun, words};

/// The section of the speeches.
pub(super) fn speeches(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    rounds(view, participants, |yields| yields == Some(ResultKind::Speech))
}

/// The section of the texts for which no other has a place: those of stages that the record does not know, and of such
/// as bring no texts by what it says of them.
pub(super) fn others(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    rounds(view, participants, |yields| match yields {
        Some(ResultKind::Proposal | ResultKind::Critique | ResultKind::Speech | ResultKind::Ballot) => false,
        Some(
            ResultKind::Material
            | ResultKind::Team
            | ResultKind::Agreement
            | ResultKind::Challenge
            | ResultKind::Kinds
            | ResultKind::Similarity
            | ResultKind::Questions
            | ResultKind::Summary
            | ResultKind::Score
            | ResultKind::Check
            | ResultKind::Verdict
            | ResultKind::Solution,
        )
        | None => true,
    })
}

fn rounds(view: &View<'_>, participants: &Participants<'_>, belongs: fn(Option<ResultKind>) -> bool) -> Markup {
    let said = view.debate.rounds.iter().map(|round| {
        let belonging = round.contributions.iter().filter(|one| belongs(view.debate.yield_of(one)));
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
    html! {
        details {
            summary {
                span {
                    (participants.chip(&one.agent_id)) " · " (noun(view.debate, one.stage))
                    @if let Some(target) = &one.target_agent_id { " to " (participants.chip(target)) }
                }
                " " span.change { (counted(words(&one.content), "word")) } " " small { (figures(one)) }
                " " small.beginning { bdi { (beginning(&one.content)) } }
            }
            (cut(one))
            (markdown(&one.content, 4))
        }
    }
}
