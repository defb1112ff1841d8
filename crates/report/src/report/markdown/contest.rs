//! How competing solutions fared: what the debate started from, who was chosen, how far the texts agreed.

use dialectic_base::figures::score;
use dialectic_base::markdown::{cell, inline};
use dialectic_record::debate::{Argument, Challenge, Debate, Voting};

use super::{Document, id};

const UNKNOWN: &str = "unknown";

pub(super) fn write(out: &mut Document<'_>, debate: &Debate) {
    material(out, debate);
    team(out, debate);
    agreement(out, debate);
    arguments(out, debate);
}

fn material(out: &mut Document<'_>, debate: &Debate) {
    let Some(gathered) = debate.gathered.as_ref().filter(|gathered| !gathered.material.is_empty()) else { return };
    out.line("### Material\n");
    for one in &gathered.material {
        let more = match &one.error {
            Some(error) => format!(": missing, {}", inline(error)),
            None if one.cut => format!(": the first {} characters", one.text.chars().count()),
            None => String::new(),
        };
        out.line(format_args!("- {} {}{more}", one.source.name(), inline(&one.name)));
    }
    out.line("");
}

fn team(out: &mut Document<'_>, debate: &Debate) {
    let Some(selection) = &debate.selection else { return };
    out.line("### Team\n");
    let known = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.digits$}"))
    };
    let rows = selection.candidates.iter().map(|one| {
        vec![
            cell(one.agent_id.as_str()).into_owned(),
            if one.chosen { "yes" } else { "no" }.to_owned(),
            format!("{:+.3}", one.score),
            format!("{:+.3}", one.by_rating),
            format!("{:+.3}", one.by_calibration),
            format!("{:+.3}", one.by_exploration),
            known(one.rating, 0),
            known(one.brier, 3),
            one.debates.to_string(),
        ]
    });
    let columns = [
        "Agent",
        "Takes part",
        ">Score",
        ">By rating",
        ">By calibration",
        ">By rarity",
        ">Rating",
        ">Brier score",
        ">Debates",
    ];
    out.table(&columns, rows);
}

fn agreement(out: &mut Document<'_>, debate: &Debate) {
    let measured = || debate.rounds.iter().filter_map(|round| Some((round, round.convergence.as_ref()?)));
    if measured().next().is_none() {
        return;
    }
    out.line("### Agreement\n");
    let percent = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.0}"));
    let rows = measured().map(|(round, of)| {
        vec![
            round.round_number.to_string(),
            percent(of.agreement),
            score(of.threshold),
            percent(of.mean_stability()),
            percent(of.similarity),
            of.measured_by(),
            format!("{} of {}", of.matters.iter().filter(|matter| matter.agreed).count(), of.matters.len()),
        ]
    });
    let columns = [">Round", ">Agreement", ">Threshold", ">Stability", ">Similarity", "Measured by", ">Matters agreed"];
    out.table(&columns, rows);
    for (round, of) in measured() {
        if let Some(fallback) = &of.fallback {
            out.line(format_args!("- Round {}: no embeddings were had: {}", round.round_number, inline(fallback)));
        }
        if let Some(unknown) = &of.unknown {
            out.line(format_args!("- Round {}: unknown, {}", round.round_number, inline(unknown)));
        }
        if let Some(on) = &of.opposed_on {
            out.line(format_args!("- Round {}: opposite decisions on {}", round.round_number, inline(on)));
        }
        for matter in of.matters.iter().filter(|matter| !matter.agreed) {
            let decisions: Vec<String> =
                matter.decisions.iter().map(|one| inline(&one.decision).into_owned()).collect();
            let state = if matter.opposed { "opposed" } else { "open" };
            out.line(format_args!("- Round {}, {state}: {}", round.round_number, decisions.join(" / ")));
        }
        if round.challenge.as_ref().is_some_and(Challenge::is_empty) {
            out.line(format_args!("- Round {}: challenged, and nothing was found against it", round.round_number));
        }
        for claim in round.challenge.iter().flat_map(|challenge| &challenge.claims) {
            out.line(format_args!("- Round {}, shared without support: {}", round.round_number, inline(claim)));
        }
        for point in round.challenge.iter().flat_map(|challenge| &challenge.points) {
            out.line(format_args!("- Round {}, answered by nobody: {}", round.round_number, inline(&point.text)));
        }
    }
    for extension in &debate.extensions {
        let missing: Vec<String> = extension.missing.iter().map(|one| inline(one).into_owned()).collect();
        let winner = id(extension.winner.as_str());
        out.line(format_args!("- Extended behind round {}: {winner} misses {}", extension.round, missing.join("; ")));
    }
    out.line("");
}

fn arguments(out: &mut Document<'_>, debate: &Debate) {
    if debate.rounds.iter().all(|round| round.observations.is_empty()) {
        return;
    }
    out.line("### Kinds of argument\n");
    let rows = debate.rounds.iter().flat_map(|round| round.observations.iter().map(move |one| (round, one)));
    let rows = rows.map(|(round, one)| {
        let kinds: Vec<&str> =
            Argument::ALL.iter().filter(|kind| one.kinds.contains(kind)).map(|kind| kind.name()).collect();
        vec![
            round.round_number.to_string(),
            cell(one.of.agent_id.as_str()).into_owned(),
            cell(one.of.stage.as_str()).into_owned(),
            one.of.target_agent_id.as_ref().map_or_else(String::new, |target| cell(target.as_str()).into_owned()),
            kinds.join(", "),
        ]
    });
    out.table(&[">Round", "Agent", "Contribution", "About", "Kinds"], rows);
}

/// By which rule the votes were counted, and what those said who lost.
pub(super) fn count(out: &mut Document<'_>, voting: &Voting) {
    let Some(count) = &voting.count else { return };
    out.line(format_args!(
        "- Rule: {}; {} of {} voted, the quorum is {}; {} for the voter's own text",
        count.rule.name(),
        count.cast,
        count.voters,
        count.quorum,
        count.self_votes
    ));
    if let Some(undecided) = count.undecided {
        out.line(format_args!("- No winner: {}; the judge decided", undecided.name()));
    }
    for one in &count.dissent {
        out.line(format_args!("- Dissent of {} for {}:\n", id(one.agent_id.as_str()), id(one.preferred.as_str())));
        out.fenced(&one.reason);
    }
    out.line("");
}
