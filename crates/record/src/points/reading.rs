//! Answer formats, the points that answers can refer to, and the result of parsing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use dialectic_base::call::is_default;

use crate::change::fingerprint;
use crate::debate::{Attachment, Contribution, Debate, Lens};
use crate::ids::{AgentId, CallKey, ResultKind};

use super::parser::{
    ANSWERS_HEADING, CHECK_ANSWERS_HEADING, ReadAnswers, ReadCritique, read_answers, read_check, read_critique,
    read_decisions, read_findings, read_given_up, read_opinions, read_review, review_section,
};
use super::{Found, Ledger, Point, RaisedPoint, RecheckStanding, Response, Stance, Statement};

/// What was parsed from a contribution when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParsedAnswer {
    /// The points of a critique. Empty if the critique says that it has none; absent if none could be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<RaisedPoint>>,
    /// The number of points or findings left out because there were too many.
    #[serde(skip_serializing_if = "is_default")]
    pub unread: usize,
    /// The number of texts for which a review has no readable section.
    #[serde(skip_serializing_if = "is_default")]
    pub unread_texts: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<RejectedApproach>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rechecks: Vec<Statement<RecheckStanding>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verifications: Vec<Statement<Found>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Statement<Response>>,
    /// The byte range of the answers in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_at: Option<Range<usize>>,
    /// The change since the author's previous proposal. Absent if this is the first proposal, or if the author had no
    /// points to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// A reader's findings about a change. Empty if the reader reported none; absent if none could be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<RaisedPoint>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opinions: Vec<Statement<Stance>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// A serialized [`JsonAnswer`](crate::protocol::JsonAnswer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
}

impl ParsedAnswer {
    /// `text` must be the text that was parsed.
    pub fn without_answers<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, self.answers_at.as_ref())
    }

    pub fn says_something(&self) -> bool {
        *self != Self::default()
    }
}

/// A reviewer's statement that the approach of a text cannot be fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedApproach {
    /// The author of the approach, if the review names the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
    /// The reason and the alternative, verbatim.
    pub reason: String,
}

impl RejectedApproach {
    /// The reason, without a leading `Text 2:` if `target` names the author.
    pub fn remark(&self) -> &str {
        let is_mark = |c: char| c.is_whitespace() || "*_`[]".contains(c);
        let label = || {
            let rest = self.reason.trim_start_matches(is_mark);
            let (word, rest) = rest.split_at_checked("Text".len())?;
            let digits = rest.trim_start();
            let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_label = word.eq_ignore_ascii_case("Text") && rest.len() < digits.len();
            let rest = rest.trim_start_matches(is_mark).strip_prefix([':', '—', '–']).filter(|_| is_label)?;
            Some(rest.trim_start_matches(is_mark)).filter(|rest| !rest.is_empty())
        };
        self.target.as_ref().and_then(|_| label()).unwrap_or(&self.reason)
    }
}

/// The numbers of lines that were added and removed in a text, not counting its answers to critics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub added: usize,
    pub removed: usize,
}

/// How to parse a text, and which points or texts it can refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFormat {
    /// A critique: new points, and rechecks of these points, which the critic raised earlier.
    Critique(Vec<Point>),
    Review {
        texts: Vec<(u32, AgentId)>,
        own: Option<(u32, AgentId)>,
    },
    /// A check of a draft: new points, and findings about these accepted points.
    Check(Vec<Point>),
    Answers {
        /// Whether the prompt asks for answers, because it shows critiques or points.
        asked: bool,
        points: Vec<Point>,
        /// The author's previous text without answers; empty if there is none.
        before: String,
    },
    /// Findings about a change, with the paths of the changed files and the attachments that show these files.
    Findings(Vec<String>, Arc<[Attachment]>),
    /// Opinions on another reader's findings with these numbers.
    Opinion(Vec<String>),
    /// The text after a check, which answers these points under a separate heading.
    Final(Vec<Point>),
}

fn numbers(points: &[Point]) -> Vec<&str> {
    points.iter().map(|point| point.number.as_str()).collect()
}

impl AnswerFormat {
    /// `inputs` are the calls whose texts the prompt shows. Returns `None` if the answer to the call is not parsed.
    pub fn of(debate: &Debate, key: &CallKey, inputs: &[CallKey]) -> Option<Self> {
        let yields = debate.stage(key.stage)?.yields?;
        match (&key.target_agent_id, yields) {
            (Some(target), ResultKind::Critique) => {
                let ledger = Ledger::seen_by(debate, target, key.round, inputs);
                let earlier = ledger.to_recheck(&key.agent_id, target);
                Some(Self::Critique(earlier.into_iter().cloned().collect()))
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
                Some(Self::Check(accepted.into_iter().cloned().collect()))
            }
            (_, ResultKind::Findings) => {
                let files = debate.change.iter().flat_map(|change| &change.files);
                Some(Self::Findings(files.map(|file| file.path.clone()).collect(), Arc::clone(&debate.attachments)))
            }
            (Some(author), ResultKind::Opinion) => {
                let findings = debate.findings_of(author, key.round).unwrap_or_default();
                Some(Self::Opinion(findings.into_iter().map(|one| one.number).collect()))
            }
            (None, ResultKind::Proposal | ResultKind::Solution) if debate.newest_draft().is_some() => {
                let points = Ledger::of(debate).objections;
                Some(Self::Final(points))
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
        let points: Vec<Point> = ledger.to_answer(author).into_iter().cloned().collect();
        Self::Answers { asked: is_criticised || !points.is_empty(), points, before }
    }

    pub fn read(&self, text: &str) -> ParsedAnswer {
        match self {
            Self::Critique(earlier) => {
                let ReadCritique { points, unread, said } = read_critique(text, &numbers(earlier));
                ParsedAnswer { points, unread, rechecks: about(said, earlier), ..ParsedAnswer::default() }
            }
            Self::Review { texts, own } => review(text, texts, own.as_ref()),
            Self::Check(accepted) => {
                let ReadCritique { points, unread, said } = read_check(text, &numbers(accepted));
                ParsedAnswer { points, unread, verifications: about(said, accepted), ..ParsedAnswer::default() }
            }
            Self::Answers { asked, points, before } => {
                // Without a critique there is nothing to answer, so a section under this heading is ordinary text.
                let read = asked.then(|| read_answers(text, ANSWERS_HEADING, &numbers(points))).unwrap_or_default();
                let now = without(text, read.section.as_ref());
                let change = (!before.is_empty() && !points.is_empty()).then(|| Change::between(before, &now));
                let decisions = read_decisions(&now);
                ParsedAnswer { change, decisions, ..answered(read, points) }
            }
            Self::Findings(paths, attachments) => {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                let (mut findings, unread) = read_findings(text, &paths);
                for finding in findings.iter_mut().flatten() {
                    finding.fingerprint = Some(fingerprint(attachments, finding));
                }
                ParsedAnswer { unread, findings, ..ParsedAnswer::default() }
            }
            Self::Opinion(findings) => {
                let findings: Vec<&str> = findings.iter().map(String::as_str).collect();
                ParsedAnswer { opinions: read_opinions(text, &findings), ..ParsedAnswer::default() }
            }
            Self::Final(points) => answered(read_answers(text, CHECK_ANSWERS_HEADING, &numbers(points)), points),
        }
    }

    pub fn asks_for_points(&self) -> bool {
        match self {
            Self::Critique(_) | Self::Check(_) | Self::Review { .. } | Self::Findings(..) | Self::Opinion(_) => true,
            Self::Answers { .. } | Self::Final(_) => false,
        }
    }

    /// Whether the engine must ask again, because requested points are missing.
    pub fn lacks_points(&self, reading: &ParsedAnswer) -> bool {
        match self {
            Self::Critique(_) | Self::Check(_) => reading.points.is_none(),
            Self::Review { .. } => reading.points.is_none() || reading.unread_texts > 0,
            Self::Findings(..) => reading.findings.is_none(),
            Self::Opinion(findings) => reading.opinions.is_empty() && !findings.is_empty(),
            Self::Answers { .. } | Self::Final(_) => false,
        }
    }

    /// The numbers of the texts for which a review has no readable section; empty if no section is readable.
    pub fn unread_texts(&self, text: &str) -> Vec<u32> {
        let order = self.texts();
        let read = read_review(text, &order);
        let unread: Vec<u32> =
            order.iter().zip(read).filter(|(_, one)| one.points.is_none()).map(|(of, _)| *of).collect();
        if unread.len() < order.len() { unread } else { Vec::new() }
    }

    /// Combines a critic's `first` text with the `second`, which answers the repeated request. Returns `None` if the
    /// second text has no readable points, or fewer readable sections than the first.
    pub fn joined(&self, first: &str, second: &str) -> Option<(String, ParsedAnswer)> {
        let unread = self.unread_texts(first);
        if !unread.is_empty() {
            return self.with_sections(first, second, &unread);
        }
        let (reading, more) = (self.read(first), self.read(second));
        if self.lacks_points(&more) && (more.points.is_none() || more.unread_texts > reading.unread_texts) {
            return None;
        }
        // The second text repeats all points, so it normally replaces the first. Both texts are kept if only the first
        // contains rechecks, verifications or rejected approaches.
        let is_needed = !reading.rechecks.is_empty() && more.rechecks.is_empty()
            || !reading.verifications.is_empty() && more.verifications.is_empty()
            || !reading.given_up.is_empty() && more.given_up.is_empty();
        let text = if is_needed { format!("{}\n\n{}", first.trim_end(), second.trim()) } else { second.to_owned() };
        let rechecks = if more.rechecks.is_empty() { reading.rechecks } else { more.rechecks };
        let verifications = if more.verifications.is_empty() { reading.verifications } else { more.verifications };
        let given_up = if more.given_up.is_empty() { reading.given_up } else { more.given_up };
        Some((text, ParsedAnswer { given_up, rechecks, verifications, ..more }))
    }

    fn with_sections(&self, first: &str, second: &str, unread: &[u32]) -> Option<(String, ParsedAnswer)> {
        let order = self.texts();
        let section = |number: &u32| {
            let titled = review_section(second, *number, &order).and_then(|place| second.get(place));
            // If only one section was requested, its title may be missing.
            let is_untitled = unread.len() == 1 && order.iter().all(|of| review_section(second, *of, &order).is_none());
            let section = titled.or_else(|| is_untitled.then_some(second))?;
            Some((*number, format!("## Text {number}\n\n{}", section.trim())))
        };
        let sections: Vec<(u32, String)> = unread.iter().filter_map(section).collect();
        let more = sections.iter().map(|(_, section)| &**section).collect::<Vec<_>>().join("\n\n");
        let (reading, read) = (self.read(first), self.read(&more));
        let mut text = first.trim_end().to_owned();
        for (number, section) in sections {
            match review_section(&text, number, &order) {
                Some(place) => text.replace_range(place, section.split_once("\n\n").map_or("", |(_, below)| below)),
                None => text = format!("{text}\n\n{section}"),
            }
        }
        let points = [reading.points?, read.points?].concat();
        let unread_texts = reading.unread_texts + read.unread_texts - order.len();
        let unread = reading.unread + read.unread;
        Some((text, ParsedAnswer { points: Some(points), unread, unread_texts, ..reading }))
    }

    fn texts(&self) -> Vec<u32> {
        match self {
            Self::Review { texts, .. } => texts.iter().map(|(number, _)| *number).collect(),
            Self::Critique(_)
            | Self::Check(_)
            | Self::Answers { .. }
            | Self::Findings(..)
            | Self::Opinion(_)
            | Self::Final(_) => Vec::new(),
        }
    }
}

fn review(text: &str, texts: &[(u32, AgentId)], own: Option<&(u32, AgentId)>) -> ParsedAnswer {
    let order: Vec<u32> = texts.iter().map(|(number, _)| *number).collect();
    let read = read_review(text, &order);
    let unread_texts = read.iter().filter(|one| one.points.is_none()).count();
    let unread = read.iter().map(|one| one.unread).sum();
    let points = texts.iter().zip(read).flat_map(|((_, author), one)| {
        one.points.into_iter().flatten().map(move |point| RaisedPoint { target: Some(author.clone()), ..point })
    });
    let points: Vec<RaisedPoint> = points.collect();
    let is_read = unread_texts < texts.len() || texts.is_empty();
    let author = |number: u32| texts.iter().chain(own).find(|(known, _)| *known == number).map(|(_, id)| id.clone());
    let given_up = read_given_up(text).into_iter();
    let given_up =
        given_up.map(|(number, reason)| RejectedApproach { target: number.and_then(author), reason }).collect();
    ParsedAnswer { points: is_read.then_some(points), unread, unread_texts, given_up, ..ParsedAnswer::default() }
}

fn answered(read: ReadAnswers, points: &[Point]) -> ParsedAnswer {
    let answers = read.answers.into_iter().map(|said| {
        let section = Some(said.section.unwrap_or_default());
        Statement { section, ..said }
    });
    ParsedAnswer { answers: about(answers, points), answers_at: read.section, ..ParsedAnswer::default() }
}

fn about<V>(said: impl IntoIterator<Item = Statement<V, usize>>, points: &[Point]) -> Vec<Statement<V>> {
    let about = |one: Statement<V, usize>| {
        let id = points.get(one.point)?.id.clone();
        Some(one.about(id))
    };
    said.into_iter().filter_map(about).collect()
}

impl Change {
    /// Compares only how often each line occurs, which is fast even for long texts. A line that was only moved is
    /// neither added nor removed.
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
    pub fn without_answers(&self) -> Cow<'_, str> {
        without(&self.content, self.reading.as_ref().and_then(|reading| reading.answers_at.as_ref()))
    }
}

impl Debate {
    /// Returns a copy in which the unparsed texts of an older record are parsed. For display only; never saved.
    pub fn with_derived_points(&self) -> Self {
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
                let reading = AnswerFormat::of(&debate, &key, &debate.texts_before(at, place))
                    .map(|reads| reads.read(&one.content));
                Arc::make_mut(&mut debate.rounds[at].contributions[place]).reading =
                    reading.filter(ParsedAnswer::says_something).map(Box::new);
            }
        }
        debate
    }

    /// The calls that a text builds on, judging by the order in the record: its author's previous proposal, and the
    /// later remarks on that proposal.
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
