//! How the agents voted, where they did.

use maud::{Markup, html};

use crate::debate::{Contribution, ContributionType, Decider, Voting};
use crate::figures::score;
use crate::report::View;

use super::elements::{Column, bar, table};
use super::participants::Participants;
use super::text::markdown;

/// The section.
pub(super) fn vote(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let contributions = view.debate.rounds.iter().flat_map(|round| &round.contributions);
    let mut ballots = contributions.filter(|one| one.kind == ContributionType::Vote).peekable();
    html! {
        @if let Some(voting) = &view.debate.voting { (result(voting, participants)) }
        @if ballots.peek().is_some() {
            h3 { "Ballots" }
            div.ballots {
                @for one in ballots { (ballot(one, participants)) }
            }
        }
    }
}

fn result(voting: &Voting, participants: &Participants<'_>) -> Markup {
    let decided = match (voting.decided_by, &voting.winner) {
        (Decider::Vote, Some(winner)) => html! { (participants.chip(winner)) " won the vote." },
        (Decider::Judge, Some(winner)) => {
            html! { "The vote was tied; the judge decided for " (participants.chip(winner)) "." }
        }
        (Decider::Nobody, Some(winner)) => {
            html! { "Nobody decided; the record names " (participants.chip(winner)) "." }
        }
        (_, None) => html! { "The vote was tied, and nobody broke the tie." },
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
    let columns = ["Refinement of", "Votes"].map(Column::words);
    html! {
        p.lead { (decided) " The texts were shown without names, to each voter in another order." }
        @if let Some(reason) = &voting.reason {
            div.card {
                h3 { "The judge's reason" }
                (markdown(reason, 4))
            }
        }
        (table("small", "Votes for each refinement", &columns, &rows, None))
    }
}

fn ballot(ballot: &Contribution, participants: &Participants<'_>) -> Markup {
    let target = ballot.target_agent_id.as_ref();
    html! {
        div.card {
            p {
                (participants.chip(&ballot.agent_id)) " for "
                @if let Some(target) = target { (participants.chip(target)) } @else { "no candidate" }
                @if target == Some(&ballot.agent_id) { " (its own)" }
                @if let Some(confidence) = ballot.metadata.confidence { ", " (score(confidence)) " of 100 sure" }
            }
            (markdown(&ballot.content, 4))
        }
    }
}
