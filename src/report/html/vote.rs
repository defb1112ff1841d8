//! How the agents voted, where they did.

use crate::debate::{Contribution, ContributionType, Decider, Voting};
use crate::figures::score;
use crate::report::View;

use super::cast::Cast;
use super::markup::{Markup, html, push};
use super::table::{Column, table};
use super::text::markdown;
use super::usage::bar;

/// The section.
pub(super) fn vote(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let contributions = view.debate.rounds.iter().flat_map(|round| &round.contributions);
    let ballots: Vec<&Contribution> =
        contributions.filter(|one| one.kind == ContributionType::Vote).map(AsRef::as_ref).collect();
    let mut section = view.debate.voting.as_ref().map(|voting| result(voting, cast)).unwrap_or_default();
    if !ballots.is_empty() {
        push!(section, "<h3>Ballots</h3>\n<div class=\"ballots\">\n");
        for ballot in ballots {
            push!(section, "{}", shown(ballot, cast));
        }
        push!(section, "</div>\n");
    }
    section
}

fn result(voting: &Voting, cast: &Cast<'_>) -> Markup {
    let decided = match (voting.decided_by, &voting.winner) {
        (Decider::Vote, Some(winner)) => html!("{} won the vote.", cast.chip(winner)),
        (Decider::Judge, Some(winner)) => html!("The vote was tied; the judge decided for {}.", cast.chip(winner)),
        (Decider::Nobody, Some(winner)) => html!("Nobody decided; the record names {}.", cast.chip(winner)),
        (_, None) => html!("The vote was tied, and nobody broke the tie."),
    };
    let how = "The texts were shown without names, to each voter in another order.";
    let mut section = html!("<p class=\"lead\">{} {}</p>\n", decided, how);
    if let Some(reason) = &voting.reason {
        push!(section, "<div class=\"card\">\n<h3>The judge's reason</h3>\n{}</div>\n", markdown(reason, 4));
    }
    let most = voting.tally.values().copied().max().unwrap_or(0);
    let mut rows = Markup::default();
    let mut tally: Vec<_> = voting.tally.iter().collect();
    tally.sort_by_key(|(id, votes)| (std::cmp::Reverse(**votes), cast.place(id)));
    for (id, votes) in tally {
        let colour = cast.find(id).map_or("judge", |actor| actor.colour.as_str());
        let mark = if voting.winner.as_ref() == Some(id) { " (winner)" } else { "" };
        let bar = bar(colour, u64::from(*votes), u64::from(most));
        push!(rows, "<tr><th scope=\"row\">{}{}</th><td>{} {}</td></tr>\n", cast.chip(id), mark, votes, bar);
    }
    let columns = ["Refinement of", "Votes"].map(Column::words);
    push!(section, "{}", table("small", "Votes for each refinement", &columns, &rows, &Markup::default()));
    section
}

fn shown(ballot: &Contribution, cast: &Cast<'_>) -> Markup {
    let choice = ballot.target_agent_id.as_ref().map_or_else(|| html!("no candidate"), |id| cast.chip(id));
    let sure = ballot.metadata.confidence.map(|value| format!(", {} of 100 sure", score(value))).unwrap_or_default();
    let own = ballot.target_agent_id.as_ref() == Some(&ballot.agent_id);
    html!(
        "<div class=\"card\">\n<p>{} for {}{}{}</p>\n{}</div>\n",
        cast.chip(&ballot.agent_id),
        choice,
        if own { " (its own)" } else { "" },
        sure,
        markdown(&ballot.content, 4),
    )
}
