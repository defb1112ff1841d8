//! How an audience voted before and after it listened.

use maud::{Markup, html};

use crate::report::View;
use crate::report::stages::capitalized;
use dialectic_record::debate::{Debate, Polls};

use super::elements::{Column, bar, table};
use super::participants::Participants;
use super::text::{SHORT, markdown, name, plain};

/// The section.
pub(super) fn polls(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let Some(polls) = Polls::of(view.debate) else { return Markup::default() };
    html! {
        @if polls.is_compared() {
            p.lead {
                @match polls.gained_most() {
                    Some(side) => { "It was " strong { (name(side)) } " that gained most." },
                    None if polls.uncounted.is_empty() => "No side gained more than the other.",
                    None => "Which side gained most is open: the votes that are missing could have decided it.",
                }
                " Only those count who voted each time."
            }
        }
        (by_choice(view.debate, &polls))
        (by_voter(view.debate, &polls, participants))
        (reasons(view.debate, &polls, participants))
    }
}

fn names(debate: &Debate, polls: &Polls<'_>) -> Vec<String> {
    let nouns = polls.held.iter().map(|poll| debate.words(poll.stage).noun);
    nouns.map(|noun| capitalized(&plain(&noun, SHORT))).collect()
}

fn by_choice(debate: &Debate, polls: &Polls<'_>) -> Markup {
    let most = polls.choices.iter().flat_map(|choice| &choice.votes).copied().max().unwrap_or(0);
    let rows = html! {
        @for choice in &polls.choices {
            tr {
                th scope="row" { (name(choice.name)) }
                @for votes in &choice.votes { td { (votes) " " (bar("judge", *votes as u64, most as u64)) } }
                @if polls.is_compared() { td.number { (choice.swing()) } }
            }
        }
    };
    let polled = names(debate, polls).into_iter().map(Column::words);
    let change = polls.is_compared().then(|| Column::number("Change"));
    let columns: Vec<Column> = [Column::words("Choice")].into_iter().chain(polled).chain(change).collect();
    table("small", "Votes for each choice", &columns, &rows, None)
}

fn by_voter(debate: &Debate, polls: &Polls<'_>, participants: &Participants<'_>) -> Markup {
    let rows = html! {
        @for voter in &polls.voters {
            tr {
                th scope="row" {
                    (participants.chip(voter)) @if polls.uncounted.contains(voter) { " " small { "not counted" } }
                }
                @for poll in &polls.held {
                    td {
                        @if let Some(vote) = poll.votes.get(*voter) { (name(vote)) }
                        @else { span.none { "no vote" } }
                    }
                }
            }
        }
    };
    let polled = names(debate, polls).into_iter().map(Column::words);
    let columns: Vec<Column> = [Column::words("Voter")].into_iter().chain(polled).collect();
    table("small", "What each of them voted for", &columns, &rows, None)
}

fn reasons(debate: &Debate, polls: &Polls<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @for (poll, title) in polls.held.iter().zip(names(debate, polls)) {
            @for (voter, reason) in poll.reasons.iter().filter(|(_, reason)| !reason.trim().is_empty()) {
                details {
                    summary {
                        (participants.chip(voter)) " · " (title)
                        @if let Some(vote) = poll.votes.get(voter) { ": " (name(vote)) }
                    }
                    (markdown(reason, 4))
                }
            }
        }
    }
}
