//! What those made of a debate who listened to it: the polls of an audience, the verdict of the judge.

use std::collections::BTreeMap;

use dialectic_base::figures::score;
use dialectic_base::markdown::{cell, heading, inline};
use dialectic_record::debate::{
    AgentId, Debate, Judgement, PollChoice, Polls, Position, ResultKind, Verdict, Winner, WonBy,
};

use super::super::View;
use super::super::stages::{capitalized, first};
use super::{Document, id};

/// What stands in a table where somebody gave nothing.
const NONE: &str = "none";

pub(super) fn polls(out: &mut Document<'_>, debate: &Debate, polls: &Polls<'_>) {
    out.line("### Polls\n");
    let names: Vec<_> = polls.held.iter().map(|poll| debate.words(poll.stage).noun).collect();
    let columns: Vec<String> = names.iter().map(|name| capitalized(&cell(name))).collect();
    let is_compared = polls.is_compared();
    let numbers: Vec<String> = columns
        .iter()
        .map(String::as_str)
        .chain(is_compared.then_some("Change"))
        .map(|name| format!(">{name}"))
        .collect();
    let row = |choice: &PollChoice<'_>| {
        let votes = choice.votes.iter().map(ToString::to_string);
        let row = [cell(choice.name).into_owned()].into_iter().chain(votes);
        row.chain(is_compared.then(|| choice.swing())).collect::<Vec<_>>()
    };
    out.table(&headed("Choice", &numbers), polls.choices.iter().map(row));
    if is_compared {
        let most = polls.gained_most().map_or_else(|| "no side".to_owned(), id);
        out.line(format_args!("Gained most: {most}\n"));
        let uncounted: Vec<String> = polls.uncounted.iter().map(|voter| id(voter.as_str())).collect();
        if !uncounted.is_empty() {
            out.line(format_args!("Not counted, without a vote in each poll: {}\n", uncounted.join(", ")));
        }
    }
    let row = |voter: &&AgentId| {
        let vote = |cast: Option<&String>| cast.map_or_else(|| NONE.to_owned(), |cast| cell(cast).into_owned());
        let votes = polls.held.iter().map(|poll| vote(poll.votes.get(*voter)));
        [cell(voter.as_str()).into_owned()].into_iter().chain(votes).collect::<Vec<_>>()
    };
    out.table(&headed("Voter", &columns), polls.voters.iter().map(row));
    for (poll, name) in polls.held.iter().zip(names) {
        for (voter, reason) in poll.reasons.iter().filter(|(_, reason)| !reason.trim().is_empty()) {
            out.line(format_args!("{}, {}:\n", id(voter.as_str()), inline(&name)));
            out.fenced(reason);
            out.line("");
        }
    }
}

fn headed<'n>(first: &'n str, others: &'n [String]) -> Vec<&'n str> {
    [first].into_iter().chain(others.iter().map(String::as_str)).collect()
}

/// Nothing where nobody was judged.
pub(super) fn verdict(out: &mut Document<'_>, view: &View<'_>) {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    if verdict.is_none() && judgements.is_empty() {
        return;
    }
    let name = first(view.debate, ResultKind::Verdict).map_or("verdict", |stage| &stage.words.noun);
    out.line(format_args!("### {}\n", heading(&capitalized(name))));
    match verdict {
        Some(verdict) => {
            let tie = if verdict.is_tie() { " (the highest means are equal)" } else { "" };
            let by_scores = winner(verdict.winner.as_ref());
            match view.debate.winner() {
                Some(elected @ Winner { agent_id, by: WonBy::Vote(_) }) => out.line(format_args!(
                    "Winner: {}, {}; by the scores: {by_scores}{tie}\n",
                    id(agent_id.as_str()),
                    if elected.is_by_casting_vote() { "by the judge's casting vote" } else { "by the vote" }
                )),
                Some(Winner { by: WonBy::Scores(_), .. }) | None => {
                    out.line(format_args!("Winner: {by_scores}{tie}\n"));
                }
            }
            out.line(format_args!("Stable: {}\n", stability(verdict, view.judged_words().several)));
        }
        None => out.line("Not decided yet.\n"),
    }
    scores(out, view);
    if !view.debate.extensions.is_empty() {
        out.line("The last two passes make the mean. Those before them led to the debate going on.\n");
    }
    out.line(format_args!(
        "The judge was shown no names; a letter in what it wrote is the one under which it was shown a {}.\n",
        view.judged_words().one
    ));
    let nothing = BTreeMap::new();
    for (criterion, assessment) in verdict.map_or(&nothing, |verdict| &verdict.criteria) {
        out.line(format_args!("Criterion {}:\n", id(criterion)));
        out.fenced(assessment);
        out.line("");
    }
    if let Some(verdict) = verdict {
        out.line("Reason:\n");
        out.fenced(&verdict.reasoning);
        out.line("");
    }
    // The verdict gives the reason of one pass.
    let is_other = |one: &&Judgement| verdict.is_none_or(|verdict| verdict.reasoning != one.reasoning);
    for judgement in judgements.iter().filter(is_other) {
        out.line(format_args!("Reason in pass {}:\n", judgement.pass));
        out.fenced(&judgement.reasoning);
        out.line("");
    }
}

fn winner(winner: Option<&AgentId>) -> String {
    winner.map_or_else(|| NONE.to_owned(), |winner| id(winner.as_str()))
}

fn stability(verdict: &Verdict, judged: &str) -> String {
    match verdict.stable {
        Some(true) => format!("yes, the result was the same in both orders of the {judged}"),
        Some(false) => format!("no, the winner changed when the {judged} came in the opposite order"),
        None => format!("not known, the {judged} were judged in one order only"),
    }
}

/// A row for each who was judged, and one for who won: in all, and in each pass.
fn scores(out: &mut Document<'_>, view: &View<'_>) {
    let (verdict, judgements) = (view.debate.verdict.as_ref(), &view.debate.judgements);
    let passes: Vec<String> = judgements.iter().map(|one| format!(">Pass {}", one.pass)).collect();
    let judged = view.judged();
    let has_sides = view.has_sides();
    let side = |side: &'static str| has_sides.then_some(side);
    let mut columns = vec![view.judged_words().author];
    columns.extend(side("Side"));
    columns.extend([">Mean score"].into_iter().chain(passes.iter().map(String::as_str)));
    let means = verdict.map(|verdict| &verdict.scores);
    let shown = |scores: Option<&BTreeMap<AgentId, f64>>, debater: &AgentId| {
        scores.and_then(|scores| scores.get(debater)).map_or_else(|| NONE.to_owned(), |given| score(*given))
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for debater in judged {
        let mut row = vec![cell(debater.as_str()).into_owned()];
        row.extend(side(view.side_of(debater).map_or(NONE, Position::name)).map(str::to_owned));
        row.push(shown(means, debater));
        row.extend(judgements.iter().map(|one| shown(Some(&one.scores), debater)));
        rows.push(row);
    }
    let cell_of = |winner: Option<&AgentId>| winner.map_or(NONE.into(), |winner| cell(winner.as_str())).into_owned();
    let mut last = vec!["winner".to_owned()];
    last.extend(side("").map(str::to_owned));
    last.push(cell_of(verdict.and_then(|verdict| verdict.winner.as_ref())));
    last.extend(judgements.iter().map(|one| cell_of(one.winner.as_ref())));
    rows.push(last);
    out.table(&columns, rows);
}
