//! Forks a debate: selects the events that the fork keeps.

#![cfg_attr(not(test), expect(clippy::wildcard_enum_match_arm, reason = "a fork looks for a few events only"))]

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use dialectic_base::figures::counted;

use super::{Event, FoldError, Recorded, fold};
use crate::debate::{Debate, Lens};
use crate::ids::{AgentId, CallKey, CallStatus, DebateId, ResultKind, StageId, StageInfo, stage};
use crate::settings::Settings;

/// Where to fork a debate: before the calls of a stage, written `2.critique`, or at the `start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ForkPoint {
    round: u32,
    /// `None` for the start.
    stage: Option<StageId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    pub id: DebateId,
    pub at: ForkPoint,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    #[error("expected `<round>.<stage>`, such as `2.critique`, or `start`")]
    NotAPoint,
    #[error(transparent)]
    Record(#[from] FoldError),
    #[error("the protocol makes no calls in the stage `{stage}`; stages with calls: {}", .known.join(", "))]
    UnknownStage { stage: StageId, known: Vec<String> },
    #[error("{stage} is a kind of call within the stage {}; fork before the whole stage: `{at}`", at.written_stage())]
    KindOfCall {
        stage: StageId,
        /// The point before the stage that makes these calls.
        at: ForkPoint,
    },
    #[error("{0} belongs to a round; rounds are numbered from 1")]
    RoundZero(StageId),
    #[error("the debate never reached {point}; its last point is {last}")]
    NotReached { point: ForkPoint, last: ForkPoint },
    /// The stage is outside the rounds, and the debate reached it after a different number of rounds.
    #[error("the debate never reached {point}, but it reached {at}")]
    OtherRound { point: ForkPoint, at: ForkPoint },
    #[error(
        "the debate used another protocol, so only its proposals can be kept; fork at `start`, or right after the proposals of the first round"
    )]
    OtherProtocol,
    #[error("a review has one round for each part of its change; set debate.rounds to {0}")]
    OtherParts(u32),
    #[error("the fork keeps {}, but the changed settings allow only {rounds}", counted((*taken_over).into(), "round"))]
    TooManyRounds { taken_over: u32, rounds: u32 },
    #[error("the changed settings must not change the `position` of {0}, because the fork keeps its texts")]
    OtherSide(AgentId),
    #[error("the changed settings must include all authors whose texts the fork keeps; missing: {}", listed(.0))]
    UnknownAgents(Vec<AgentId>),
}

impl ForkPoint {
    pub const START: Self = Self { round: 0, stage: None };

    pub fn before(round: u32, stage: StageId) -> Self {
        Self { round, stage: Some(stage) }
    }

    /// Parses a point as users write it: `start`, or a round, a dot, and a stage's id or any of its words. Without a
    /// round, the last round with that stage is used.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is invalid. Only [`fork`] checks whether the point exists.
    pub fn named(text: &str, events: &[Recorded]) -> Result<Self, ForkError> {
        let text = text.trim().to_lowercase();
        if let Ok(Self::START) = text.parse() {
            return Ok(Self::START);
        }
        let debate = fold(events)?;
        let round = text.split_once('.').and_then(|(round, name)| Some((round.parse().ok()?, name)));
        let name = round.map_or(&*text, |(_, name)| name);
        let has_name = |stage: &&StageInfo| stage.id.as_str() == name || stage.words.all().contains(&name);
        let mut stages = debate.stages.iter().filter(has_name);
        let stage = stages.clone().find(|stage| stage.is_transition_target).or_else(|| stages.next());
        let stage = stage.map_or_else(|| StageId::from(name.to_owned()), |stage| stage.id);
        let last = || {
            let reached = reached(events, &debate).into_iter().rfind(|(_, rank)| *rank == debate.stage_rank(stage));
            reached.map_or(debate.current_round, |(round, _)| round)
        };
        Ok(Self::before(round.map_or_else(last, |(round, _)| round), stage))
    }

    /// The first stage that the fork repeats; `None` at the start.
    pub fn stage(&self) -> Option<StageId> {
        self.stage
    }

    fn written_stage(&self) -> &str {
        self.stage.map_or("start", |stage| stage.as_str())
    }

    /// Whether the fork starts over and keeps no events of its parent.
    pub fn is_start(&self) -> bool {
        self.stage.is_none()
    }
}

impl FromStr for ForkPoint {
    type Err = ForkError;

    fn from_str(text: &str) -> Result<Self, ForkError> {
        if text == "start" {
            return Ok(Self::START);
        }
        let (round, stage) = text.split_once('.').filter(|(_, stage)| !stage.is_empty()).ok_or(ForkError::NotAPoint)?;
        let round = round.parse().map_err(|_| ForkError::NotAPoint)?;
        Ok(Self { round, stage: Some(StageId::from(stage.to_owned())) })
    }
}

impl fmt::Display for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stage {
            Some(stage) => write!(f, "{}.{stage}", self.round),
            None => f.write_str("start"),
        }
    }
}

impl TryFrom<String> for ForkPoint {
    type Error = ForkError;

    fn try_from(text: String) -> Result<Self, ForkError> {
        text.parse()
    }
}

impl From<ForkPoint> for String {
    fn from(point: ForkPoint) -> Self {
        point.to_string()
    }
}

/// A round, and the rank of a stage: its index in [`Debate::stages`].
type RecordPosition = (u32, usize);

impl Debate {
    /// The rank of the first entry that a fork before `stage` repeats. The kinds of call directly before the stage
    /// belong to the stage.
    pub(super) fn first_repeated(&self, stage: usize) -> usize {
        let ahead = self.stages.iter().take(stage).rev().take_while(|kind| !kind.is_transition_target).count();
        stage - ahead
    }

    fn rank_yielding(&self, yields: ResultKind) -> Option<usize> {
        self.stages.iter().position(|stage| stage.yields == Some(yields))
    }

    fn last_in_round(&self) -> usize {
        self.stages.iter().rposition(|stage| stage.in_round).unwrap_or(0)
    }

    fn last_essential(&self) -> usize {
        self.stages.iter().rposition(|stage| stage.in_round && stage.is_essential).unwrap_or(0)
    }

    /// The rank of the stage that writes the answer, or of the last stage if none does.
    fn closing_rank(&self) -> usize {
        let is_answer = |stage: &StageInfo| stage.yields == Some(ResultKind::Solution) && stage.is_essential;
        let last = self.stages.len().saturating_sub(1);
        self.stages.iter().position(|stage| stage.is_transition_target && is_answer(stage)).unwrap_or(last)
    }

    /// The position at which a stage was entered in `round`. A stage outside the rounds that is entered between rounds
    /// comes after the whole round.
    fn entered(&self, round: u32, stage: StageId) -> RecordPosition {
        let rank = self.stage_rank(stage);
        let in_round = self.stages.get(rank).is_some_and(|stage| stage.in_round);
        let is_between = round > 0 && !in_round && rank < self.last_in_round();
        (round, if is_between { usize::MAX } else { rank })
    }

    fn fork_position(&self, point: &ForkPoint) -> Result<RecordPosition, ForkError> {
        let Some(id) = point.stage else { return Ok((0, 0)) };
        let stage = self.stage_rank(id);
        let known = self.stages.get(stage);
        match known {
            Some(known) if known.is_transition_target && known.in_round && point.round == 0 => {
                Err(ForkError::RoundZero(id))
            }
            Some(known) if known.is_transition_target && known.yields.is_some() => Ok((point.round, stage)),
            _ => {
                if known.is_some_and(|known| !known.is_transition_target)
                    && let Some(place) = stage::place_of(&self.stages, id)
                {
                    let at = ForkPoint::before(point.round, place.id);
                    return Err(ForkError::KindOfCall { stage: id, at });
                }
                let at = self.stages.iter().filter(|stage| stage.is_transition_target && stage.makes_calls());
                Err(ForkError::UnknownStage { stage: id, known: at.map(|stage| stage.id.to_string()).collect() })
            }
        }
    }
}

/// Returns the events that follow the creation of a fork of `parent` at `point`: the kept events, with their calls
/// marked as paid by the parent, and the entry into the stage of `point`.
///
/// # Errors
///
/// Returns an error if the record is invalid, or cannot be forked at `point`.
pub fn fork(parent: &[Recorded], point: &ForkPoint) -> Result<Vec<Event>, ForkError> {
    let debate = fold(parent)?;
    let (round, stage) = debate.fork_position(point)?;
    let Some(id) = point.stage else { return Ok(Vec::new()) };
    let reached = reached(parent, &debate);
    if !reached.contains(&(round, stage)) {
        let is_in_round = debate.stages.get(stage).is_none_or(|stage| stage.in_round);
        if let Some((round, _)) = reached.iter().rfind(|(_, reached)| *reached == stage && !is_in_round) {
            return Err(ForkError::OtherRound { point: point.clone(), at: ForkPoint::before(*round, id) });
        }
        let last = reached.into_iter().max().and_then(|(round, rank)| Some((round, debate.stages.get(rank)?.id)));
        let last = last.map_or(ForkPoint::START, |(round, stage)| ForkPoint { round, stage: Some(stage) });
        return Err(ForkError::NotReached { point: point.clone(), last });
    }
    let begin = (round, debate.first_repeated(stage));
    let is_before = |place: RecordPosition| place < begin;
    let is_before_stage = |round, yields| debate.rank_yielding(yields).is_some_and(|rank| is_before((round, rank)));
    let is_call_before = |key: &CallKey| is_before((key.round, debate.stage_rank(key.stage)));
    let (mut current, mut entered) = (0, 0);
    let is_check = |key: &CallKey| debate.stage(key.stage).is_some_and(|of| of.yields == Some(ResultKind::Check));
    let mut kept = Vec::new();
    for recorded in parent {
        let keep = match &recorded.event {
            Event::StageEntered { stage } => {
                entered = debate.stage_rank(*stage);
                is_before(debate.entered(current, *stage))
            }
            Event::RoundBegun { round, .. } => {
                current = *round;
                is_before((*round, 0))
            }
            Event::Gathered { .. } => is_before_stage(0, ResultKind::Material),
            Event::QuestionAnswered { .. } | Event::QuestionsEnded { .. } => {
                is_before((0, debate.rank_yielding(ResultKind::Questions).unwrap_or(0)))
            }
            Event::RoundTimedOut { round } => {
                is_before((*round, debate.last_essential())) && debate.round(*round).is_some_and(|round| round.timed_out)
            }
            Event::Stopping { .. } => is_before((current, debate.last_in_round())),
            Event::CallFailed { failure, .. } => is_call_before(&failure.key) && debate.failures.contains(failure),
            // The checks of later drafts are repeated, because the fork writes those drafts again.
            Event::Contributed { key, .. } if is_check(key) && usize::from(key.pass) > Lens::ALL.len() => false,
            Event::QuestionsAsked { key, .. }
            | Event::Contributed { key, .. }
            | Event::Summarized { key, .. }
            | Event::Evaluated { key, .. }
            | Event::Polled { key, .. }
            | Event::Related { key, .. }
            | Event::Challenged { key, .. }
            | Event::Observed { key, .. }
            | Event::Judged { key, .. }
            | Event::Drafted { key: Some(key), .. } => is_call_before(key),
            Event::TeamSelected { .. } => is_before_stage(0, ResultKind::Team),
            Event::Measured { round, .. } => is_before_stage(*round, ResultKind::Agreement),
            // These events have no call, so they belong to the stage that was entered last.
            Event::Drafted { key: None, .. }
            | Event::Voted { .. }
            | Event::Decided { .. }
            | Event::Extended { .. }
            | Event::CheckForgone => is_before((current, entered)),
            // The fork writes its own answer; the other events concern only the parent.
            Event::Synthesized { .. }
            | Event::CostReserved { .. }
            | Event::AttemptFailed { .. }
            | Event::OutputLimited { .. }
            | Event::CostWarned { .. }
            | Event::CostAcknowledged
            | Event::Created(_)
            | Event::Imported { .. }
            | Event::Replied { .. }
            // Of a repeated call, only the final result is kept, so the fork has nothing to reopen.
            | Event::Reopened { .. }
            | Event::Suspended { .. }
            | Event::Paused
            | Event::Resumed(_)
            | Event::Failed { .. }
            | Event::Completed { .. }
            // Ratings and follow-up questions are about the parent's answer.
            | Event::FollowUpAsked { .. }
            | Event::FollowUpAnswered { .. }
            | Event::Rated { .. } => false,
        };
        if keep {
            let mut event = recorded.event.clone();
            if let Some(call) = event.call_mut() {
                call.copied = true;
                // The reservation refers to an event of the parent's journal.
                call.reservation = None;
            }
            kept.push(event);
        }
    }
    kept.push(Event::StageEntered { stage: id });
    Ok(kept)
}

/// The events that a fork with another protocol keeps: the user's answers, and the proposals of the first round.
/// `stages` are the stages of the new protocol. `None` if the rounds of that protocol have no proposals, or if `events`
/// contain none.
pub fn proposals_for(events: &[Event], stages: &[StageInfo]) -> Option<Vec<Event>> {
    let is_proposal = |stage: &&StageInfo| stage.in_round && stage.yields == Some(ResultKind::Proposal);
    let proposal = stages.iter().find(is_proposal)?.id;
    let is_kept = |event: &&Event| match event {
        Event::QuestionsAsked { .. } | Event::QuestionAnswered { .. } | Event::QuestionsEnded { .. } => true,
        Event::Contributed { key, .. } => key.round == 1 && key.stage == proposal,
        _ => false,
    };
    let (texts, answers): (Vec<Event>, Vec<Event>) =
        events.iter().filter(is_kept).cloned().partition(|event| matches!(event, Event::Contributed { .. }));
    if texts.is_empty() {
        return None;
    }
    let begin = [Event::RoundBegun { round: 1, stage: proposal }];
    // Entering the stage requests the proposals that are missing.
    let enter = [Event::StageEntered { stage: proposal }];
    Some(answers.into_iter().chain(begin).chain(texts).chain(enter).collect())
}

/// Checks that changed settings fit the kept events: all authors still take part, on the same sides, and the round
/// limit is high enough. `before` are the original settings.
///
/// # Errors
///
/// Returns an error if the settings do not fit.
pub fn check_taken_over(events: &[Event], before: &Settings, settings: &Settings) -> Result<(), ForkError> {
    check_authors(events, settings)?;
    let rounds = events.iter().filter_map(|event| match event {
        Event::RoundBegun { round, .. } => Some(*round),
        _ => None,
    });
    let (taken_over, rounds) = (rounds.max().unwrap_or(0), settings.debate.rounds);
    if taken_over > rounds {
        return Err(ForkError::TooManyRounds { taken_over, rounds });
    }
    let position = |settings: &Settings, id: &AgentId| {
        settings.agents.iter().find(|agent| agent.id == *id).map(|agent| agent.position)
    };
    for (key, settled) in events.iter().filter_map(Event::settles) {
        if settled == CallStatus::Done && position(before, &key.agent_id) != position(settings, &key.agent_id) {
            return Err(ForkError::OtherSide(key.agent_id.clone()));
        }
    }
    Ok(())
}

fn check_authors(events: &[Event], settings: &Settings) -> Result<(), ForkError> {
    let mut agents: Vec<AgentId> = Vec::new();
    let everybody = || settings.everybody();
    for (key, _) in events.iter().filter(|event| !matches!(event, Event::CallFailed { .. })).filter_map(Event::settles)
    {
        let author = &key.agent_id;
        if !everybody().any(|agent| agent.id == *author) && !agents.contains(author) {
            agents.push(author.clone());
        }
    }
    if agents.is_empty() { Ok(()) } else { Err(ForkError::UnknownAgents(agents)) }
}

/// The positions at which the debate can be forked, in the order of the events.
fn reached(events: &[Recorded], debate: &Debate) -> Vec<RecordPosition> {
    let mut round = 0;
    let mut places = Vec::new();
    let closing = debate.closing_rank();
    for recorded in events {
        match &recorded.event {
            Event::RoundBegun { round: begun, .. } => {
                // After each round, the debate can be forked before its closing stage.
                if round > 0 {
                    places.push((round, closing));
                }
                round = *begun;
            }
            Event::StageEntered { stage } => {
                let stage = debate.stage_rank(*stage);
                if debate.stages.get(stage).is_some_and(|stage| stage.yields.is_some()) {
                    places.push((round, stage));
                } else if round > 0 && stage < debate.last_in_round() {
                    places.push((round, closing));
                }
            }
            _ => {}
        }
    }
    places
}

fn listed(ids: &[AgentId]) -> String {
    ids.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::StopReason;
    use crate::debate::fixture::{self, created, pitching};
    use crate::ids::Timestamp;
    use crate::live::Signal;

    /// A debate under a test protocol.
    fn parent() -> Vec<Recorded> {
        let scene = pitching::scene().into_iter().filter_map(|signal| match signal {
            Signal::Recorded(recorded) => Some(recorded.event.clone()),
            _ => None,
        });
        let events = std::iter::once(created(pitching::stages())).chain(scene).zip(1..);
        let at = Timestamp::from(chrono::DateTime::UNIX_EPOCH);
        events.map(|(event, seq)| Recorded { seq, at, event }).collect()
    }

    fn forked(point: &str) -> Result<Vec<Event>, ForkError> {
        fork(&parent(), &point.parse().unwrap())
    }

    #[test]
    fn what_came_before_the_stage_is_taken_over_and_paid_for() {
        let settled = |point: &str| {
            let events = forked(point).unwrap();
            assert!(events.iter().filter_map(Event::call).all(|call| call.copied), "{point}");
            let keys = events.iter().filter_map(Event::settles).map(|(key, _)| key.stage.to_string());
            (keys.collect::<Vec<_>>().join(" "), events.last().cloned())
        };
        let entered = |stage| Some(Event::StageEntered { stage });
        assert_eq!(settled("1.pitch"), (String::new(), entered(pitching::PITCH)));
        assert_eq!(settled("1.heckle"), ("pitch".to_owned(), entered(pitching::HECKLE)));
        let before = "pitch heckle heckle applause show-of-hands";
        assert_eq!(settled("1.ruling"), (before.to_owned(), entered(pitching::RULING)));
    }

    #[test]
    fn a_point_that_is_none_says_what_there_is() {
        let refused = |point: &str| forked(point).unwrap_err().to_string();
        assert_eq!(
            refused("1.opera"),
            "the protocol makes no calls in the stage `opera`; stages with calls: pitch, heckle, applause, show-of-hands, ruling"
        );
        assert_eq!(refused("0.heckle"), "heckle belongs to a round; rounds are numbered from 1");
        assert_eq!(refused("2.heckle"), "the debate never reached 2.heckle; its last point is 1.ruling");
        assert_eq!(refused("0.ruling"), "the debate never reached 0.ruling, but it reached 1.ruling");
    }

    #[test]
    fn a_kind_of_call_is_no_point_but_within_one() {
        let with = |yields: Option<ResultKind>, stage: StageInfo| match yields {
            Some(yields) => stage.yielding(yields).in_round(),
            None => stage,
        };
        let stage = |id, yields| with(yields, StageInfo::new(StageId::new(id), [id; 6]));
        let stages = [
            stage("start", None),
            stage("team", Some(ResultKind::Team)),
            stage("murmur", Some(ResultKind::Speech)).kind_of_call(),
            stage("speech", Some(ResultKind::Speech)),
        ];
        let debate = Debate { stages: stages.into(), ..fixture::debate() };
        let refused = |point: &str| debate.fork_position(&point.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            refused("1.murmur"),
            "murmur is a kind of call within the stage speech; fork before the whole stage: `1.speech`"
        );
        assert_eq!(refused("1.opera"), "the protocol makes no calls in the stage `opera`; stages with calls: speech");
    }

    #[test]
    fn a_point_is_written_as_it_is_read() {
        for text in ["0.clarification", "1.summarization", "12.refinement", "3.synthesis", "start"] {
            assert_eq!(text.parse::<ForkPoint>().unwrap().to_string(), text);
        }
        for text in ["", "critique", "2", "x.critique", "-1.critique", "2."] {
            assert_eq!(text.parse::<ForkPoint>(), Err(ForkError::NotAPoint), "{text}");
        }
    }

    #[test]
    fn a_fork_before_the_end_of_a_stopped_debate_goes_on() {
        let mut stopped = parent();
        let seq = stopped.len() as u64 + 1;
        stopped.pop();
        let event = Event::Stopping { reason: StopReason::User };
        stopped.push(Recorded { seq: seq - 1, event, ..stopped[0].clone() });
        let stops = |point: &str| {
            let kept = fork(&stopped, &point.parse().unwrap()).unwrap();
            kept.iter().any(|event| matches!(event, Event::Stopping { .. }))
        };
        assert_eq!(["1.heckle", "1.ruling"].map(stops), [false, true]);
    }

    #[test]
    fn another_protocol_gets_the_proposals_of_the_first_round_only() {
        let mut events: Vec<Event> = parent().into_iter().map(|recorded| recorded.event).collect();
        let is_pitch = |event: &&Event| event.settles().is_some_and(|(key, _)| key.stage == pitching::PITCH);
        let mut second = events.iter().find(is_pitch).unwrap().clone();
        if let Event::Contributed { key, .. } = &mut second {
            key.round = 2;
        }
        events.push(second);
        let kept = proposals_for(&events, &pitching::stages()).unwrap();
        assert_eq!(kept.iter().filter_map(Event::settles).map(|(key, _)| key.round).collect::<Vec<_>>(), [1]);
    }
}
