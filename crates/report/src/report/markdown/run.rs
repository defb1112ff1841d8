//! The course of the debate: outcome, usage, scores, vote, polls, verdict, failures.

use dialectic_base::figures::thousands;
use dialectic_record::debate::{CallKey, Failure, ResultKind};

use super::super::View;
use super::super::block::{Block, Phrase, TableBlock, TableHead, figure, foreign, line};
use super::super::stages::{self, capitalized};
use super::super::subject;
use super::{Document, blocks};

/// Writes nothing for older debates, which did not save these.
pub(super) fn write(out: &mut Document<'_>, view: &View<'_>) {
    let debate = view.debate;
    let kept = debate.settings.is_some() || debate.outcome.is_some();
    if !kept && debate.failures.is_empty() && debate.usage.is_empty() {
        return;
    }
    out.line("## Run\n");
    blocks::write(out, &[Block::List([subject::ending(debate), subject::extent(debate)].concat())]);
    let noun = |yields, otherwise: &'static str| {
        stages::first(debate, yields).map_or_else(|| otherwise.to_owned(), |stage| capitalized(&stage.words.noun))
    };
    let vote = stages::first(debate, ResultKind::Ballot)
        .map_or_else(|| "Vote".to_owned(), |stage| capitalized(&stage.words.noun));
    let subjects = [
        ("Usage".to_owned(), subject::usage(debate)),
        ("Scores".to_owned(), subject::scores(debate)),
        ("Team".to_owned(), subject::team(debate)),
        ("Agreement".to_owned(), subject::agreement(&debate.rounds, &debate.extensions)),
        ("Kinds of argument".to_owned(), subject::arguments(&debate.rounds)),
        (vote, debate.voting.as_ref().map(subject::vote).unwrap_or_default()),
        ("Polls".to_owned(), subject::polls(debate)),
        (noun(ResultKind::Verdict, "Verdict"), subject::verdict(view)),
        ("Failures".to_owned(), failures(&debate.failures)),
    ];
    for (title, said) in subjects.into_iter().filter(|(_, said)| !said.is_empty()) {
        blocks::write(out, &[Block::Heading(line![foreign(title)])]);
        blocks::write(out, &said);
    }
    out.line("");
}

fn failures(failures: &[Failure]) -> Vec<Block<'_>> {
    let rows = failures.iter().map(|failure| {
        let CallKey { round, stage, agent_id, target_agent_id, .. } = &failure.key;
        let target: Phrase<'_> = target_agent_id.as_ref().map(|target| line![" of ", target]).unwrap_or_default();
        vec![
            line![agent_id],
            [line![foreign(stage.as_str())], target].concat(),
            line![figure(round)],
            line![figure(thousands(failure.attempts.into()))],
            line![foreign(&*failure.error)],
        ]
    });
    let columns = [
        TableHead::words("Agent"),
        TableHead::words("Call"),
        TableHead::figures("Round"),
        TableHead::figures("Attempts"),
    ];
    let columns = columns.into_iter().chain([TableHead::words("Error")]);
    let table = TableBlock::new("failures", "Calls that failed for good", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}
