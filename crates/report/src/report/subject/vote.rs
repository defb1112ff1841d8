//! The vote, the polls, the collected material, the team, and the agreement of the texts.

use crate::report::block::{
    Audience, Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line, marked,
};
use crate::report::stages::capitalized;
use dialectic_base::figures::{counted, score};
use dialectic_record::answer::{Argument, Convergence, Extension, Matter, Polls, VoteCount, Voting};
use dialectic_record::debate::{Debate, Round};

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

pub(crate) fn elected(voting: &Voting) -> Phrase<'_> {
    let by = if voting.winner.is_some() { "by vote" } else { "the judge's scores decided" };
    let winner = voting.winner.as_ref().map_or_else(|| line!["none"], |winner| line![winner]);
    [line!["Winner: "], winner, line![" (", by, ")"]].concat()
}

fn count(count: &VoteCount) -> Block<'_> {
    let VoteCount { voters, cast, quorum, self_votes, .. } = *count;
    let self_votes = counted(self_votes.into(), "self-vote");
    let rule = format!("; {cast} of {voters} voted (quorum: {quorum}); {self_votes}");
    let mut items = vec![ListItem::of(line!["Rule: ", count.rule.name(), figure(rule)])];
    let undecided = |why: &'static str| ListItem::of(line!["No winner: ", why, "; the judge decided"]);
    items.extend(count.undecided.map(|undecided_by| undecided(undecided_by.name())));
    items.extend(count.dissent.iter().map(|one| {
        let line = line!["Dissent of ", &one.agent_id, " for ", &one.preferred, ":"];
        ListItem::with(line, vec![Block::text(&one.reason)])
    }));
    Block::List(items)
}

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
            let what = line!["Not counted, because a vote is missing: "];
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

const UNKNOWN: &str = "unknown";

pub(crate) fn material(debate: &Debate) -> Vec<Block<'_>> {
    let Some(gathered) = debate.gathered.as_ref().filter(|gathered| !gathered.material.is_empty()) else {
        return Vec::new();
    };
    let items = gathered.material.iter().map(|one| {
        let more = match &one.error {
            Some(error) => line![": missing, ", foreign(error)],
            None if one.cut => line![figure(format!(": only the first {} characters", one.text.chars().count()))],
            None => Phrase::new(),
        };
        let line = [line![one.source.name(), " ", foreign(&*one.name)], more].concat();
        let text = (!one.text.is_empty()).then(|| {
            Block::Aside(vec![Block::Folded(line!["The text as shown"], vec![Block::Verbatim((&*one.text).into())])])
        });
        ListItem::with(line, text.into_iter().collect())
    });
    vec![
        Block::lead(line!["All agents were shown the following in addition to the problem."]),
        Block::List(items.collect()),
    ]
}

pub(crate) fn team(debate: &Debate) -> Vec<Block<'_>> {
    let Some(selection) = &debate.selection else { return Vec::new() };
    let has_families = selection.candidates.iter().any(|one| one.family.is_some());
    let known = |value: Option<f64>, digits: usize| {
        line![value.map_or_else(|| UNKNOWN.into(), |value| figure(format!("{value:.digits$}")))]
    };
    let rows = selection.candidates.iter().map(|one| {
        let part = if one.chosen { "yes" } else { "no" };
        let passed =
            if one.passed_over { line!["; its model family already made up half of the team"] } else { Phrase::new() };
        let scores = [one.score, one.by_rating, one.by_calibration];
        let scores = scores.map(|value| line![figure(format!("{value:+.3}"))]);
        let figures = [known(one.rating, 0), known(one.calibration, 3), line![figure(one.debates)]];
        let family = one.family.as_ref().map_or_else(|| line![UNKNOWN], |family| line![foreign(family)]);
        let words = [line![&one.agent_id], line![part, Piece::Aside(passed)]];
        words.into_iter().chain(scores).chain(figures).chain(has_families.then_some(family)).collect()
    });
    let figures = ["Score", "By rating", "By calibration", "Rating", "Calibration", "Debates"];
    let words = ["Agent", "Takes part"].map(TableHead::words);
    let columns = words.into_iter().chain(figures.map(TableHead::figures));
    let columns = columns.chain(has_families.then(|| TableHead::words("Family").only(Audience::People)));
    let lead = match selection.size {
        Some(size) => format!(
            "{size} of {} agents take part: those with the best scores, and among equals the first in the \
                 configuration.",
            selection.candidates.len()
        ),
        None => "All agents took part.".to_owned(),
    };
    let counted = format!(" Scores are based on {}.", counted(selection.debates.into(), "earlier debate"));
    vec![
        Block::lead(line![figure(lead), figure(counted)]),
        Block::Table(TableBlock::new("small", "Candidates", columns, rows)),
    ]
}

pub(crate) fn agreement<'d>(rounds: &'d [Round], extensions: &'d [Extension]) -> Vec<Block<'d>> {
    let measured: Vec<(&Round, &Convergence)> =
        rounds.iter().filter_map(|round| Some((round, round.convergence.as_ref()?))).collect();
    let Some((_, last)) = measured.last() else { return Vec::new() };
    let percent =
        |value: Option<f64>| line![value.map_or_else(|| UNKNOWN.into(), |value| figure(format!("{value:.0}")))];
    let rows = measured.iter().map(|(round, of)| {
        let agreed = of.matters.iter().filter(|matter| matter.agreed).count();
        vec![
            line![figure(round.round_number)],
            percent(of.agreement),
            line![figure(score(of.threshold))],
            percent(of.mean_stability()),
            percent(of.similarity),
            line![figure(format!("{agreed} of {}", of.matters.len()))],
        ]
    });
    let columns =
        ["Round", "Agreement", "Threshold", "Stability", "Similarity", "Matters agreed"].map(TableHead::figures);
    let lead = line![
        "Agreement is the percentage of matters on which all texts decide the same. The texts converge when it \
         reaches the threshold. ",
        match last.agreement {
            None => "It is unknown whether they did.",
            Some(_) if last.is_reached() => "They did.",
            Some(_) => "They did not.",
        },
        " The similarity of the texts has no effect.",
    ];
    let mut items: Vec<ListItem<'_>> =
        measured.iter().flat_map(|(round, of)| [course(round, of), challenged(round)].concat()).collect();
    items.extend(extensions.iter().map(|extension| {
        let missing = joined(extension.missing.iter().map(|one| line![foreign(one)]), "; ");
        let round = figure(format!("Extended after round {}: ", extension.round));
        ListItem::of([line![round, &extension.winner, "'s text does not meet "], missing].concat())
    }));
    vec![
        Block::lead(lead),
        Block::Table(TableBlock::new("small", "Agreement and stability by round, in percent", columns, rows)),
        Block::List(items),
    ]
}

fn course<'v>(round: &'v Round, of: &'v Convergence) -> Vec<ListItem<'v>> {
    let say = |what, more| of_round(round, what, more);
    let said = |what, text: &'v String| say(what, line![foreign(text)]);
    let mut items = Vec::new();
    items.extend(of.unknown.as_ref().map(|why| said(": unknown, because ", why)));
    items.extend(of.opposed_on.as_ref().map(|on| said(": opposite decisions on ", on)));
    items.extend(of.matters.iter().map(|matter| match (matter.agreed, matter.opposed) {
        (true, _) => ListItem { is_aside: true, ..say(", agreed: ", decisions(matter)) },
        (false, true) => say(", opposed: ", decisions(matter)),
        (false, false) => say(", open: ", decisions(matter)),
    }));
    items
}

pub(crate) fn challenged(round: &Round) -> Vec<ListItem<'_>> {
    let Some(challenge) = &round.challenge else { return Vec::new() };
    if challenge.is_empty() {
        return vec![of_round(round, ": challenged; no unsupported claims or unanswered points", Phrase::new())];
    }
    let claims =
        challenge.claims.iter().map(|claim| of_round(round, ", agreed without support: ", line![foreign(claim)]));
    let points = challenge.points.iter().map(|point| {
        let on = Piece::Aside(line![" (on the text of ", &point.target_agent_id, ")"]);
        of_round(round, ", not answered: ", line![foreign(&*point.text), on])
    });
    claims.chain(points).collect()
}

fn of_round<'v>(round: &Round, what: &'static str, more: Phrase<'v>) -> ListItem<'v> {
    ListItem::of([line![figure(format!("Round {}", round.round_number)), what], more].concat())
}

fn decisions(matter: &Matter) -> Phrase<'_> {
    let decisions = matter.decisions.iter().map(|one| {
        let by = joined(one.agents.iter().map(|agent| line![agent]), ", ");
        line![foreign(&*one.decision), Piece::Aside([line![" ("], by, line![")"]].concat())]
    });
    joined(decisions, " / ")
}

pub(crate) fn arguments(rounds: &[Round]) -> Vec<Block<'_>> {
    let observed = rounds.iter().flat_map(|round| round.observations.iter().map(move |one| (round, one)));
    let rows = observed.map(|(round, one)| {
        let kinds = Argument::ALL.iter().filter(|kind| one.kinds.contains(kind)).map(|kind| line![kind.name()]);
        vec![
            line![figure(round.round_number)],
            line![&one.of.agent_id],
            line![foreign(one.of.stage.as_str())],
            one.of.target_agent_id.as_ref().map_or_else(Phrase::new, |target| line![target]),
            joined(kinds, ", "),
        ]
    });
    let words = ["Agent", "Contribution", "About", "Kinds"].map(TableHead::words);
    let columns = [TableHead::figures("Round")].into_iter().chain(words);
    let table = TableBlock::new("small", "Kinds of argument found by an observer", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}
