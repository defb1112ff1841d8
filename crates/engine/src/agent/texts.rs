//! Which texts of a debate a call is shown, under which titles and in which order.

use std::sync::Arc;

use dialectic_base::markdown::letters;
use dialectic_record::debate::{
    AgentId, Contribution, Debate, DebateSettings, FollowUp, Material, MaterialSource, Position, ResultKind, Round,
    Summary,
};
use dialectic_record::prompt::{Authored, OwnRound};
use dialectic_record::protocol::side;

use super::excerpt::{Titled, as_points, length, total};
use super::reply::DEBATER;
use super::shuffled;

/// A critique of the final round that is longer is shown as its points.
const LONGEST_CRITIQUE: usize = 3000;
/// A critique of an earlier round that is longer is condensed from its points: its author's answer to it is there too.
const LONGEST_EARLIER_CRITIQUE: usize = 1500;
/// What tells the shuffle of the names apart from those of the candidates.
const NAMES: u32 = 1 << 16;

/// What a contribution is called: the noun of its stage, with a capital letter.
fn noun(debate: &Debate, one: &Contribution) -> String {
    let noun = debate.stage(one.stage).map_or(one.stage.as_str(), |stage| &stage.words.noun);
    let mut letters = noun.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The title of a contribution. `name` gives the names of authors.
fn title(debate: &Debate, one: &Contribution, name: impl Fn(&AgentId) -> String) -> String {
    let (noun, author) = (noun(debate, one), name(&one.agent_id));
    match &one.target_agent_id {
        Some(target) => format!("{noun} of {} by {author}", name(target)),
        None => format!("{noun} of {author}"),
    }
}

/// Whether it is the first of an agent's own solutions in a round, which a later one may replace.
fn is_first_solution(debate: &Debate, one: &Contribution) -> bool {
    let first = debate.stages.iter().find(|stage| stage.yields == Some(ResultKind::Proposal));
    first.is_some_and(|first| first.id == one.stage)
}

pub(super) fn authored(one: &Contribution) -> Authored<'_> {
    Authored { author: one.agent_id.as_str(), text: &one.content }
}

/// What was collected for the debate, as far as it is there, each text under its source.
pub(super) fn material<'a>(debate: &'a Debate) -> Vec<Titled<'a>> {
    let all = debate.gathered.iter().flat_map(|gathered| &gathered.material);
    let there = all.filter(|one| !one.text.trim().is_empty());
    let titled = |one: &'a Material| {
        let Material { source, name, text, cut, .. } = one;
        let source = match source {
            MaterialSource::Outline => "Files of".to_owned(),
            MaterialSource::Readme => "Readme:".to_owned(),
            MaterialSource::Command => "Output of".to_owned(),
            MaterialSource::Memory => "From an earlier debate:".to_owned(),
        };
        Titled::new(format!("{source} {name}{}", if *cut { " (the beginning)" } else { "" }), text.as_str())
    };
    there.map(titled).collect()
}

/// The newest summary that an agent has made of its own history, with the round in which it did.
pub(super) fn newest_summary<'a>(debate: &'a Debate, agent: &AgentId) -> Option<(u32, &'a Summary)> {
    let summary_of = |round: &'a Round| Some((round.round_number, round.summaries.as_ref()?.get(agent)?));
    debate.rounds.iter().rev().find_map(summary_of)
}

/// The rounds before `round` that the agent's newest summary does not hold.
fn open_rounds<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> impl DoubleEndedIterator<Item = &'a Round> {
    let covered = newest_summary(debate, agent).map_or(0, |(made_in, _)| made_in);
    debate.rounds.iter().filter(move |one| (covered..round).contains(&one.round_number))
}

/// An agent's own part of the finished rounds that its newest summary does not hold.
pub(super) fn own_rounds<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> Vec<OwnRound<'a>> {
    let rounds = open_rounds(debate, agent, round).enumerate().map(|(index, one)| {
        let mut part = OwnRound { proposal: None, critiques: Vec::new(), refinement: None };
        for contribution in one.contributions.iter().filter(|one| debate.is_own_text(one, agent)) {
            let text = authored(contribution);
            match debate.yield_of(contribution) {
                Some(ResultKind::Critique) => part.critiques.push(text),
                // The first round shown keeps its proposal, carried over or not: so this prompt begins like the one of
                // the refinement that was made from it, and providers have that beginning in their cache.
                Some(ResultKind::Proposal) if is_first_solution(debate, contribution) => {
                    if index == 0 || !contribution.metadata.carried_over {
                        part.proposal = Some(text);
                    }
                }
                Some(ResultKind::Proposal) => part.refinement = Some(text),
                Some(
                    ResultKind::Material
                    | ResultKind::Team
                    | ResultKind::Agreement
                    | ResultKind::Challenge
                    | ResultKind::Kinds
                    | ResultKind::Similarity
                    | ResultKind::Questions
                    | ResultKind::Summary
                    | ResultKind::Speech
                    | ResultKind::Ballot
                    | ResultKind::Score
                    | ResultKind::Verdict
                    | ResultKind::Solution,
                )
                | None => {}
            }
        }
        part
    });
    rounds.collect()
}

/// What concerns an agent in the finished rounds that its newest summary does not hold, newest first, where the
/// settings want it shown; and up to which length.
pub(super) fn history<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> (Vec<Titled<'a>>, usize) {
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    let limit = settings.map_or(DebateSettings::DEFAULT_HISTORY_LIMIT, |settings| settings.history_limit);
    if settings.is_some_and(|settings| !settings.include_full_history) {
        return (Vec::new(), limit);
    }
    (open_rounds(debate, agent, round).rev().flat_map(|one| concerning(debate, one, agent)).collect(), limit)
}

/// What concerns an agent in a round: where it stood at the end, what was said about it, what it said about others,
/// where it began.
fn concerning<'a>(debate: &'a Debate, round: &'a Round, agent: &AgentId) -> Vec<Titled<'a>> {
    let rank = |one: &Contribution| match debate.yield_of(one)? {
        ResultKind::Proposal if one.agent_id != *agent => None,
        ResultKind::Proposal => Some(if is_first_solution(debate, one) { 3 } else { 0 }),
        ResultKind::Critique if one.target_agent_id.as_ref() == Some(agent) => Some(1),
        // What was read of it stands among the points against its target.
        ResultKind::Critique if one.agent_id == *agent => {
            one.reading.as_ref().is_none_or(|reading| reading.points.is_none()).then_some(2)
        }
        ResultKind::Critique
        | ResultKind::Speech
        | ResultKind::Ballot
        | ResultKind::Material
        | ResultKind::Team
        | ResultKind::Agreement
        | ResultKind::Challenge
        | ResultKind::Kinds
        | ResultKind::Similarity
        | ResultKind::Questions
        | ResultKind::Summary
        | ResultKind::Score
        | ResultKind::Verdict
        | ResultKind::Solution => None,
    };
    let new = round.contributions.iter().filter(|one| !one.metadata.carried_over);
    let mut ranked: Vec<(u8, &Contribution)> = new.filter_map(|one| Some((rank(one)?, one.as_ref()))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let titled = |(_, one): (u8, &'a Contribution)| {
        let title = title(debate, one, AgentId::to_string);
        Titled::new(format!("Round {}: {title}", round.round_number), &*one.content)
    };
    ranked.into_iter().map(titled).collect()
}

/// The side of somebody who takes one, as it stands behind a name.
fn side_of(debate: &Debate, id: &AgentId) -> &'static str {
    match debate.settings.as_ref().map_or(Position::Neutral, |settings| side(settings, id)) {
        Position::For => " (for)",
        Position::Against => " (against)",
        Position::Neutral => "",
    }
}

/// All texts of finished rounds, in the order in which they were said, and `now`, those of the present one.
pub(super) fn transcript<'a>(debate: &'a Debate, now: &[&'a Arc<Contribution>], round: u32) -> Vec<Titled<'a>> {
    let name = |id: &AgentId| {
        let known = debate.agents().iter().find(|agent| agent.id == *id);
        known.map_or_else(|| id.to_string(), |agent| agent.name.clone()) + side_of(debate, id)
    };
    let finished = debate.rounds.iter().filter(|one| one.round_number < round);
    let finished = finished.flat_map(|one| one.contributions.iter().map(move |text| (one.round_number, text)));
    let all = finished.chain(now.iter().map(|text| (round, *text))).filter(|(_, text)| debate.is_text(text));
    all.map(|(round, text)| Titled::new(format!("Round {round}: {}", title(debate, text, name)), &*text.content))
        .collect()
}

/// All texts with labels in place of names; within each round in the order of the labels of those whose case they are
/// about, so that a cross-examination stays behind the opening that it examines.
pub(super) fn anonymous_transcript<'a>(debate: &'a Debate, speakers: &[AgentId]) -> Vec<Titled<'a>> {
    let place = |id: &AgentId| speakers.iter().position(|known| known == id).unwrap_or(speakers.len());
    let name = |id: &AgentId| format!("{DEBATER} {}{}", letters(place(id)), side_of(debate, id));
    let mut all = Vec::new();
    for round in &debate.rounds {
        let mut texts: Vec<&Arc<Contribution>> = round.contributions.iter().filter(|one| debate.is_text(one)).collect();
        texts.sort_by_key(|one| place(one.target_agent_id.as_ref().unwrap_or(&one.agent_id)));
        all.extend(texts.into_iter().map(|one| {
            Titled::new(format!("Round {}: {}", round.round_number, title(debate, one, name)), &*one.content)
        }));
    }
    all
}

/// Names for the judge that say nothing of who is who, in an order that the debate's seed decides.
struct Names<'a> {
    order: Vec<&'a AgentId>,
}

impl<'a> Names<'a> {
    fn of(debate: &'a Debate) -> Self {
        let agents = debate.agents().iter().map(|agent| &agent.id);
        Self { order: shuffled(agents, debate.seed.unwrap_or_default(), NAMES) }
    }

    fn place(&self, id: &AgentId) -> usize {
        self.order.iter().position(|known| *known == id).unwrap_or(self.order.len())
    }

    fn name(&self, id: &AgentId) -> String {
        format!("Agent {}", letters(self.place(id)))
    }

    fn title(&self, debate: &Debate, one: &Contribution) -> String {
        title(debate, one, |id| self.name(id))
    }

    fn sort(&self, texts: &mut [&'a Contribution]) {
        let target = |one: &Contribution| one.target_agent_id.as_ref().map(|id| self.place(id));
        texts.sort_by_key(|one| (target(one), self.place(&one.agent_id)));
    }
}

/// The name under which the judge sees an agent.
pub(super) fn anonymous(debate: &Debate, id: &AgentId) -> String {
    Names::of(debate).name(id)
}

/// Whom the judge's names for the agents stand for, a line each.
pub(super) fn who_is_who(debate: &Debate) -> String {
    let lines = debate
        .agents()
        .iter()
        .map(|agent| format!("{}: {} ({})", anonymous(debate, &agent.id), agent.name, agent.role));
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines.join("\n")
}

/// Earlier questions of the user's about the finished debate, each with its answer. One without an answer says nothing.
pub(super) fn earlier_answers(asked: &[FollowUp]) -> Vec<Titled<'_>> {
    let answered = (1..).zip(asked.iter().filter_map(|one| Some((&one.question, one.answer.as_ref()?))));
    answered
        .flat_map(|(number, (question, answer))| {
            [
                Titled::new(format!("Question {number}"), &**question),
                Titled::new(format!("Your answer {number}"), &**answer),
            ]
        })
        .collect()
}

/// The round that the answer rests on: where each agent stands, then what was said about that. Speeches stand by
/// themselves.
pub(super) fn final_texts(debate: &Debate) -> Vec<Titled<'_>> {
    let Some(round) = debate.final_round() else { return Vec::new() };
    let names = Names::of(debate);
    let mut positions: Vec<&Contribution> = debate.positions(round).into_iter().map(AsRef::as_ref).collect();
    names.sort(&mut positions);
    let said = |wanted: ResultKind| {
        let texts = round.contributions.iter().filter(move |one| debate.yield_of(one) == Some(wanted));
        let mut texts: Vec<&Contribution> = texts.map(AsRef::as_ref).collect();
        names.sort(&mut texts);
        texts
    };
    let whole = positions.into_iter().chain(said(ResultKind::Speech));
    let whole: Vec<_> = whole.map(|one| Titled::new(names.title(debate, one), &*one.content)).collect();
    let critiques = said(ResultKind::Critique).into_iter();
    let critiques =
        critiques.map(|one| Titled::new(names.title(debate, one), as_points(&one.content, LONGEST_CRITIQUE)));
    whole.into_iter().chain(critiques).collect()
}

/// How much of the rounds before the last is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// All that was written.
    Whole,
    /// What a summary needs: long critiques as their points, and no proposal that its author has reworked, since the
    /// refinement answers for both.
    ToBeCondensed,
}

/// The rounds before the last, the newest text first.
pub(super) fn earlier_texts(debate: &Debate, wanted: Earlier) -> Vec<Titled<'_>> {
    let names = Names::of(debate);
    let longest_critique = if wanted == Earlier::Whole { usize::MAX } else { LONGEST_EARLIER_CRITIQUE };
    let mut texts = Vec::new();
    for round in debate.earlier_rounds() {
        let positions = debate.positions(round);
        let was_reworked = |one: &Arc<Contribution>| {
            wanted == Earlier::ToBeCondensed
                && debate.yield_of(one) == Some(ResultKind::Proposal)
                && !positions.iter().any(|position| Arc::ptr_eq(position, one))
        };
        let number = round.round_number;
        for stage in debate.stages.iter().rev() {
            let new = |one: &&Arc<Contribution>| {
                one.stage == stage.id && debate.is_text(one) && !one.metadata.carried_over && !was_reworked(one)
            };
            let mut of_stage: Vec<&Contribution> = round.contributions.iter().filter(new).map(AsRef::as_ref).collect();
            names.sort(&mut of_stage);
            let longest = if stage.yields == Some(ResultKind::Critique) { longest_critique } else { usize::MAX };
            texts.extend(of_stage.into_iter().map(|one| {
                let title = format!("Round {number}: {}", names.title(debate, one));
                Titled::new(title, as_points(&one.content, longest))
            }));
        }
    }
    texts
}

/// How many characters the last round and what came before it have in the judge's prompt, when all of it is there.
pub(super) fn whole_length(debate: &Debate) -> usize {
    let earlier = if let Some(summary) = &debate.judge_summary {
        length(&summary.summary)
    } else {
        let limit = debate.settings.as_ref().map_or(usize::MAX, |settings| settings.debate.history_limit);
        total(&earlier_texts(debate, Earlier::Whole)).min(limit)
    };
    total(&final_texts(debate)) + earlier
}
