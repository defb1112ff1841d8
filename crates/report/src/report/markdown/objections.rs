//! What became of every objection: all points in a table, then each with its texts, then what the authors changed.

use dialectic_base::figures::UNKNOWN;
use dialectic_base::markdown::{cell, heading, inline};
use dialectic_record::debate::{Answered, Change, Counts, Ledger, Move, Objection, PointId, Ruling};

use super::super::View;
use super::{Document, id};

/// What stands in a cell where there is nothing to say.
const NONE: &str = "-";

/// Nothing for a debate whose record holds no readings, as those of older versions do: their reports stay as they are.
pub(super) fn write(out: &mut Document<'_>, view: &View<'_>) {
    let ledger = Ledger::of(view.debate);
    if ledger.is_empty() {
        return;
    }
    out.line("\n## Objections\n");
    out.line(format_args!("{}\n", Counts::of(&ledger.objections).sentences()));
    let columns = ["Point", "Severity", "Critic", "Target", "Answer", "Critic's last word", "Ruling", "Open"];
    out.table(&columns, ledger.objections.iter().map(row));
    for objection in &ledger.objections {
        texts(out, objection);
    }
    moves(out, &ledger);
}

fn row(one: &Objection) -> [String; 8] {
    [
        cell(&one.id.to_string()).into_owned(),
        one.point.severity.name().to_owned(),
        cell(one.critic_id.as_str()).into_owned(),
        cell(one.target_id.as_str()).into_owned(),
        one.answer_in_words().to_owned(),
        one.recheck_in_words().to_owned(),
        one.ruling_in_words().unwrap_or(NONE).to_owned(),
        if one.open { "yes" } else { "no" }.to_owned(),
    ]
}

/// All that was said of a point.
fn texts(out: &mut Document<'_>, one: &Objection) {
    out.line(format_args!("### {}\n", heading(&one.id.to_string())));
    if let Some(about) = &one.point.about {
        out.line(format_args!("About: {}\n", inline(about)));
    }
    let severity = one.point.severity.name();
    labelled(out, format_args!("Objection ({severity}):"), Some(&one.point.text));
    if one.point.resolution.is_some() {
        labelled(out, format_args!("Would be resolved by:"), one.point.resolution.as_deref());
    }
    let (author, answer) = (id(one.target_id.as_str()), one.answer_in_words());
    if one.answer == Answered::Unanswered {
        out.line(format_args!("{author} did not answer it.\n"));
    } else {
        labelled(out, format_args!("{author} answered ({answer}):"), one.reason.as_deref());
    }
    if one.critic.is_some() {
        labelled(out, format_args!("Its critics later ({}):", one.recheck_in_words()), one.critic_reason.as_deref());
    }
    if let Some(ruling) = &one.ruling {
        ruled(out, ruling);
    }
}

fn ruled(out: &mut Document<'_>, ruling: &Ruling) {
    if ruling.missing {
        out.line("The judge was asked and did not rule on it, which counts as upheld and not met.\n");
        return;
    }
    let met = match ruling.place() {
        _ if !ruling.is_unmet() && ruling.place().is_empty() => String::new(),
        "" => ", not met by the solution".to_owned(),
        section => format!(", met in {}", id(section)),
    };
    let reason = Some(ruling.reason.as_str()).filter(|reason| !reason.trim().is_empty());
    labelled(out, format_args!("The judge ({}{met}):", ruling.decision.name()), reason);
}

/// A text in a fence under a line that says what it is. Without the text the line says that, too.
fn labelled(out: &mut Document<'_>, label: std::fmt::Arguments<'_>, text: Option<&str>) {
    match text {
        Some(text) => {
            out.line(format_args!("{label}\n"));
            out.fenced(text);
            out.line("");
        }
        None => out.line(format_args!("{label} no reason given\n")),
    }
}

fn moves(out: &mut Document<'_>, ledger: &Ledger) {
    if ledger.moves.is_empty() {
        return;
    }
    out.line("### Who moved, and why\n");
    let columns =
        [">Round", "Agent", "Accepted", "Accepted in part", "Rejected", "Unanswered", ">Lines added", ">Lines removed"];
    out.table(&columns, ledger.moves.iter().map(moved));
}

fn moved(one: &Move) -> [String; 8] {
    let lines = |read: fn(Change) -> usize| one.change.map_or(UNKNOWN.to_owned(), |change| read(change).to_string());
    [
        one.round.to_string(),
        cell(one.agent_id.as_str()).into_owned(),
        points(&one.accepted),
        points(&one.partly),
        points(&one.rejected),
        points(&one.unanswered),
        lines(|change| change.added),
        lines(|change| change.removed),
    ]
}

/// Ids, which name the critics whose points they are.
fn points(ids: &[PointId]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| cell(&id.to_string()).into_owned()).collect();
    if ids.is_empty() { NONE.to_owned() } else { ids.join(", ") }
}
