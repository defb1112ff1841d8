//! The result of a vote.

use dialectic_record::debate::{VoteCount, Voting};

use crate::report::block::{Block, ListItem, Phrase, TableBlock, TableHead, figure, joined, line};

/// The tally, the winner, and the dissent.
pub(crate) fn vote(voting: &Voting) -> Vec<Block<'_>> {
    let rows = voting.tally.iter().map(|(candidate, votes)| vec![line![candidate], line![figure(votes)]]);
    let columns = [TableHead::words("Candidate"), TableHead::figures("Votes")];
    let mut blocks = vec![
        Block::lead(line!["The texts were shown without names, in a different order to each voter."]),
        Block::Table(TableBlock::new("small", "Votes for each text", columns, rows)),
    ];
    if !voting.tied.is_empty() {
        blocks.push(Block::Paragraph(
            [line!["Tied: "], joined(voting.tied.iter().map(|tied| line![tied]), ", ")].concat(),
        ));
    }
    blocks.push(Block::Paragraph(elected(voting)));
    blocks.push(count(&voting.count));
    blocks
}

/// The winner of the vote and how it was decided.
pub(crate) fn elected(voting: &Voting) -> Phrase<'_> {
    let by = if voting.winner.is_some() { "by the votes" } else { "the judge's scores decided" };
    let winner = voting.winner.as_ref().map_or_else(|| line!["none"], |winner| line![winner]);
    [line!["Winner: "], winner, line![" (", by, ")"]].concat()
}

/// The rule of the count.
fn count(count: &VoteCount) -> Block<'_> {
    let rule = format!(
        "; {} of {} voted, the quorum is {}; {} for the voter's own text",
        count.cast, count.voters, count.quorum, count.self_votes
    );
    let mut items = vec![ListItem::of(line!["Rule: ", count.rule.name(), figure(rule)])];
    let undecided = |why: &'static str| ListItem::of(line!["No winner: ", why, "; the judge decided"]);
    items.extend(count.undecided.map(|undecided_by| undecided(undecided_by.name())));
    items.extend(count.dissent.iter().map(|one| {
        let line = line!["Dissent of ", &one.agent_id, " for ", &one.preferred, ":"];
        ListItem::with(line, vec![Block::text(&one.reason)])
    }));
    Block::List(items)
}
