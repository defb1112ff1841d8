//! How competing solutions fared: what the debate started from, who was chosen, how far the texts agreed, what stood
//! against that, and by which kinds of argument.

use maud::{Markup, html};

use crate::report::View;
use dialectic_base::figures::score;
use dialectic_record::debate::{AgentId, Argument, Challenge, Convergence, Extension, Matter, Round, Verdict, Voting};

use super::elements::{Column, bar, table};
use super::participants::Participants;
use super::text::{markdown, name};

/// What was collected before anybody was asked.
pub(super) fn material(view: &View<'_>) -> Markup {
    let Some(gathered) = view.debate.gathered.as_ref().filter(|gathered| !gathered.material.is_empty()) else {
        return Markup::default();
    };
    html! {
        p.lead { "All agents were shown this beside the problem." }
        @for one in &gathered.material {
            details {
                summary {
                    (one.source.name()) ": " (name(&one.name))
                    @if one.cut { " (the beginning)" }
                    @if one.error.is_some() { " (missing)" }
                }
                @if let Some(error) = &one.error { p { (name(error)) } }
                @if !one.text.is_empty() { pre { code { (one.text) } } }
            }
        }
    }
}

/// Who was chosen to take part, and why.
pub(super) fn team(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let Some(selection) = &view.debate.selection else { return Markup::default() };
    let has_families = selection.candidates.iter().any(|one| one.family.is_some());
    let part = |value: f64| html! { td.number { (format!("{value:+.3}")) } };
    let rows = html! {
        @for one in &selection.candidates {
            tr {
                th scope="row" { (participants.chip(&one.agent_id)) }
                td {
                    @if one.chosen { "yes" } @else { "no" }
                    @if one.passed_over { ", its family had half of the team" }
                }
                (part(one.score)) (part(one.by_rating)) (part(one.by_calibration)) (part(one.by_exploration))
                td.number { (one.rating.map_or_else(|| "unknown".to_owned(), |rating| format!("{rating:.0}"))) }
                td.number { (one.brier.map_or_else(|| "unknown".to_owned(), |brier| format!("{brier:.3}"))) }
                td.number { (one.debates) }
                @if has_families {
                    td { @if let Some(family) = &one.family { (name(family)) } @else { "unknown" } }
                }
            }
        }
    };
    let mut columns = vec![
        Column::words("Agent"),
        Column::words("Takes part"),
        Column::number("Score"),
        Column::number("By rating"),
        Column::number("By calibration"),
        Column::number("By rarity"),
        Column::number("Rating"),
        Column::number("Brier score"),
        Column::number("Debates"),
    ];
    columns.extend(has_families.then(|| Column::words("Family")));
    html! {
        p.lead {
            @match selection.size {
                Some(size) => {
                    (size) " of " (selection.candidates.len()) " agents were to take part: the best by these scores, of equals the first of the configuration."
                }
                None => "All agents took part; no size of the team was set.",
            }
            " " (selection.debates) " debates had been counted before."
        }
        (table("small", "Who could be chosen", &columns, &rows, None))
    }
}

/// How far the texts of each round agreed, and what followed from it.
pub(super) fn agreement(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let rounds: Vec<&Round> = view.debate.rounds.iter().filter(|round| round.convergence.is_some()).collect();
    let Some(last) = rounds.last().and_then(|round| round.convergence.as_ref()) else { return Markup::default() };
    html! {
        p.lead {
            "Agreement is the share of matters on which all texts decide the same; from " (score(last.threshold))
            " percent on they have converged. "
            @if last.is_reached() { "They did." } @else { "They did not." }
            " Beside it stands how alike the texts are, which decides nothing. It is measured by "
            (name(&last.measured_by())) "."
        }
        (figures(&rounds))
        (stabilities(&rounds, participants))
        @for round in &rounds {
            @if let Some(convergence) = &round.convergence { (matters(round, convergence, participants)) }
        }
        @for extension in &view.debate.extensions { (extended(extension, participants)) }
    }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.0}"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage")]
fn whole(value: Option<f64>) -> u64 {
    value.unwrap_or_default().clamp(0.0, 100.0).round() as u64
}

fn figures(rounds: &[&Round]) -> Markup {
    let rows = html! {
        @for round in rounds {
            @if let Some(of) = &round.convergence {
                @let agreed = of.matters.iter().filter(|matter| matter.agreed).count();
                tr {
                    th scope="row" { "Round " (round.round_number) }
                    td { (percent(of.agreement)) " " (bar("a1", whole(of.agreement), 100)) }
                    td { (percent(of.mean_stability())) " " (bar("a2", whole(of.mean_stability()), 100)) }
                    td { (percent(of.similarity)) " " (bar("a3", whole(of.similarity), 100)) }
                    td.number { (agreed) " of " (of.matters.len()) }
                }
            }
        }
    };
    let columns = [
        Column::words("Round"),
        Column::words("Agreement, percent"),
        Column::words("Stability, percent"),
        Column::words("Similarity, percent"),
        Column::number("Matters agreed"),
    ];
    table("small", "Agreement and stability over the rounds", &columns, &rows, None)
}

/// How alike each agent's text is to its own one before.
fn stabilities(rounds: &[&Round], participants: &Participants<'_>) -> Markup {
    let all = rounds.iter().filter_map(|round| round.convergence.as_ref()).flat_map(|of| of.stability.keys());
    let mut agents: Vec<&AgentId> = all.collect();
    agents.sort_by_key(|agent| participants.place(agent));
    agents.dedup();
    if agents.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        @for agent in &agents {
            tr {
                th scope="row" { (participants.chip(agent)) }
                @for round in rounds {
                    td.number { (percent(round.convergence.as_ref().and_then(|of| of.stability.get(*agent).copied()))) }
                }
            }
        }
    };
    let numbers = rounds.iter().map(|round| Column::number(format!("Round {}", round.round_number)));
    let columns: Vec<Column> = [Column::words("Text of")].into_iter().chain(numbers).collect();
    table("small", "Each text against its author's one before, percent", &columns, &rows, None)
}

fn matters(round: &Round, convergence: &Convergence, participants: &Participants<'_>) -> Markup {
    let challenge = round.challenge.as_ref().filter(|challenge| !challenge.is_empty());
    html! {
        details {
            summary { "Matters of round " (round.round_number) }
            @if let Some(fallback) = &convergence.fallback {
                p { "The texts were compared by their words, because no embeddings were had: " (name(fallback)) "." }
            }
            @if let Some(unknown) = &convergence.unknown { p { "The agreement is unknown: " (name(unknown)) "." } }
            @if let Some(on) = &convergence.opposed_on {
                p { "It counts as 0, because decisions on this requirement are opposite: " (name(on)) }
            }
            ul { @for matter in &convergence.matters { (matter_of(matter, participants)) } }
            @if round.challenge.as_ref().is_some_and(Challenge::is_empty) {
                p { "The agreement was challenged, and nothing was found against it." }
            }
        }
        @if let Some(challenge) = challenge {
            div.notice.warn {
                p { strong { "The agreement of round " (round.round_number) " was challenged." } }
                ul {
                    @for claim in &challenge.claims { li { "Shared by all, supported by nobody: " (name(claim)) } }
                    @for point in &challenge.points {
                        li { "Answered by nobody, on the text of " (participants.chip(&point.target_agent_id)) ": " (name(&point.text)) }
                    }
                }
            }
        }
    }
}

fn matter_of(matter: &Matter, participants: &Participants<'_>) -> Markup {
    let state = if matter.opposed {
        "opposed"
    } else if matter.agreed {
        "agreed"
    } else {
        "open"
    };
    html! {
        li {
            strong { (state) } ": "
            @for (place, wording) in matter.decisions.iter().enumerate() {
                @if place > 0 { " / " }
                (name(&wording.decision)) " "
                @for agent in &wording.agents { (participants.chip(agent)) " " }
            }
        }
    }
}

fn extended(extension: &Extension, participants: &Participants<'_>) -> Markup {
    html! {
        div.notice {
            p {
                strong { "The debate went on behind round " (extension.round) "." }
                " The text of " (participants.chip(&extension.winner)) " had won and missed:"
            }
            ul { @for missing in &extension.missing { li { (name(missing)) } } }
        }
    }
}

/// By which rule the votes were counted, and what those said who lost.
pub(super) fn count(voting: &Voting, participants: &Participants<'_>) -> Markup {
    let Some(count) = &voting.count else { return Markup::default() };
    html! {
        p {
            "Rule: " (count.rule.name()) ". " (count.cast) " of " (count.voters) " voted; the quorum is " (count.quorum)
            ". " (count.self_votes) " of " (count.cast) " votes were for the voter's own text."
        }
        @if !count.dissent.is_empty() {
            h3 { "Dissent" }
            div.ballots {
                @for one in &count.dissent {
                    div.card {
                        p { (participants.chip(&one.agent_id)) " for " (participants.chip(&one.preferred)) }
                        (markdown(&one.reason, 4))
                    }
                }
            }
        }
    }
}

/// The kinds of argument that each agent made in each round.
pub(super) fn arguments(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let rounds: Vec<&Round> = view.debate.rounds.iter().filter(|round| !round.observations.is_empty()).collect();
    if rounds.is_empty() {
        return Markup::default();
    }
    let mut rows: Vec<(u32, &AgentId, [u64; Argument::ALL.len()])> = Vec::new();
    for round in rounds {
        for observation in &round.observations {
            let (number, agent) = (round.round_number, &observation.of.agent_id);
            let place = rows.iter().position(|(of, who, _)| (*of, *who) == (number, agent));
            let place = place.unwrap_or_else(|| {
                rows.push((number, agent, [0; Argument::ALL.len()]));
                rows.len() - 1
            });
            for (kind, counted) in Argument::ALL.iter().zip(&mut rows[place].2) {
                *counted += u64::from(observation.kinds.contains(kind));
            }
        }
    }
    rows.sort_by_key(|(round, agent, _)| (*round, participants.place(agent)));
    let body = html! {
        @for (round, agent, counts) in &rows {
            tr {
                th scope="row" { (participants.chip(agent)) }
                td.number { (round) }
                @for counted in counts { td.number { (counted) } }
            }
        }
    };
    let kinds = Argument::ALL.iter().map(|kind| Column::number(kind.name()));
    let columns: Vec<Column> = [Column::words("Agent"), Column::number("Round")].into_iter().chain(kinds).collect();
    html! {
        p.lead { "In how many contributions of each agent an observer found each kind of argument." }
        (table("small", "Kinds of argument by agent and round", &columns, &body, None))
    }
}

/// The mean scores on each criterion, and what each text misses.
pub(super) fn criteria(verdict: &Verdict, judged: &[&AgentId], participants: &Participants<'_>) -> Markup {
    let Some(of_first) = verdict.by_criterion.values().next() else { return Markup::default() };
    let criteria: Vec<&str> = of_first.keys().map(String::as_str).collect();
    let rows = html! {
        @for agent in judged {
            tr {
                th scope="row" { (participants.chip(agent)) }
                @for criterion in &criteria {
                    td.number {
                        @match verdict.by_criterion.get(*agent).and_then(|of| of.get(*criterion)) {
                            Some(given) => (score(*given)),
                            None => "none",
                        }
                    }
                }
                td { (verdict.missing.get(*agent).map_or_else(|| "nothing".to_owned(), |missing| missing.join("; "))) }
            }
        }
    };
    let named = criteria.iter().map(|criterion| Column::number(name(criterion)));
    let columns = [Column::words("Text of")].into_iter().chain(named).chain([Column::words("Misses")]);
    let columns: Vec<Column> = columns.collect();
    table("small", "Mean scores on each criterion, 0 to 100", &columns, &rows, None)
}
