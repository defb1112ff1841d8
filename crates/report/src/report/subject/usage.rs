//! The usage by model, the facts of the run, and the judge's score of each round.

use crate::report::block::{Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};
use dialectic_base::figures::{UNKNOWN, cost, duration, score, thousands};
use dialectic_record::debate::{Debate, ModelUsage, Status, StopReason};

use super::status;

/// Calls, tokens and cost of each model.
pub(crate) fn usage(debate: &Debate) -> Vec<Block<'_>> {
    if debate.usage.is_empty() {
        return vec![Block::Paragraph(line!["No finished calls on record."])];
    }
    let all = debate.total_usage();
    let has_total = debate.usage.len() > 1;
    let rows = debate.usage.iter().map(|(model, usage)| row(foreign(&**model), usage));
    let rows = rows.chain(has_total.then(|| row("all models".into(), &all)));
    let figures = ["Calls", "Input tokens", "Of these cached", "Output tokens", "Cost"].map(TableHead::figures);
    let columns = [TableHead::words("Model")].into_iter().chain(figures);
    let table = TableBlock { has_total, ..TableBlock::new("models", "Calls, tokens and cost by model", columns, rows) };
    let mut blocks = vec![Block::Table(table)];
    if all.silent_calls > 0 {
        blocks.push(Block::Paragraph(line!["In all: ", figure(all.tokens_in_words())]));
    }
    blocks
}

fn row<'a>(model: Piece<'a>, usage: &ModelUsage) -> Vec<Phrase<'a>> {
    let about = if usage.hosted { "≈ " } else { "" };
    let tokens = [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
    let tokens = tokens.map(|count| line![figure(format!("{about}{}", thousands(count)))]);
    [line![model], line![figure(thousands(usage.requests))]]
        .into_iter()
        .chain(tokens)
        .chain([line![figure(usage.cost_in_words(cost(usage.cost_usd)))]])
        .collect()
}

/// The judge's score of each scored round; empty without any.
pub(crate) fn scores(debate: &Debate) -> Vec<Block<'_>> {
    let scored = debate.rounds.iter().filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?)));
    let rows = scored.map(|(round, evaluation)| {
        let value = evaluation.score.map_or_else(|| "could not be read".into(), |value| figure(score(value)));
        vec![
            line![figure(round)],
            line![evaluation.kind.name()],
            line![value],
            line![figure(score(evaluation.threshold))],
        ]
    });
    let columns = [
        TableHead::figures("Round"),
        TableHead::words("Type"),
        TableHead::figures("Score"),
        TableHead::figures("Threshold"),
    ];
    let table = TableBlock::new("small", "Scores of the judge", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

/// The outcome or status.
pub(crate) fn ending(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let explained = |line, reasons: &'_ [String]| {
        let reasons: Vec<ListItem<'_>> =
            reasons.iter().map(|reason| ListItem::of(line![foreign(reason.clone())])).collect();
        ListItem::with(line, vec![Block::List(reasons)])
    };
    if debate.status != Status::Completed {
        items.push(ListItem::of(line!["Status: ", debate.status.name()]));
    }
    items.extend(debate.error.as_ref().map(|error| explained(line!["Error:"], std::slice::from_ref(error))));
    let outcome = debate.outcome.as_ref();
    let run = debate.run_in_words();
    let run = run.split(':').next().unwrap_or_default().to_owned();
    items.extend(outcome.map(|outcome| explained(line!["Run: ", figure(run)], &outcome.reasons)));
    items.extend(status(debate).map(|status| ListItem::of(line!["Check of the answer: ", figure(status)])));
    items.extend(debate.stop_reason.map(|reason| {
        let by = match reason {
            StopReason::Budget => debate.limit_in_words(),
            StopReason::User => "the user",
        };
        ListItem::of(line!["Stopped early by: ", by])
    }));
    items
}

/// The number of rounds, and the duration.
pub(crate) fn extent(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let rounds = thousands(debate.rounds.len() as u64);
    items.extend(debate.forked_from.as_ref().map(|parent| {
        let at = foreign(parent.at.to_string());
        ListItem::of(line![
            "Forked from: ",
            foreign(parent.id.as_str()),
            " at ",
            at,
            "; earlier calls were paid for there"
        ])
    }));
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    items.extend(settings.map(|settings| ListItem::of(line!["Protocol: ", foreign(&*settings.protocol)])));
    let rounds: String = match settings.map(|settings| settings.rounds) {
        // A protocol may run more rounds than configured.
        Some(most) => match (debate.rounds.len() as u64).checked_sub(most.into()) {
            Some(more @ 1..) => format!("{rounds}, {more} more than the {} that were set", thousands(most.into())),
            Some(0) | None => format!("{rounds} of {}", thousands(most.into())),
        },
        None => rounds,
    };
    items.push(ListItem::of(line!["Rounds: ", figure(rounds)]));
    let took = debate.took_ms().map(|took| figure(duration(took)));
    items.push(ListItem::of(line!["Duration: ", took.unwrap_or_else(|| UNKNOWN.into())]));
    items
}
