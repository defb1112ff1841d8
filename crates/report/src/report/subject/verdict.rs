//! The verdict and its scores, the judge's confidence, and what remains to be done.

use std::collections::BTreeMap;

use crate::report::View;
use crate::report::block::{Block, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line, marked};
use dialectic_base::figures::{list, percent, score};
use dialectic_record::answer::{Judgement, PartlyFulfilled, Solution, Verdict, Winner};
use dialectic_record::debate::Debate;
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::points::Ledger;
use dialectic_record::settings::Position;

use super::objections::is_unchecked;

const NONE: &str = "none";

pub(crate) fn verdict<'v>(view: &'v View<'_>) -> Vec<Block<'v>> {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    if verdict.is_none() && judgements.is_empty() {
        return Vec::new();
    }
    let mut blocks = match verdict {
        Some(verdict) => won(view, verdict),
        None => vec![Block::Paragraph(line!["Not decided yet."])],
    };
    blocks.push(Block::Table(scores(view)));
    if !view.debate.extensions.is_empty() {
        let note = "The mean covers the last two passes. Earlier passes led to extensions.";
        blocks.push(Block::Paragraph(line![note]));
    }
    let note = "The judge saw no names. Each letter in its texts stands for a ";
    blocks.push(Block::Paragraph(line![note, judged_noun(view.debate), "."]));
    if let Some(verdict) = verdict {
        blocks.extend(criteria(verdict, &view.judged()).map(|table| Block::Aside(vec![Block::Table(table)])));
        for (criterion, assessment) in &verdict.criteria {
            blocks.push(Block::said(line!["Criterion ", marked(&**criterion)], assessment));
        }
        blocks.push(Block::said(line!["Reason"], &verdict.reasoning));
    }
    // The verdict already contains the reason of one pass.
    let is_other = |one: &&Judgement| verdict.is_none_or(|verdict| verdict.reasoning != one.reasoning);
    blocks.extend(judgements.iter().filter(is_other).map(|one| {
        let what = line!["Reason in pass ", figure(one.pass), ":"];
        Block::Folded(what, vec![Block::text(&one.reasoning)])
    }));
    blocks
}

pub(crate) fn won<'v>(view: &'v View<'_>, verdict: &'v Verdict) -> Vec<Block<'v>> {
    let tie = if verdict.is_tie() { " (the highest mean scores are equal)" } else { "" };
    let scores = view.judged().into_iter().filter_map(|id| verdict.scores.get(id));
    let scores = joined(scores.map(|value| line![figure(score(*value))]), " to ");
    let scores = Piece::Aside(if scores.len() > 1 { [line![", by "], scores].concat() } else { scores });
    let by_scores = [winner(verdict.winner.as_ref()), vec![scores]].concat();
    let won = match view.debate.winner() {
        Some(Winner { agent_id, vote: Some(_), .. }) => {
            [line!["Winner: ", agent_id, ", by vote; by scores: "], by_scores, line![tie]]
        }
        Some(Winner { vote: None, .. }) | None => [line!["Winner: "], by_scores, line![tie]],
    };
    let judged = figure(format!("{}s", judged_noun(view.debate)));
    let (stable, how, after) = match verdict.stable {
        Some(true) => ("yes", "; the result was the same in both orders of the ", ""),
        Some(false) => ("no", "; the winner changed when the ", " were judged in the opposite order"),
        None => ("unknown", "; the ", " were judged in one order only"),
    };
    let stable = Block::Paragraph(line!["Stable: ", stable, how, judged, after]);
    let stable = if verdict.stable == Some(false) { Block::Warning(vec![stable]) } else { stable };
    vec![Block::Paragraph(won.concat()), stable]
}

fn judges_debaters(debate: &Debate) -> bool {
    debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Speech))
}

fn judged_noun(debate: &Debate) -> &'static str {
    if judges_debaters(debate) { "debater" } else { "text" }
}

fn winner(winner: Option<&AgentId>) -> Phrase<'_> {
    winner.map_or_else(|| line![NONE], |winner| line![winner])
}

fn scores<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
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
    let author = if judges_debaters(view.debate) { "Debater" } else { "Agent" };
    let columns = [TableHead::words(author)].into_iter().chain(has_sides.then(|| TableHead::words("Side")));
    let columns = columns.chain([TableHead::figures("Mean score")]).chain(passes);
    let caption = format!("Scores of the {}s, 0 to 100", judged_noun(view.debate));
    TableBlock { has_total: true, ..TableBlock::new("", caption, columns, rows.chain([last])) }
}

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

pub(crate) fn partly_fulfilled(solution: &Solution) -> Vec<String> {
    let in_words = |PartlyFulfilled { requirement, holds, fails }: &PartlyFulfilled| {
        format!("{}. Holds: {}. Fails: {}.", ended(requirement), ended(holds), ended(fails))
    };
    solution.partly_fulfilled.iter().map(in_words).collect()
}

pub(crate) fn remaining(ledger: &Ledger) -> Vec<String> {
    let ruled = ledger.in_order().into_iter().filter_map(|one| Some((one, one.ruling()?)));
    let left = ruled.filter(|(_, ruling)| ruling.leaves_something() && !ruling.missing);
    left.map(|(one, ruling)| {
        let remains = Some(ruling.remains.trim()).filter(|remains| !remains.is_empty());
        let remains = remains.map_or_else(|| one.point.in_words().into_owned(), str::to_owned);
        format!("{} ({}): {remains}", one.number(), one.point.severity.name())
    })
    .collect()
}

/// The judge's confidence in words, with reservations; `None` if no model gave an estimate.
pub(crate) fn confidence(view: &View<'_>) -> Option<String> {
    let chance = percent(view.confidence()?);
    let solution = view.debate.final_solution.as_ref()?;
    let limited = solution.limited_confidence().map(|why| format!(" ({why})")).unwrap_or_default();
    let is_unchecked = is_unchecked(view.debate);
    let caveats = [
        (view.debate.is_full() == Some(false), "the run is incomplete"),
        (is_unchecked, "nobody checked the answer"),
        (!is_unchecked && !solution.unverified.is_empty(), "the answer was not fully verified"),
    ];
    let caveats: Vec<String> = caveats.iter().filter(|(holds, _)| *holds).map(|(_, what)| (*what).to_owned()).collect();
    let caveats = if caveats.is_empty() { String::new() } else { format!("; {}", list(&caveats)) };
    Some(format!("{}{limited}{caveats}", solution.chance_in_words(&chance)))
}

/// A text without its full stop, which is added later.
fn ended(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}
