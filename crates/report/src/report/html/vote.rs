//! How the agents voted, where they did.

use maud::{Markup, html};

use crate::report::View;
use crate::report::stages::{self, capitalized, is_ballot};
use dialectic_base::figures::score;
use dialectic_record::debate::{Contribution, Debate, Decider, StageId, Voting};

use super::contest;
use super::elements::{Column, bar, table};
use super::participants::Participants;
use super::text::{SHORT, markdown, name, plain};

/// What the section is called: by the stage of the ballots.
pub(super) fn title(debate: &Debate) -> String {
    let counted = stages::voting(debate).filter(|_| debate.voting.is_some());
    let name = match (counted, stages_of_ballots(debate).as_slice()) {
        (Some(stage), _) => stage.words.noun.to_string(),
        (None, [stage]) => debate.words(*stage).plural.into_owned(),
        (None, _) => "ballots".to_owned(),
    };
    capitalized(&name)
}

/// The stages of which there are ballots, in their order.
fn stages_of_ballots(debate: &Debate) -> Vec<StageId> {
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let mut stages: Vec<StageId> = contributions.filter(|one| is_ballot(debate, one)).map(|one| one.stage).collect();
    stages.sort_by_key(|stage| debate.stage_rank(*stage));
    stages.dedup();
    stages
}

/// The section.
pub(super) fn vote(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @if let Some(voting) = &view.debate.voting { (result(voting, participants)) }
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

fn result(voting: &Voting, participants: &Participants<'_>) -> Markup {
    let decided = match (voting.decided_by, &voting.winner) {
        (Decider::Vote, Some(winner)) => html! { (participants.chip(winner)) " won the vote." },
        (Decider::Judge, Some(winner)) => {
            html! { (capitalized(voting.undecided_in_words())) "; the judge decided for " (participants.chip(winner)) "." }
        }
        (Decider::Nobody, Some(winner)) => {
            html! { "Nobody decided; the record names " (participants.chip(winner)) "." }
        }
        (_, None) => html! {
            @match voting.count.as_ref().and_then(|count| count.undecided) {
                Some(undecided) => { "The vote has no winner: " (undecided.name()) ". The judge's scores decided." },
                None => { (capitalized(voting.unbroken_in_words())) "." }
            }
        },
    };
    let most = voting.tally.values().copied().max().unwrap_or(0);
    let mut tally: Vec<_> = voting.tally.iter().collect();
    tally.sort_by_key(|(id, votes)| (std::cmp::Reverse(**votes), participants.place(id)));
    let rows = html! {
        @for (id, votes) in tally {
            @let colour = participants.find(id).map_or("judge", |member| member.colour.as_str());
            tr {
                th scope="row" { (participants.chip(id)) @if voting.winner.as_ref() == Some(id) { " (winner)" } }
                td { (votes) " " (bar(colour, u64::from(*votes), u64::from(most))) }
            }
        }
    };
    let columns = ["Text of", "Votes"].map(Column::words);
    html! {
        p.lead { (decided) " The texts were shown without names, in a different order to each voter." }
        @if let Some(reason) = &voting.reason {
            div.card {
                h3 { "The judge's reason" }
                (markdown(reason, 4))
            }
        }
        (table("small", "Votes for each text", &columns, &rows, None))
        (contest::count(voting, participants))
    }
}

fn ballot(ballot: &Contribution, participants: &Participants<'_>, is_offline: bool) -> Markup {
    let target = ballot.target_agent_id.as_ref();
    html! {
        div.card {
            p {
                (participants.chip(&ballot.agent_id))
                @match (&ballot.metadata.choice, target) {
                    (Some(choice), _) => { ": " strong { (name(choice)) } }
                    (None, Some(target)) => { " for " (participants.chip(target)) }
                    (None, None) => " for no candidate",
                }
                @if target == Some(&ballot.agent_id) { " (its own)" }
                @if let Some(confidence) = ballot.metadata.confidence.filter(|_| !is_offline) { ", " (score(confidence)) " of 100 sure" }
            }
            (markdown(&ballot.content, 4))
        }
    }
}
