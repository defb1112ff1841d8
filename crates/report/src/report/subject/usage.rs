//! The usage by model, and the judge's score of each round.

use dialectic_base::figures::{cost, score, thousands};
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
