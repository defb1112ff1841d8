//! The result of a vote.

use crate::report::block::{Block, ListItem, Phrase, TableBlock, TableHead, figure, foreign, joined, line, marked};
use crate::report::stages::capitalized;
use dialectic_record::debate::{Debate, Polls, VoteCount, Voting};

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

/// Votes by choice and by voter, and the reasons; empty without polls.
pub(crate) fn polls(debate: &Debate) -> Vec<Block<'_>> {
    let Some(polls) = Polls::of(debate) else { return Vec::new() };
    let names: Vec<String> = polls.held.iter().map(|poll| debate.words(poll.stage).noun.into_owned()).collect();
    let titles = || names.iter().map(|name| foreign(capitalized(name)));
    let is_compared = polls.is_compared();
    let rows = polls.choices.iter().map(|choice| {
        let votes = choice.votes.iter().map(|votes| line![figure(votes)]);
        let swing = is_compared.then(|| line![figure(choice.swing())]);
        [line![foreign(choice.name)]].into_iter().chain(votes).chain(swing).collect()
    });
    let figures = titles().map(TableHead::figures).chain(is_compared.then(|| TableHead::figures("Change")));
    let columns = [TableHead::words("Choice")].into_iter().chain(figures);
    let mut blocks = vec![Block::Table(TableBlock::new("small", "Votes for each choice", columns, rows))];
    if is_compared {
        let most = polls.gained_most().map_or_else(|| "no side".into(), |side| marked(side.to_owned()));
        blocks.push(Block::Paragraph(line!["Gained most: ", most]));
        if !polls.uncounted.is_empty() {
            let uncounted = joined(polls.uncounted.iter().map(|voter| line![*voter]), ", ");
            let what = line!["Not counted, without a vote in each poll: "];
            blocks.push(Block::Paragraph([what, uncounted].concat()));
        }
    }
    let rows = polls.voters.iter().map(|voter| {
        let vote = |cast: Option<&'_ String>| cast.map_or_else(|| line!["none"], |cast| line![foreign(cast.clone())]);
        let votes = polls.held.iter().map(|poll| vote(poll.votes.get(*voter)));
        [line![*voter]].into_iter().chain(votes).collect()
    });
    let columns = [TableHead::words("Voter")].into_iter().chain(titles().map(TableHead::words));
    blocks.push(Block::Table(TableBlock::new("small", "Each agent's votes", columns, rows)));
    for (poll, name) in polls.held.iter().copied().zip(&names) {
        for (voter, reason) in poll.reasons.iter().filter(|(_, reason)| !reason.trim().is_empty()) {
            let what = line![voter, ", ", foreign(name.clone()), ":"];
            blocks.push(Block::Folded(what, vec![Block::text(reason)]));
        }
    }
    blocks
}
