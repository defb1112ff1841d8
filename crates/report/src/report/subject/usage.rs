//! The usage by model, and the judge's score of each round.

use dialectic_base::figures::{cost, score, sum_of_tokens, thousands, with_notional};
use dialectic_record::debate::{Debate, ModelUsage};

use crate::report::block::{Block, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};

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
        let sum = sum_of_tokens(debate.total_tokens(), all.silent_calls);
        blocks.push(Block::Paragraph(line!["In all: ", figure(sum)]));
    }
    blocks
}

fn row<'a>(model: Piece<'a>, usage: &ModelUsage) -> Vec<Phrase<'a>> {
    let counts = [usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
    let counts = counts.map(|count| line![figure(thousands(count))]);
    [line![model]]
        .into_iter()
        .chain(counts)
        .chain([line![figure(with_notional(cost(usage.cost_usd), usage.notional_usd))]])
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
