//! The verdict: the judge's scores in each reading.

use std::collections::BTreeMap;

use dialectic_base::figures::score;
use dialectic_record::debate::{AgentId, Judgement, Position, Verdict, Winner, WonBy};

use crate::report::View;
use crate::report::block::{Block, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line, marked};

/// Shown for a missing score, and for no winner.
const NONE: &str = "none";

/// Empty without a judgement.
pub(crate) fn verdict<'v>(view: &'v View<'_>) -> Vec<Block<'v>> {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    if verdict.is_none() && judgements.is_empty() {
        return Vec::new();
    }
    let words = view.judged_words();
    let mut blocks = match verdict {
        Some(verdict) => won(view, verdict),
        None => vec![Block::Paragraph(line!["Not decided yet."])],
    };
    blocks.push(Block::Table(scores(view)));
    if !view.debate.extensions.is_empty() {
        let note = "The mean counts the last two passes. Earlier passes extended the debate.";
        blocks.push(Block::Paragraph(line![note]));
    }
    let note = "The judge saw no names. Each letter in its texts is the label of a ";
    blocks.push(Block::Paragraph(line![note, words.one, "."]));
    if let Some(verdict) = verdict {
        blocks.extend(criteria(verdict, &view.judged()).map(|table| Block::Aside(vec![Block::Table(table)])));
        for (criterion, assessment) in &verdict.criteria {
            blocks.push(Block::said(line!["Criterion ", marked(&**criterion)], assessment));
        }
        blocks.push(Block::said(line!["Reason"], &verdict.reasoning));
    }
    // The verdict contains the reason of one pass.
    let is_other = |one: &&Judgement| verdict.is_none_or(|verdict| verdict.reasoning != one.reasoning);
    blocks.extend(judgements.iter().filter(is_other).map(|one| {
        let what = line!["Reason in pass ", figure(one.pass), ":"];
        Block::Folded(what, vec![Block::text(&one.reasoning)])
    }));
    blocks
}

/// The winner, and whether the order of reading mattered.
pub(crate) fn won<'v>(view: &'v View<'_>, verdict: &'v Verdict) -> Vec<Block<'v>> {
    let tie = if verdict.is_tie() { " (the highest means are equal)" } else { "" };
    let scores = view.judged().into_iter().filter_map(|id| verdict.scores.get(id));
    let scores = joined(scores.map(|value| line![figure(score(*value))]), " to ");
    let scores = Piece::Aside(if scores.len() > 1 { [line![", by "], scores].concat() } else { scores });
    let by_scores = [winner(verdict.winner.as_ref()), vec![scores]].concat();
    let won = match view.debate.winner() {
        Some(Winner { agent_id, by: WonBy::Vote(_) }) => {
            [line!["Winner: ", agent_id, ", by the vote; by the scores: "], by_scores, line![tie]]
        }
        Some(Winner { by: WonBy::Scores(_), .. }) | None => [line!["Winner: "], by_scores, line![tie]],
    };
    let judged = view.judged_words().several;
    let (stable, how, after) = match verdict.stable {
        Some(true) => ("yes", ", the result was the same in both orders of the ", ""),
        Some(false) => ("no", ", the winner changed when the ", " came in the opposite order"),
        None => ("not known", ", the ", " were judged in one order only"),
    };
    let stable = Block::Paragraph(line!["Stable: ", stable, how, judged, after]);
    let stable = if verdict.stable == Some(false) { Block::Warning(vec![stable]) } else { stable };
    vec![Block::Paragraph(won.concat()), stable]
}

fn winner(winner: Option<&AgentId>) -> Phrase<'_> {
    winner.map_or_else(|| line![NONE], |winner| line![winner])
}

/// A row for each debater and one for the winner: in total, and in each pass.
fn scores<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    let words = view.judged_words();
    let has_sides = view.has_sides();
    let shown = |scores: Option<&BTreeMap<AgentId, f64>>, of: &AgentId| {
        scores.and_then(|scores| scores.get(of)).map_or_else(|| line![NONE], |given| line![figure(score(*given))])
    };
    let rows = view.judged().into_iter().map(|of| {
        let side = has_sides.then(|| line![view.side_of(of).map_or(NONE, Position::name)]);
        let mean = shown(verdict.map(|verdict| &verdict.scores), of);
        let passes = judgements.iter().map(|one| shown(Some(&one.scores), of));
        [line![of]].into_iter().chain(side).chain([mean]).chain(passes).collect()
    });
    let side = has_sides.then(|| line![""]);
    let won = judgements.iter().map(|one| winner(one.winner.as_ref()));
    let last = winner(verdict.and_then(|verdict| verdict.winner.as_ref()));
    let last = [line!["winner"]].into_iter().chain(side).chain([last]).chain(won).collect();
    let passes = judgements.iter().map(|one| TableHead::figures(figure(format!("Pass {}", one.pass))));
    let columns = [TableHead::words(words.author)].into_iter().chain(has_sides.then(|| TableHead::words("Side")));
    let columns = columns.chain([TableHead::figures("Mean score")]).chain(passes);
    let caption = format!("Scores of the {}, 0 to 100", words.several);
    TableBlock { has_total: true, ..TableBlock::new("", caption, columns, rows.chain([last])) }
}

/// The mean scores by criterion, and each text's missed requirements.
fn criteria<'v>(verdict: &'v Verdict, judged: &[&'v AgentId]) -> Option<TableBlock<'v>> {
    let criteria: Vec<&str> = verdict.by_criterion.values().next()?.keys().map(String::as_str).collect();
    let rows = judged.iter().map(|agent| {
        let of_agent = verdict.by_criterion.get(*agent);
        let given = criteria.iter().map(|criterion| {
            let given = of_agent.and_then(|of| of.get(*criterion));
            given.map_or_else(|| line![NONE], |given| line![figure(score(*given))])
        });
        let missing = verdict.missing.get(*agent).into_iter().flatten().map(|one| line![foreign(one)]);
        let missing = joined(missing, "; ");
        let missing = if missing.is_empty() { line!["nothing"] } else { missing };
        [line![*agent]].into_iter().chain(given).chain([missing]).collect()
    });
    let columns = criteria.iter().map(|criterion| TableHead::figures(foreign(*criterion)));
    let columns = [TableHead::words("Text of")].into_iter().chain(columns).chain([TableHead::words("Misses")]);
    Some(TableBlock::new("small", "Mean scores on each criterion, 0 to 100", columns, rows))
}
