//! How the judge came to a verdict: what it made of the debaters each time it was asked.

use maud::{Markup, html};

use crate::report::View;
use dialectic_base::figures::score;
use dialectic_record::debate::{AgentId, Judgement, Position, Verdict, Winner, WonBy};

use super::contest;
use super::elements::{Column, table};
use super::participants::Participants;
use super::text::{markdown, name};

/// The section.
pub(super) fn verdict(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    if verdict.is_none() && judgements.is_empty() {
        return Markup::default();
    }
    html! {
        p.lead {
            @if let Some(Winner { agent_id, by: WonBy::Vote(_) }) = view.debate.winner() {
                (participants.chip(agent_id)) " won by the vote, which decides. By the judge’s scores "
                @if let Some(ahead) = verdict.and_then(|verdict| verdict.winner.as_ref()) { (participants.chip(ahead)) }
                @else { "nobody" }
                " is ahead."
            } @else { @match verdict {
                Some(Verdict { winner: Some(winner), .. }) => { (participants.chip(winner)) " won." },
                Some(verdict) if verdict.is_tie() => "Nobody won: the highest means are equal.",
                Some(Verdict { winner: None, .. }) => "Nobody won.",
                None => "Nothing is decided yet.",
            } }
            " The judge was shown no names; a letter in what it wrote is the one under which it was shown a "
            (view.judged_words().one) "."
        }
        @if let Some(verdict) = verdict { (stability(verdict, judgements, view.judged_words().several, participants)) }
        (scores(view, participants))
        @if !view.debate.extensions.is_empty() {
            p { "The last two passes make the mean. Those before them led to the debate going on." }
        }
        @if let Some(verdict) = verdict {
            (contest::criteria(verdict, &view.judged(), participants))
            @if !verdict.criteria.is_empty() {
                h3 { "Criteria" }
                div.ballots {
                    @for (criterion, assessment) in &verdict.criteria {
                        div.card { h4 { (name(criterion)) } (markdown(assessment, 5)) }
                    }
                }
            }
            h3 { "Reason" }
            (markdown(&verdict.reasoning, 4))
        }
        // The verdict gives the reason of one pass.
        @for one in judgements.iter().filter(|one| verdict.is_none_or(|of| of.reasoning != one.reasoning)) {
            details {
                summary { "Reason in pass " (one.pass) }
                (markdown(&one.reasoning, 4))
            }
        }
    }
}

/// Whether the winner depended on the order in which the judge was shown what it judged.
fn stability(verdict: &Verdict, judgements: &[Judgement], judged: &str, participants: &Participants<'_>) -> Markup {
    match verdict.stable {
        Some(true) => html! { p { "It was stable: the result was the same in both orders of the " (judged) "." } },
        None => html! { p { "The " (judged) " were judged in one order only, so whether it is stable is not known." } },
        Some(false) => html! {
            div.notice.warn {
                p { strong { "The verdict is not stable: the winner changed with the order of the " (judged) "." } }
                ul {
                    // Those before led to the debate going on.
                    @for one in judgements.iter().skip(judgements.len().saturating_sub(2)) {
                        li {
                            "Pass " (one.pass) ": "
                            @if let Some(winner) = &one.winner { (participants.chip(winner)) } @else { "nobody" }
                        }
                    }
                }
            }
        },
    }
}

/// A row for each who was judged, and one for who won: in all, and in each pass.
fn scores(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    let means = verdict.map(|verdict| &verdict.scores);
    let number = |given: Option<&f64>| html! { td.number { (given.map_or("none".to_owned(), |given| score(*given))) } };
    let winner = |id: Option<&AgentId>| {
        html! { td.number { @if let Some(id) = id { (participants.chip(id)) } @else { "nobody" } } }
    };
    let judged = view.judged();
    let has_sides = view.has_sides();
    let rows = html! {
        @for debater in judged {
            tr {
                th scope="row" { (participants.chip(debater)) }
                @if has_sides { td { (view.side_of(debater).map_or("none", Position::name)) } }
                (number(means.and_then(|means| means.get(debater))))
                @for one in judgements { (number(one.scores.get(debater))) }
            }
        }
    };
    let foot = html! {
        tr {
            th scope="row" { "Winner" }
            @if has_sides { td {} }
            (winner(verdict.and_then(|verdict| verdict.winner.as_ref())))
            @for one in judgements { (winner(one.winner.as_ref())) }
        }
    };
    let passes = judgements.iter().map(|one| Column::number(format!("Pass {}", one.pass)));
    let side = has_sides.then(|| Column::words("Side"));
    let numbers = [Column::number("Mean score")].into_iter().chain(passes);
    let columns: Vec<Column> =
        [Column::words(view.judged_words().author)].into_iter().chain(side).chain(numbers).collect();
    table("", &format!("Scores of the {}, 0 to 100", view.judged_words().several), &columns, &rows, Some(&foot))
}
