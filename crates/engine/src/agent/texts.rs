//! Selects, titles and orders the texts that a call shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use dialectic_record::debate::{
    AgentId, AgentSettings, Contribution, Debate, DebateSettings, FollowUp, Material, MaterialSource, Position,
    ResultKind, Round, Summary,
};
use dialectic_record::prompt::{Authored, OwnRound};
use dialectic_record::protocol::side;

use super::excerpt::{Titled, as_points, length, total};
use super::labels::{DEBATER, Labels, TEXT};

/// Longer critiques of the final round are reduced to their points.
const LONGEST_CRITIQUE: usize = 3000;
/// Longer critiques of earlier rounds are condensed: their authors' answers are shown too.
const LONGEST_EARLIER_CRITIQUE: usize = 1500;

/// The capitalized noun of a contribution's stage.
fn noun(debate: &Debate, one: &Contribution) -> String {
    let noun = debate.stage(one.stage).map_or(one.stage.as_str(), |stage| &stage.words.noun);
    let mut letters = noun.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The title of a contribution whose author is hidden: `Text 2 (refinement)`, or `Critique of Text 2, by the author of
/// Text 3`.
fn title(debate: &Debate, one: &Contribution) -> String {
    let author = text_label(debate, &one.agent_id);
    match &one.target_agent_id {
        Some(target) => format!("{} of {}, by the author of {author}", noun(debate, one), text_label(debate, target)),
        None => format!("{author} ({})", noun(debate, one).to_lowercase()),
    }
}

/// The title of a speech. `name` returns the names of speakers.
fn speech_title(debate: &Debate, one: &Contribution, name: impl Fn(&AgentId) -> String) -> String {
    let (noun, author) = (noun(debate, one), name(&one.agent_id));
    match &one.target_agent_id {
        Some(target) => format!("{noun} of {} by {author}", name(target)),
        None => format!("{noun} of {author}"),
    }
}

/// The number of an agent's text in prompts; the agent's id if it has none, as in a record without settings.
pub(super) fn number(debate: &Debate, author: &AgentId) -> String {
    debate.text_number(author).map_or_else(|| author.to_string(), |number| number.to_string())
}

pub(super) fn text_label(debate: &Debate, author: &AgentId) -> String {
    format!("{TEXT} {}", number(debate, author))
}

/// Whether it is an agent's first solution in a round, which a later one may replace.
fn is_first_solution(debate: &Debate, one: &Contribution) -> bool {
    let first = debate.stages.iter().find(|stage| stage.yields == Some(ResultKind::Proposal));
    first.is_some_and(|first| first.id == one.stage)
}

/// The debate's material, each text under its source.
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

/// An agent's newest summary of its own history, with its round.
pub(super) fn newest_summary<'a>(debate: &'a Debate, agent: &AgentId) -> Option<(u32, &'a Summary)> {
    let summary_of = |round: &'a Round| Some((round.round_number, round.summaries.as_ref()?.get(agent)?));
    debate.rounds.iter().rev().find_map(summary_of)
}

/// The rounds before `round` that the agent's newest summary does not cover.
fn open_rounds<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> impl DoubleEndedIterator<Item = &'a Round> {
    let covered = newest_summary(debate, agent).map_or(0, |(made_in, _)| made_in);
    debate.rounds.iter().filter(move |one| (covered..round).contains(&one.round_number))
}

/// An agent's own texts from the finished rounds that its newest summary does not cover. `numbers` are all authors'
/// numbers.
pub(super) fn own_rounds<'a>(
    debate: &'a Debate,
    agent: &AgentId,
    round: u32,
    numbers: &'a BTreeMap<AgentId, String>,
) -> Vec<OwnRound<'a>> {
    let authored = |one: &'a Contribution| Authored {
        author: numbers.get(&one.agent_id).map_or(one.agent_id.as_str(), String::as_str),
        text: &one.content,
    };
    let rounds = open_rounds(debate, agent, round).enumerate().map(|(index, one)| {
        let mut part = OwnRound { proposal: None, critiques: Vec::new(), refinement: None };
        for contribution in one.contributions.iter().filter(|one| debate.is_own_text(one, agent)) {
            let text = authored(contribution);
            let yields = debate.yield_of(contribution);
            if yields == Some(ResultKind::Critique) {
                part.critiques.push(text);
            } else if yields == Some(ResultKind::Proposal) {
                // The first round keeps its proposal, even if carried over: this prompt then begins like that of its
                // refinement, which providers have cached.
                if !is_first_solution(debate, contribution) {
                    part.refinement = Some(text);
                } else if index == 0 || !contribution.metadata.carried_over {
                    part.proposal = Some(text);
                }
            }
        }
        part
    });
    rounds.collect()
}

/// An agent's history in the finished rounds that its newest summary does not cover, newest first, if the settings
/// include it; and its maximum length.
pub(super) fn history<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> (Vec<Titled<'a>>, usize) {
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    let limit = settings.map_or(DebateSettings::DEFAULT_HISTORY_LIMIT, |settings| settings.history_limit);
    if settings.is_some_and(|settings| !settings.include_full_history) {
        return (Vec::new(), limit);
    }
    (open_rounds(debate, agent, round).rev().flat_map(|one| concerning(debate, one, agent)).collect(), limit)
}

/// An agent's part in a round: its final text, critiques of it, its critiques of others, and its first text.
fn concerning<'a>(debate: &'a Debate, round: &'a Round, agent: &AgentId) -> Vec<Titled<'a>> {
    let rank = |one: &Contribution| {
        let yields = debate.yield_of(one)?;
        let is_own = one.agent_id == *agent;
        if yields == ResultKind::Proposal {
            is_own.then(|| if is_first_solution(debate, one) { 3 } else { 0 })
        } else if yields != ResultKind::Critique {
            None
        } else if one.target_agent_id.as_ref() == Some(agent) {
            Some(1)
        } else {
            // Its points are listed with those of its target.
            let has_no_points = one.reading.as_ref().is_none_or(|reading| reading.points.is_none());
            (is_own && has_no_points).then_some(2)
        }
    };
    let new = round.contributions.iter().filter(|one| !one.metadata.carried_over);
    let mut ranked: Vec<(u8, &Contribution)> = new.filter_map(|one| Some((rank(one)?, one.as_ref()))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let titled = |(_, one): (u8, &'a Contribution)| {
        Titled::new(format!("Round {}: {}", round.round_number, title(debate, one)), &*one.content)
    };
    ranked.into_iter().map(titled).collect()
}

/// An agent's side, to append to a name.
fn side_of(debate: &Debate, id: &AgentId) -> &'static str {
    match debate.settings.as_ref().map_or(Position::Neutral, |settings| side(settings, id)) {
        Position::For => " (for)",
        Position::Against => " (against)",
        Position::Neutral => "",
    }
}

/// All texts of finished rounds in their order, followed by `now`, those of the current round.
pub(super) fn transcript<'a>(debate: &'a Debate, now: &[&'a Arc<Contribution>], round: u32) -> Vec<Titled<'a>> {
    let name = |id: &AgentId| {
        let known = debate.agents().iter().find(|agent| agent.id == *id);
        known.map_or_else(|| id.to_string(), |agent| agent.name.clone()) + side_of(debate, id)
    };
    let finished = debate.rounds.iter().filter(|one| one.round_number < round);
    let finished = finished.flat_map(|one| one.contributions.iter().map(move |text| (one.round_number, text)));
    let all = finished.chain(now.iter().map(|text| (round, *text))).filter(|(_, text)| debate.is_text(text));
    all.map(|(round, text)| Titled::new(format!("Round {round}: {}", speech_title(debate, text, name)), &*text.content))
        .collect()
}

/// All speeches of a debate, with names.
pub(super) fn speeches(debate: &Debate) -> Vec<Titled<'_>> {
    let has_speeches = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Speech));
    if has_speeches { transcript(debate, &[], u32::MAX) } else { Vec::new() }
}

/// All speeches with labels instead of names. Successive speeches keep their order, since later ones answer earlier
/// ones; simultaneous ones are ordered by label.
pub(super) fn anonymous_transcript<'a>(debate: &'a Debate, labels: &Labels) -> Vec<Titled<'a>> {
    let place = |id: &AgentId| labels.iter().position(|(_, known)| known == id).unwrap_or(usize::MAX);
    let name = |id: &AgentId| {
        let label = labels.label(id).map_or_else(|| id.to_string(), |label| format!("{DEBATER} {label}"));
        label + side_of(debate, id)
    };
    let mut all = Vec::new();
    for round in &debate.rounds {
        let mut texts: Vec<&Arc<Contribution>> = round.contributions.iter().filter(|one| debate.is_text(one)).collect();
        texts.sort_by_key(|one| {
            let in_turn = debate.stage(one.stage).is_some_and(|stage| stage.in_turn);
            if in_turn { 0 } else { place(one.target_agent_id.as_ref().unwrap_or(&one.agent_id)) }
        });
        all.extend(texts.into_iter().map(|one| {
            let title = format!("Round {}: {}", round.round_number, speech_title(debate, one, name));
            Titled::new(title, labels.hide(&one.content))
        }));
    }
    all
}

/// Sorts texts by their numbers: critiques by the number of their target, then of their author.
fn sort_by_number(debate: &Debate, texts: &mut [&Contribution]) {
    // Computed once, not for each comparison.
    let numbers = debate.in_order_of_numbers();
    let number = |id: &AgentId| numbers.iter().position(|known| *known == id);
    texts.sort_by_key(|one| (one.target_agent_id.as_ref().and_then(number), number(&one.agent_id)));
}

/// The participants, a line each, with their text or side.
pub(super) fn who_is_who(debate: &Debate) -> String {
    let agents = debate.agents().iter();
    let has_speeches = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Speech));
    let line = |agent: &AgentSettings| {
        let who = format!("{} ({})", agent.name, agent.role);
        if has_speeches {
            return who + side_of(debate, &agent.id);
        }
        format!("{}: {who}", text_label(debate, &agent.id))
    };
    let mut lines: Vec<String> = agents.map(line).collect();
    lines.sort();
    lines.join("\n")
}

/// The earlier follow-up questions and their answers. Omits unanswered ones.
pub(super) fn earlier_answers(asked: &[FollowUp]) -> Vec<Titled<'_>> {
    let answered = (1..).zip(asked.iter().filter_map(|one| Some((one, one.answer.as_ref()?))));
    answered
        .flat_map(|(number, (one, answer))| {
            let question = Titled::new(format!("Question {number}"), &*one.question);
            [question, Titled::new(format!("Your answer {number}"), &**answer)]
        })
        .collect()
}

/// The texts that the answer builds on: each agent's current text, and speeches. Critiques follow if `histories` is
/// set; otherwise only unreadable ones, since the ledger has the points of the others.
pub(super) fn final_texts(debate: &Debate, histories: bool) -> Vec<Titled<'_>> {
    let Some(round) = debate.final_round() else { return Vec::new() };
    let mut positions: Vec<&Contribution> = debate.positions(round).into_iter().map(AsRef::as_ref).collect();
    sort_by_number(debate, &mut positions);
    let said = |wanted: ResultKind| {
        let texts = round.contributions.iter().filter(move |one| debate.yield_of(one) == Some(wanted));
        let mut texts: Vec<&Contribution> = texts.map(AsRef::as_ref).collect();
        sort_by_number(debate, &mut texts);
        texts
    };
    let whole = positions.into_iter().chain(said(ResultKind::Speech));
    let whole = whole.map(|one| Titled::new(title(debate, one), one.without_answers()));
    let critiques = said(ResultKind::Critique).into_iter().filter(|one| histories || !has_points(one));
    let critiques = critiques.map(|one| Titled::new(title(debate, one), as_points(&one.content, LONGEST_CRITIQUE)));
    whole.chain(critiques).collect()
}

/// Whether a critique's points were read, or it states that it has none.
pub(super) fn has_points(critique: &Contribution) -> bool {
    critique.reading.as_ref().is_some_and(|reading| reading.points.is_some())
}

/// The texts of earlier rounds to include.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// All that was written.
    Whole,
    /// Texts for a summary: long critiques as their points, and no proposals that were refined later.
    ToBeCondensed,
}

/// The texts of earlier rounds, newest first.
pub(super) fn earlier_texts(debate: &Debate, wanted: Earlier) -> Vec<Titled<'_>> {
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
            sort_by_number(debate, &mut of_stage);
            let longest = if stage.yields == Some(ResultKind::Critique) { longest_critique } else { usize::MAX };
            texts.extend(of_stage.into_iter().map(|one| {
                let title = format!("Round {number}: {}", title(debate, one));
                Titled::new(title, as_points(&one.content, longest))
            }));
        }
    }
    texts
}

/// Whether the settings include texts of earlier rounds besides the points in the ledger.
pub(super) fn wants_histories(debate: &Debate) -> bool {
    debate.settings.as_ref().is_none_or(|settings| settings.debate.include_full_history)
}

/// The length in characters of the last round and all earlier texts in the judge's prompt.
pub(super) fn whole_length(debate: &Debate) -> usize {
    let histories = wants_histories(debate);
    let earlier = if let Some(summary) = &debate.judge_summary {
        length(&summary.summary)
    } else if histories {
        let limit = debate.settings.as_ref().map_or(usize::MAX, |settings| settings.debate.history_limit);
        total(&earlier_texts(debate, Earlier::Whole)).min(limit)
    } else {
        0
    };
    total(&final_texts(debate, histories)) + earlier
}
