//! The agents' votes.

use maud::{Markup, html};

use crate::report::View;
use crate::report::stages::{self, capitalized, is_ballot};
use crate::report::subject;
use dialectic_base::figures::percent;
use dialectic_record::debate::{Contribution, Debate, ResultKind, StageId};

use super::blocks::blocks;
use super::participants::Participants;
use super::text::{SHORT, markdown, plain};

/// The section's title, after the stage of the ballots.
pub(super) fn title(debate: &Debate) -> String {
    let counted = stages::first(debate, ResultKind::Ballot).filter(|_| debate.voting.is_some());
    let name = match (counted, stages_of_ballots(debate).as_slice()) {
        (Some(stage), _) => stage.words.noun.to_string(),
        (None, [stage]) => debate.words(*stage).plural.into_owned(),
        (None, _) => "ballots".to_owned(),
    };
    capitalized(&name)
}

/// The stages with ballots in order.
fn stages_of_ballots(debate: &Debate) -> Vec<StageId> {
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let mut stages: Vec<StageId> = contributions.filter(|one| is_ballot(debate, one)).map(|one| one.stage).collect();
    stages.sort_by_key(|stage| debate.stage_rank(*stage));
    stages.dedup();
    stages
}

pub(super) fn vote(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @if let Some(voting) = &view.debate.voting { (blocks(&subject::vote(voting), participants, 3)) }
        @for stage in stages_of_ballots(view.debate) { (ballots(view.debate, stage, participants)) }
    }
}

fn ballots(debate: &Debate, stage: StageId, participants: &Participants<'_>) -> Markup {
    let by_round = debate.stage(stage).is_some_and(|stage| stage.in_round);
    let rounds = debate.rounds.iter().map(|round| {
        let cast = round.contributions.iter().filter(|one| one.stage == stage);
        (round.round_number, cast.collect::<Vec<_>>())
    });
    html! {
        @for (round, cast) in rounds.filter(|(_, cast)| !cast.is_empty()) {
            h3 {
                (capitalized(&plain(&debate.words(stage).plural, SHORT)))
                @if by_round { " of round " (round) }
            }
            div.ballots {
                @for one in cast { (ballot(one, participants, debate.is_offline())) }
            }
        }
    }
}

fn ballot(ballot: &Contribution, participants: &Participants<'_>, is_offline: bool) -> Markup {
    let target = ballot.target_agent_id.as_ref();
    html! {
        div.card {
            p {
                (participants.chip(&ballot.agent_id))
                @match target {
                    Some(target) => { " for " (participants.chip(target)) }
                    None => " for no candidate",
                }
                @if target == Some(&ballot.agent_id) { " (its own)" }
                @if let Some(confidence) = ballot.metadata.confidence.filter(|_| !is_offline) { ", " (percent(confidence)) " sure" }
            }
            (markdown(&ballot.content, 4))
        }
    }
}
