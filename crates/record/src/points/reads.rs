//! How to parse an answer, and which points it can refer to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::debate::{
    ANSWERS_HEADING, AgentId, CHECK_ANSWERS_HEADING, CallKey, Contribution, Debate, Lens, PointAnswer, ReadAnswers,
    ReadCritique, ResultKind, read_answers, read_check, read_critique, read_decisions, read_findings, read_given_up,
    read_opinions, read_review,
};

use super::{
    Answered, AuthorReply, Change, GivenUp, Happened, Ledger, Objection, Occasion, Point, PointId, Reading, Recheck,
    RecheckStanding, Verification,
};

/// How to read a text, and its possible references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reads {
    /// A critique: points, and rechecks of the critic's earlier ones, which were shown.
    Critique(Vec<Numbered>),
    /// A review of several texts: points against each.
    Review {
        /// The shown texts by their numbers.
        texts: Vec<(u32, AgentId)>,
        /// The reviewer's own text and its number.
        own: Option<(u32, AgentId)>,
    },
    /// A check of a draft: points, and findings about accepted ones, which were shown.
    Check(Vec<Numbered>),
    /// A proposal: answers to points.
    Answers {
        /// Whether its prompt asks for answers, because it shows critiques or points.
        asked: bool,
        /// The shown points.
        points: Vec<Numbered>,
        /// Its author's last text without the answers in it.
        before: String,
    },
    /// Problems found in a change with files at these paths.
    Findings(Vec<String>),
    /// Opinions on other readers' findings with these numbers.
    Opinion(Vec<String>),
    /// The text after a check, with answers to the shown points under a separate heading.
    Final(Vec<Numbered>),
}

/// A point under the number in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    pub number: String,
    pub id: PointId,
}

impl Numbered {
    fn of(one: &Objection) -> Self {
        Self { number: one.number(), id: one.id.clone() }
    }
}

fn numbers(points: &[Numbered]) -> Vec<&str> {
    points.iter().map(|point| point.number.as_str()).collect()
}

impl Ledger {
    /// The unsettled points of `critic` against the text of `target`, which it rechecks.
    pub fn to_recheck(&self, critic: &AgentId, target: &AgentId) -> Vec<&Objection> {
        let own = self.against(target).filter(|one| one.critic_id == *critic);
        own.filter(|one| one.draft.is_none() && !one.is_settled()).collect()
    }

    /// The accepted but unconfirmed points for the check, ordered by number: points against the text on which the draft
    /// is built, or against all texts.
    pub fn to_verify(&self, debate: &Debate) -> Vec<&Objection> {
        let base = debate.draft.as_ref().and_then(|draft| draft.base.as_ref());
        let is_of_base = |one: &&Objection| base.is_none_or(|base| one.target_id == *base);
        let is_accepted = |one: &&Objection| {
            let is_over = matches!(one.critic, Some(RecheckStanding::Withdrawn | RecheckStanding::Verified));
            matches!(one.answer, Answered::Accepted | Answered::Partly) && !is_over
        };
        let accepted = self.objections.iter().filter(|one| one.draft.is_none()).filter(is_of_base).filter(is_accepted);
        let mut accepted: Vec<_> = accepted.collect();
        // Points against one text are already ordered.
        let number = debate.text_numbers();
        accepted.sort_by_key(|one| number(&one.target_id));
        accepted
    }

    /// The points accepted in the last round whose changes were not verified.
    pub fn claimed_last(&self, debate: &Debate) -> Vec<&Objection> {
        let last = debate.final_round().map_or(0, |round| round.round_number);
        let is_accepted = |one: &&Objection| {
            let answered = one.story.iter().rev().find(|incident| matches!(incident.what, Happened::Answered(_)));
            one.is_claimed() && answered.is_some_and(|incident| incident.at == Occasion::Round(last))
        };
        let mut claimed: Vec<_> = self.objections.iter().filter(is_accepted).collect();
        let number = debate.text_numbers();
        claimed.sort_by_key(|one| number(&one.target_id));
        claimed
    }

    /// The open points against an author's text, which it must answer.
    pub fn to_answer(&self, author: &AgentId) -> Vec<&Objection> {
        self.against(author).filter(|one| one.draft.is_none() && one.open).collect()
    }
}

impl Reads {
    /// How to read the answer to this call. `inputs` are the calls in its prompt.
    pub fn of(debate: &Debate, key: &CallKey, inputs: &[CallKey]) -> Option<Self> {
        let yields = debate.stage(key.stage)?.yields?;
        match (&key.target_agent_id, yields) {
            (Some(target), ResultKind::Critique) => {
                let ledger = Ledger::seen_by(debate, target, key.round, inputs);
                let earlier = ledger.to_recheck(&key.agent_id, target);
                Some(Self::Critique(earlier.into_iter().map(Numbered::of).collect()))
            }
            (None, ResultKind::Critique) => {
                let numbered = |id: &AgentId| Some((debate.text_number(id)?, id.clone()));
                let others = inputs.iter().filter(|input| input.agent_id != key.agent_id);
                let texts = others.filter_map(|input| numbered(&input.agent_id)).collect();
                Some(Self::Review { texts, own: numbered(&key.agent_id) })
            }
            (_, ResultKind::Check) => {
                let is_first = Lens::Requirements.number() == (key.pass.max(1) - 1) % Lens::COUNT + 1;
                let ledger = Ledger::of(debate);
                let accepted = if is_first { ledger.to_verify(debate) } else { Vec::new() };
                Some(Self::Check(accepted.into_iter().map(Numbered::of).collect()))
            }
            (_, ResultKind::Findings) => {
                let files = debate.change.iter().flat_map(|change| &change.files);
                Some(Self::Findings(files.map(|file| file.path.clone()).collect()))
            }
            (Some(author), ResultKind::Opinion) => {
                let findings = debate.findings_of(author).unwrap_or_default();
                Some(Self::Opinion(findings.into_iter().map(|one| one.number).collect()))
            }
            (None, ResultKind::Proposal | ResultKind::Solution) if debate.newest_draft().is_some() => {
                let points = Ledger::of(debate).objections;
                Some(Self::Final(points.iter().map(Numbered::of).collect()))
            }
            (None, ResultKind::Proposal) => Some(Self::answers(debate, key, inputs)),
            (None, ResultKind::Opinion)
            | (Some(_), ResultKind::Proposal)
            | (
                _,
                ResultKind::Ballot
                | ResultKind::Material
                | ResultKind::Team
                | ResultKind::Agreement
                | ResultKind::Challenge
                | ResultKind::Kinds
                | ResultKind::Speech
                | ResultKind::Questions
                | ResultKind::Summary
                | ResultKind::Score
                | ResultKind::Verdict
                | ResultKind::Solution,
            ) => None,
        }
    }

    fn answers(debate: &Debate, key: &CallKey, inputs: &[CallKey]) -> Self {
        let author = &key.agent_id;
        let ledger = Ledger::seen_by(debate, author, key.round, inputs);
        let texts: Vec<_> = inputs.iter().filter_map(|input| Some((input, debate.contribution(input)?))).collect();
        let is_criticised = texts.iter().any(|(_, text)| text.target_agent_id.as_ref() == Some(author));
        let before = texts.iter().find(|(_, text)| text.agent_id == *author);
        let before = before.map(|(_, text)| text.without_answers().into_owned()).unwrap_or_default();
        let points: Vec<Numbered> = ledger.to_answer(author).into_iter().map(Numbered::of).collect();
        Self::Answers { asked: is_criticised || !points.is_empty(), points, before }
    }

    /// Parses the text, as a pure function.
    pub fn read(&self, text: &str) -> Reading {
        match self {
            Self::Critique(earlier) => {
                let ReadCritique { points, unread, said: rechecks } = read_critique(text, &numbers(earlier));
                let recheck = |said: PointAnswer<_>| {
                    let PointAnswer { at, verdict, section, reason } = said;
                    Some(Recheck {
                        point: earlier.get(at)?.id.clone(),
                        standing: verdict,
                        section,
                        reason: reason.map(Arc::from),
                    })
                };
                let rechecks = rechecks.into_iter().filter_map(recheck).collect();
                Reading { points, unread, rechecks, ..Reading::default() }
            }
            Self::Review { texts, own } => review(text, texts, own.as_ref()),
            Self::Check(accepted) => {
                let read = read_check(text, &numbers(accepted));
                let verification = |said: PointAnswer<_>| {
                    let PointAnswer { at, verdict, section, reason } = said;
                    Some(Verification {
                        point: accepted.get(at)?.id.clone(),
                        found: verdict,
                        section,
                        reason: reason.map(Arc::from),
                    })
                };
                let verifications = read.said.into_iter().filter_map(verification).collect();
                Reading { points: read.points, unread: read.unread, verifications, ..Reading::default() }
            }
            Self::Answers { asked, points, before } => {
                // Without a critique there is nothing to answer, whatever the heading.
                let read = asked.then(|| read_answers(text, ANSWERS_HEADING, &numbers(points))).unwrap_or_default();
                let now = without(text, read.section.as_ref());
                // Without points to answer, a change has no cause to record.
                let change = (!before.is_empty() && !points.is_empty()).then(|| Change::between(before, &now));
                let decisions = read_decisions(&now);
                Reading { change, decisions, ..answered(read, points) }
            }
            Self::Findings(paths) => {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                let (findings, unread) = read_findings(text, &paths);
                Reading { unread, findings, ..Reading::default() }
            }
            Self::Opinion(findings) => {
                let findings: Vec<&str> = findings.iter().map(String::as_str).collect();
                Reading { opinions: read_opinions(text, &findings), ..Reading::default() }
            }
            Self::Final(points) => answered(read_answers(text, CHECK_ANSWERS_HEADING, &numbers(points)), points),
        }
    }

    /// Whether the text should contain points.
    pub fn asks_for_points(&self) -> bool {
        match self {
            Self::Critique(_) | Self::Check(_) | Self::Review { .. } | Self::Findings(_) | Self::Opinion(_) => true,
            Self::Answers { .. } | Self::Final(_) => false,
        }
    }

    /// Whether a reading lacks the requested points; the engine then repeats the call.
    pub fn lacks_points(&self, reading: &Reading) -> bool {
        match self {
            Self::Critique(_) | Self::Check(_) => reading.points.is_none(),
            Self::Review { .. } => reading.points.is_none() || reading.unread_texts > 0,
            Self::Findings(_) => reading.findings.is_none(),
            Self::Opinion(findings) => reading.opinions.is_empty() && !findings.is_empty(),
            Self::Answers { .. } | Self::Final(_) => false,
        }
    }

    /// Whether a second text contains more of the requested parts than the first (`reading`).
    pub fn is_better(&self, more: &Reading, reading: &Reading) -> bool {
        match self {
            Self::Findings(_) | Self::Opinion(_) => !self.lacks_points(more),
            Self::Critique(_) | Self::Check(_) | Self::Review { .. } | Self::Answers { .. } | Self::Final(_) => {
                more.points.is_some() && more.unread_texts <= reading.unread_texts
            }
        }
    }
}

/// The points against each text, and the rejected approaches. An unreadable section gives no points.
fn review(text: &str, texts: &[(u32, AgentId)], own: Option<&(u32, AgentId)>) -> Reading {
    let order: Vec<u32> = texts.iter().map(|(number, _)| *number).collect();
    let read = read_review(text, &order);
    let unread_texts = read.iter().filter(|one| one.points.is_none()).count();
    let unread = read.iter().map(|one| one.unread).sum();
    let points = texts.iter().zip(read).flat_map(|((_, author), one)| {
        one.points.into_iter().flatten().map(move |point| Point { target: Some(author.clone()), ..point })
    });
    let points: Vec<Point> = points.collect();
    let is_read = unread_texts < texts.len() || texts.is_empty();
    let author = |number: u32| texts.iter().chain(own).find(|(known, _)| *known == number).map(|(_, id)| id.clone());
    let given_up = read_given_up(text).into_iter();
    let given_up = given_up.map(|(number, reason)| GivenUp { target: number.and_then(author), reason }).collect();
    Reading { points: is_read.then_some(points), unread, unread_texts, given_up, ..Reading::default() }
}

fn answered(read: ReadAnswers, points: &[Numbered]) -> Reading {
    let reply = |said: PointAnswer<_>| {
        let PointAnswer { at, verdict, section, reason } = said;
        let section = Some(section.unwrap_or_default());
        Some(AuthorReply { point: points.get(at)?.id.clone(), answer: verdict, section, reason: reason.map(Arc::from) })
    };
    let answers = read.answers.into_iter().filter_map(reply).collect();
    Reading { answers, answers_at: read.section, ..Reading::default() }
}

impl Change {
    /// Counts lines without aligning them: moving a line is not a change, and long texts take little time.
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

pub(super) fn without<'a>(text: &'a str, part: Option<&Range<usize>>) -> Cow<'a, str> {
    let parts = part.and_then(|part| Some((text.get(..part.start)?, text.get(part.end..)?)));
    parts.map_or(Cow::Borrowed(text), |(before, behind)| {
        [before.trim_end(), behind.trim()].join("\n\n").trim().to_owned().into()
    })
}

impl Contribution {
    /// The text without its answers to critics.
    pub fn without_answers(&self) -> Cow<'_, str> {
        without(&self.content, self.reading.as_ref().and_then(|reading| reading.answers_at.as_ref()))
    }
}

impl Debate {
    /// The record with readings added if its version had none. For display only, never saved.
    pub fn read_for_showing(&self) -> Self {
        let mut debate = self.clone();
        for at in 0..debate.rounds.len() {
            for place in 0..debate.rounds[at].contributions.len() {
                let (round, one) =
                    (debate.rounds[at].round_number, Arc::clone(&debate.rounds[at].contributions[place]));
                if one.reading.is_some() || one.metadata.carried_over {
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

    /// The calls that a text builds on, judging by the record's order: its author's previous text, and later remarks
    /// about it.
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
