//! How competing solutions fared: the starting material, the chosen agents, the agreement of the texts and the
//! challenges to it, and the kinds of argument.

use dialectic_base::figures::score;
use dialectic_record::debate::{Argument, Convergence, Debate, Extension, Matter, Round};

use crate::report::block::{
    Audience, Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line,
};

const UNKNOWN: &str = "unknown";

/// The material that was collected before any agent was called.
pub(crate) fn material(debate: &Debate) -> Vec<Block<'_>> {
    let Some(gathered) = debate.gathered.as_ref().filter(|gathered| !gathered.material.is_empty()) else {
        return Vec::new();
    };
    let items = gathered.material.iter().map(|one| {
        let more = match &one.error {
            Some(error) => line![": missing, ", foreign(error)],
            None if one.cut => line![figure(format!(": the first {} characters", one.text.chars().count()))],
            None => Phrase::new(),
        };
        let line = [line![one.source.name(), " ", foreign(&*one.name)], more].concat();
        let text = (!one.text.is_empty()).then(|| {
            Block::Aside(vec![Block::Folded(line!["The text as shown"], vec![Block::Verbatim((&*one.text).into())])])
        });
        ListItem::with(line, text.into_iter().collect())
    });
    vec![Block::lead(line!["All agents were shown this in addition to the problem."]), Block::List(items.collect())]
}

/// The agents chosen to take part, and why.
pub(crate) fn team(debate: &Debate) -> Vec<Block<'_>> {
    let Some(selection) = &debate.selection else { return Vec::new() };
    let has_families = selection.candidates.iter().any(|one| one.family.is_some());
    let known = |value: Option<f64>, digits: usize| {
        line![value.map_or_else(|| UNKNOWN.into(), |value| figure(format!("{value:.digits$}")))]
    };
    let rows = selection.candidates.iter().map(|one| {
        let part = if one.chosen { "yes" } else { "no" };
        let passed = if one.passed_over { line![", its family had half of the team"] } else { Phrase::new() };
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
            "{size} of {} agents take part: the best by these scores; among equals, the first in \
                 the configuration.",
            selection.candidates.len()
        ),
        None => "All agents took part.".to_owned(),
    };
    let counted = format!(" Scores rest on {} earlier debates.", selection.debates);
    vec![
        Block::lead(line![figure(lead), figure(counted)]),
        Block::Table(TableBlock::new("small", "Candidates", columns, rows)),
    ]
}

/// The agreement of the texts in each round, and its consequences.
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
        "Agreement is the percentage of matters on which all texts decide the same; from the threshold on they have \
         converged. ",
        if last.is_reached() { "They did." } else { "They did not." },
        " The similarity of the texts decides nothing.",
    ];
    let mut items: Vec<ListItem<'_>> =
        measured.iter().flat_map(|(round, of)| [course(round, of), challenged(round)].concat()).collect();
    items.extend(extensions.iter().map(|extension| {
        let missing = joined(extension.missing.iter().map(|one| line![foreign(one)]), "; ");
        let round = figure(format!("Extended after round {}: ", extension.round));
        ListItem::of([line![round, &extension.winner, " misses "], missing].concat())
    }));
    vec![
        Block::lead(lead),
        Block::Table(TableBlock::new("small", "Agreement and stability over the rounds, in percent", columns, rows)),
        Block::List(items),
    ]
}

/// The details of a round's agreement.
fn course<'v>(round: &'v Round, of: &'v Convergence) -> Vec<ListItem<'v>> {
    let say = |what, more| of_round(round, what, more);
    let said = |what, text: &'v String| say(what, line![foreign(text)]);
    let mut items = Vec::new();
    items.extend(of.unknown.as_ref().map(|why| said(": unknown, ", why)));
    items.extend(of.opposed_on.as_ref().map(|on| said(": opposite decisions on ", on)));
    items.extend(of.matters.iter().map(|matter| match (matter.agreed, matter.opposed) {
        (true, _) => say(", agreed: ", decisions(matter)).aside(),
        (false, true) => say(", opposed: ", decisions(matter)),
        (false, false) => say(", open: ", decisions(matter)),
    }));
    items
}

/// The challenges to a round's agreement.
pub(crate) fn challenged(round: &Round) -> Vec<ListItem<'_>> {
    let Some(challenge) = &round.challenge else { return Vec::new() };
    if challenge.is_empty() {
        return vec![of_round(round, ": challenged, and nothing was found against it", Phrase::new())];
    }
    let claims =
        challenge.claims.iter().map(|claim| of_round(round, ", shared without support: ", line![foreign(claim)]));
    let points = challenge.points.iter().map(|point| {
        let on = Piece::Aside(line![" (on the text of ", &point.target_agent_id, ")"]);
        of_round(round, ", answered by nobody: ", line![foreign(&*point.text), on])
    });
    claims.chain(points).collect()
}

fn of_round<'v>(round: &Round, what: &'static str, more: Phrase<'v>) -> ListItem<'v> {
    ListItem::of([line![figure(format!("Round {}", round.round_number)), what], more].concat())
}

/// The decisions of a matter, with the authors of the texts.
fn decisions(matter: &Matter) -> Phrase<'_> {
    let decisions = matter.decisions.iter().map(|one| {
        let by = joined(one.agents.iter().map(|agent| line![agent]), ", ");
        line![foreign(&*one.decision), Piece::Aside([line![" ("], by, line![")"]].concat())]
    });
    joined(decisions, " / ")
}

/// The kinds of argument that an observer found in each contribution.
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
    let table = TableBlock::new("small", "Kinds of argument that an observer found", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}
