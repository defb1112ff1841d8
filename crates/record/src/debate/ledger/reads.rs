//! What is read out of an answer when it is recorded, and what it can refer to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::debate::{
    CallKey, Contribution, Debate, Raised, ReadAnswers, ReadCritique, ResultKind, read_answers, read_critique,
    read_decisions,
};

use super::{Change, Ledger, PointId, Reading, Recheck, Reply};

/// What a text is to be read for, and what it may refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reads {
    /// A critique: points, and what became of earlier ones by their labels.
    Critique {
        /// The labels that it was shown.
        earlier: Vec<(usize, PointId)>,
    },
    /// A proposal: answers to points.
    Answers {
        /// Whether its prompt asks for answers: it shows critiques of the author's text, or points from earlier rounds.
        asked: bool,
        /// The points that it was shown.
        points: Vec<Answerable>,
        /// Its author's last text, without the answers in it.
        before: String,
    },
}

/// A point that an author can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answerable {
    id: PointId,
    /// The place of its critique in the prompt, counted from 1, and its critic; absent for an earlier point.
    critique: Option<(usize, String)>,
    number: usize,
    text: String,
}

impl Reads {
    /// What the answer to a call of this key is read for. `inputs` are the calls that its prompt shows.
    #[must_use]
    pub fn of(debate: &Debate, key: &CallKey, inputs: &[CallKey]) -> Option<Self> {
        let yields = debate.stage(key.stage)?.yields?;
        match (&key.target_agent_id, yields) {
            (Some(target), ResultKind::Critique | ResultKind::Ballot) => {
                let ledger = Ledger::seen_by(debate, target, key.round, inputs);
                let unsettled = ledger.against(target).filter(|one| !one.is_settled());
                Some(Self::Critique { earlier: unsettled.map(|one| (one.label(), one.id.clone())).collect() })
            }
            (None, ResultKind::Proposal) => {
                let ledger = Ledger::seen_by(debate, &key.agent_id, key.round, inputs);
                let texts: Vec<_> =
                    inputs.iter().filter_map(|input| Some((input, debate.contribution(input)?))).collect();
                let critiques = texts.iter().filter(|(_, text)| text.target_agent_id.as_ref() == Some(&key.agent_id));
                let critiques: Vec<_> = critiques.map(|(input, _)| *input).collect();
                let before = texts.iter().find(|(_, text)| text.agent_id == key.agent_id);
                let before = before.map(|(_, text)| text.without_answers().into_owned()).unwrap_or_default();
                let points = ledger.against(&key.agent_id).filter_map(|one| {
                    let of = |critique: &&CallKey| critique.round == one.round && critique.agent_id == one.critic_id;
                    let place = critiques.iter().position(of);
                    if place.is_none() && !one.open {
                        return None;
                    }
                    let number = one.id.to_string().rsplit('/').next().and_then(|number| number.parse().ok());
                    Some(Answerable {
                        id: one.id.clone(),
                        critique: place.map(|place| (place + 1, one.critic_id.to_string())),
                        number: if place.is_some() { number? } else { one.label() },
                        text: one.point.text.clone(),
                    })
                });
                let points: Vec<_> = points.collect();
                Some(Self::Answers { asked: !critiques.is_empty() || !points.is_empty(), points, before })
            }
            (None, ResultKind::Critique | ResultKind::Ballot)
            | (Some(_), ResultKind::Proposal)
            | (
                _,
                ResultKind::Material
                | ResultKind::Team
                | ResultKind::Agreement
                | ResultKind::Challenge
                | ResultKind::Kinds
                | ResultKind::Similarity
                | ResultKind::Speech
                | ResultKind::Questions
                | ResultKind::Summary
                | ResultKind::Score
                | ResultKind::Verdict
                | ResultKind::Solution,
            ) => None,
        }
    }

    /// What the text says. It depends on nothing else.
    #[must_use]
    pub fn read(&self, text: &str) -> Reading {
        match self {
            Self::Critique { earlier } => {
                let labels: Vec<usize> = earlier.iter().map(|(label, _)| *label).collect();
                let ReadCritique { points, rechecks } = read_critique(text, &labels);
                let rechecks = rechecks.into_iter().filter_map(|(label, standing, reason)| {
                    let (_, point) = earlier.iter().find(|(known, _)| *known == label)?;
                    Some(Recheck { point: point.clone(), standing, section: None, reason })
                });
                Reading { points, rechecks: rechecks.collect(), ..Reading::default() }
            }
            Self::Answers { asked, points, before } => {
                let raised: Vec<Raised<'_>> = points.iter().map(Answerable::raised).collect();
                // Without a critique nothing is an answer to one, whatever its heading says.
                let read = asked.then(|| read_answers(text, &raised));
                let ReadAnswers { answers, section } = read.unwrap_or_default();
                let answers = answers.into_iter().filter_map(|(place, answer, reason)| {
                    Some(Reply { point: points.get(place)?.id.clone(), answer, section: None, reason })
                });
                let (answers, now) = (answers.collect(), without(text, section.as_ref()));
                // Where there was nothing to answer, what changed is nobody's doing.
                let change = (!before.is_empty() && !points.is_empty()).then(|| Change::between(before, &now));
                let decisions = read_decisions(&now);
                Reading { answers, answers_at: section, change, decisions, ..Reading::default() }
            }
        }
    }
}

impl Answerable {
    fn raised(&self) -> Raised<'_> {
        let critique = self.critique.as_ref().map(|(place, critic)| (*place, critic.as_str()));
        Raised { critique, number: self.number, text: &self.text }
    }
}

impl Change {
    /// Lines are counted and not aligned: moving one is no change, and a text of any length takes a moment.
    fn between(before: &str, now: &str) -> Self {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in lines(before) {
            *left.entry(line).or_default() += 1;
        }
        let mut added = 0;
        for line in lines(now) {
            match left.get_mut(line) {
                Some(count @ 1..) => *count -= 1,
                Some(_) | None => added += 1,
            }
        }
        Self { added, removed: left.values().sum() }
    }
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The text without a part of it.
fn without<'a>(text: &'a str, part: Option<&Range<usize>>) -> Cow<'a, str> {
    let parts = part.and_then(|part| Some((text.get(..part.start)?, text.get(part.end..)?)));
    parts.map_or(Cow::Borrowed(text), |(before, behind)| {
        [before.trim_end(), behind.trim()].join("\n\n").trim().to_owned().into()
    })
}

impl Contribution {
    /// The text without its answers to critics.
    #[must_use]
    pub fn without_answers(&self) -> Cow<'_, str> {
        without(&self.content, self.reading.as_ref().and_then(|reading| reading.answers_at.as_ref()))
    }
}

impl Debate {
    /// The same record with what its texts say, where it was made by a version that did not read them. To be shown,
    /// never to be saved.
    #[must_use]
    pub fn read_for_showing(&self) -> Self {
        let mut debate = self.clone();
        for at in 0..debate.rounds.len() {
            for place in 0..debate.rounds[at].contributions.len() {
                let (round, one) =
                    (debate.rounds[at].round_number, Arc::clone(&debate.rounds[at].contributions[place]));
                // Votes for a text are about it, and no criticism of it.
                let is_vote = self.yield_of(&one) == Some(ResultKind::Ballot) && one.metadata.choice.is_none();
                if one.reading.is_some() || one.metadata.carried_over || is_vote {
                    continue;
                }
                let key = CallKey {
                    target_agent_id: one.target_agent_id.clone(),
                    ..CallKey::new(round, one.stage, &one.agent_id)
                };
                let reading =
                    Reads::of(&debate, &key, &debate.texts_before(at, place)).map(|reads| reads.read(&one.content));
                Arc::make_mut(&mut debate.rounds[at].contributions[place]).reading =
                    reading.filter(Reading::says_something).map(Box::new);
            }
        }
        debate
    }

    /// The calls that a text rested on, as far as the order of the record tells: its author's last own text, and what
    /// was said about that since.
    fn texts_before(&self, at: usize, place: usize) -> Vec<CallKey> {
        let author = &self.rounds[at].contributions[place].agent_id;
        let earlier =
            self.rounds[..at].iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)));
        let same = self.rounds[at].contributions[..place].iter().map(|one| (self.rounds[at].round_number, one));
        let mut inputs: Vec<CallKey> = Vec::new();
        for (round, one) in earlier.chain(same) {
            let is_own = one.agent_id == *author && self.yield_of(one) == Some(ResultKind::Proposal);
            if is_own {
                inputs.clear();
            }
            if is_own || one.target_agent_id.as_ref() == Some(author) {
                let target_agent_id = one.target_agent_id.clone();
                inputs.push(CallKey { target_agent_id, ..CallKey::new(round, one.stage, &one.agent_id) });
            }
        }
        inputs
    }
}
