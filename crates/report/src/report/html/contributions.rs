//! Renders contributions, summaries and votes.

use maud::{Markup, html};

use crate::report::stages::{self, capitalized, is_ballot};
use crate::report::{View, subject};
use dialectic_base::figures::{counted, duration, percent, thousands};
use dialectic_record::debate::{Contribution, Debate, Round, Summary};
use dialectic_record::ids::{ResultKind, StageId};

use super::blocks::{Participants, blocks};
use super::text::{SHORT, beginning, markdown, name, noun, plain, words};

fn figures(contribution: &Contribution) -> Markup {
    let metadata = &contribution.metadata;
    let model = metadata.model.as_deref().map(name);
    let tokens = metadata.tokens_used.filter(|taken| *taken > 0).map(tokens);
    separated([model, tokens, metadata.latency_ms.map(latency)])
}

fn tokens(tokens: u64) -> Markup {
    html! { (counted(tokens, "token")) }
}

fn latency(millis: u64) -> Markup {
    html! { (duration(millis)) }
}

fn separated<const N: usize>(figures: [Option<Markup>; N]) -> Markup {
    html! {
        @for (place, figure) in figures.into_iter().flatten().enumerate() {
            @if place > 0 { " · " }
            (figure)
        }
    }
}

pub(super) fn summaries(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @for round in &view.debate.rounds {
            @let title = format!("Round {}", round.round_number);
            @for one in ordered(round, participants) { (summary(one, &title, participants)) }
        }
        @if let Some(one) = &view.debate.judge_summary { (summary(one, "Before the synthesis", participants)) }
    }
}

fn ordered<'v>(round: &'v Round, participants: &Participants<'_>) -> Vec<&'v Summary> {
    let mut summaries: Vec<&Summary> = round.summaries.iter().flatten().map(|(_, summary)| summary).collect();
    summaries.sort_by_key(|summary| participants.place(&summary.agent_id));
    summaries
}

fn summary(summary: &Summary, when: &str, participants: &Participants<'_>) -> Markup {
    let metadata = &summary.metadata;
    let [before, after] = [metadata.before_chars, metadata.after_chars].map(|chars| thousands(chars as u64));
    let length = html! { (before) " to " (after) " characters" };
    let figures = [Some(length), metadata.tokens_used.map(tokens), metadata.latency_ms.map(latency)];
    html! {
        details {
            summary {
                span { (when) " · " (participants.chip(&summary.agent_id)) }
                " " small { (separated(figures)) }
            }
            (markdown(&summary.summary, 4))
        }
    }
}

pub(super) fn yielding(view: &View<'_>, participants: &Participants<'_>, wanted: ResultKind) -> Markup {
    rounds(view, participants, |yields| yields == Some(wanted))
}

/// Texts of unknown stages, and of stages without a section of their own.
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
    html! {
        details {
            summary {
                span {
                    (participants.chip(&one.agent_id)) " · " (noun(view.debate, one.stage))
                    @if let Some(target) = &one.target_agent_id {
                        " " (stages::preposition(view.debate, one.stage)) " " (participants.chip(target))
                    }
                }
                " " span.change { (counted(words(&one.content), "word")) } " " small { (figures(one)) }
                " " small.beginning { bdi { (beginning(&one.content)) } }
            }
            @if let Some(cut) = one.metadata.cut() { p.notice.warn { "This text was cut off " (cut.how()) "." } }
            (markdown(&one.content, 4))
        }
    }
}

pub(super) fn vote_title(debate: &Debate) -> String {
    let counted = stages::first(debate, ResultKind::Ballot).filter(|_| debate.voting.is_some());
    let name = match (counted, stages_of_ballots(debate).as_slice()) {
        (Some(stage), _) => stage.words.noun.to_string(),
        (None, [stage]) => debate.words(*stage).plural.into_owned(),
        (None, _) => "ballots".to_owned(),
    };
    capitalized(&name)
}

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
    let confidence = ballot.metadata.confidence.filter(|_| !is_offline);
    html! {
        div.card {
            p {
                (participants.chip(&ballot.agent_id))
                @match target {
                    Some(target) => { " for " (participants.chip(target)) }
                    None => " for no candidate",
                }
                @if target == Some(&ballot.agent_id) { " (its own)" }
                @if let Some(confidence) = confidence { ", " (percent(confidence)) " sure" }
            }
            (markdown(&ballot.content, 4))
        }
    }
}
