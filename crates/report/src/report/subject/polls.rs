//! The audience's votes before and after.

use dialectic_record::debate::{Debate, Polls};

use crate::report::block::{Block, TableBlock, TableHead, figure, foreign, joined, line, marked};
use crate::report::stages::capitalized;

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
