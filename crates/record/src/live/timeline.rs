//! Replays a past debate: its events, and reconstructed signals of the run.
//!
//! The start of a call follows from its end and duration, and the stages follow from the results. Retries, warnings and
//! calls that a crash interrupted are missing, because the journal does not contain them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dialectic_base::call::CallRecord;

use super::{RoundInProgress, Signal};
use crate::debate::Debate;
use crate::event::{Event, Recorded};
use crate::ids::stage::place_of;
use crate::ids::{CallKey, CallStatus, StageId, StageInfo};
use crate::points::Fold;

/// The maximum pause between two runs or while waiting for the user, in milliseconds.
const LONGEST_REST: u64 = 1_000;

/// All signals of a debate in order, each with its time since the beginning. Idle periods are shortened to a second, and
/// events after the end are omitted.
pub fn timeline(events: &[Recorded]) -> Vec<(Duration, Signal)> {
    let ended = events.iter().position(|recorded| matches!(recorded.event, Event::Completed { .. }));
    let events = ended.and_then(|index| events.get(..=index)).unwrap_or(events);
    let ticks = ticks(events);
    // If the first event does not create a debate, the points lack the numbers of the texts that they criticise.
    let begun = events.first().and_then(|first| Debate::create(first).ok());
    let stages: &[StageInfo] = begun.as_ref().map_or(&[], |begun| &begun.stages);
    let rank = |id: StageId| stages.iter().position(|stage| stage.id == id).unwrap_or(stages.len());
    // Each signal with its sort key: time, index of the event, rank.
    let mut placed: Vec<((u64, usize, Rank), Signal)> = Vec::new();
    let mut ledger = begun.as_ref().map_or_else(Fold::without_numbers, Fold::of);
    let mut in_progress = RoundInProgress::default();
    for (index, recorded) in events.iter().enumerate() {
        let at = ticks[index].time;
        if let Some(round) = in_progress.ended_by(&recorded.event, stages) {
            placed.push(((at, index, Rank::RoundEnded), Signal::round_ended(round, &ledger.ledger())));
        }
        if let Event::Contributed { key, contribution, .. } = &recorded.event {
            ledger.take(key.round, contribution);
        }
        placed.push(((at, index, Rank::Event), Signal::Recorded(Arc::new(recorded.clone()))));
    }
    let works = works(events, &ticks);
    // Keyed by run, round, rank, id and visit. Unknown stages share a rank, so the id is needed.
    let mut by_stage: BTreeMap<(usize, u32, usize, StageId, usize), Vec<&Work>> = BTreeMap::new();
    let mut wanted: BTreeMap<(u32, StageId, usize), BTreeSet<&CallKey>> = BTreeMap::new();
    let mut visits: BTreeMap<(u32, StageId), Visit> = BTreeMap::new();
    for work in &works {
        let CallKey { round, stage, .. } = work.key;
        let visit = visits.entry((round, stage)).or_insert(Visit { number: 1, pass: work.key.pass, last: work.index });
        visit.go_on(events, work, place_of(stages, stage).map(|place| place.id));
        by_stage.entry((work.run, round, rank(stage), stage, visit.number)).or_default().push(work);
        wanted.entry((round, stage, visit.number)).or_default().insert(&work.key);
        if !work.was_called {
            continue;
        }
        let start = (work.begun, work.index, Rank::CallStarted);
        placed.push((start, Signal::CallStarted { key: work.key.clone(), model: work.model.clone(), asked: None }));
        placed.push(((ticks[work.index].time, work.index, Rank::CallEnded), work.ended()));
    }
    let mut there: BTreeMap<(u32, StageId, usize), usize> = BTreeMap::new();
    for ((run, round, rank, stage, visit), works) in by_stage {
        let before = there.get(&(round, stage, visit)).copied().unwrap_or(0);
        let done = works.iter().filter(|work| work.error.is_none()).count();
        *there.entry((round, stage, visit)).or_default() += done;
        let expected = wanted.get(&(round, stage, visit)).map_or(0, BTreeSet::len);
        let (Some(first), Some(last)) = (works.iter().min_by_key(|work| work.begun), works.last()) else { continue };
        // No event records the entry into a kind of call, so the kind starts with its first call.
        let is_transition_target = stages.get(rank).is_some_and(|stage| stage.is_transition_target);
        let entry = if is_transition_target { entered(events, &ticks, run, first, stage) } else { None };
        let start = match entry {
            Some(index) if ticks[index].time <= first.begun => (ticks[index].time, index, Rank::StageAfterEntry),
            _ => (first.begun, first.index, Rank::StageStarted),
        };
        let total = expected.saturating_sub(before);
        placed.push((start, Signal::StageStarted { stage, round, total }));
        // An interrupted stage has no end.
        if goes_on(events, &ticks, last.index) {
            let (done, failed) = (before + done, expected.saturating_sub(before + done));
            let end = (ticks[last.index].time, last.index, Rank::StageEnded);
            placed.push((end, Signal::StageEnded { stage, round, done, failed }));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|((at, ..), signal)| (Duration::from_millis(at), signal)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    StageStarted,
    CallStarted,
    RoundEnded,
    Event,
    StageAfterEntry,
    CallEnded,
    StageEnded,
}

struct Tick {
    /// The time of the event, in milliseconds since the start of the replay.
    time: u64,
    /// When the period of activity began, in milliseconds. No call that led to the event can have started earlier.
    since: u64,
    run: usize,
}

impl Tick {
    /// When an activity started, if it took `took` milliseconds and ended with this event.
    fn before(&self, took: u64) -> u64 {
        self.time.saturating_sub(took).max(self.since)
    }
}

fn ticks(events: &[Recorded]) -> Vec<Tick> {
    let mut ticks = Vec::new();
    let (mut now, mut since, mut run, mut resting) = (0, 0, 0, false);
    let mut previous: Option<&Recorded> = None;
    for recorded in events {
        let passed = previous.map_or(0, |previous| recorded.at.millis_since(previous.at));
        let resumed = matches!(recorded.event, Event::Resumed(_));
        run += usize::from(resumed);
        if resumed || resting || recorded.event.is_about_the_record() {
            now += passed.min(LONGEST_REST);
            since = now;
        } else {
            now += passed;
        }
        resting = match &recorded.event {
            Event::Suspended { .. } | Event::Paused | Event::Failed { .. } => true,
            Event::QuestionAnswered { .. }
            | Event::QuestionsEnded { .. }
            | Event::CostAcknowledged
            | Event::FollowUpAsked { .. }
            | Event::FollowUpAnswered { .. }
            | Event::Rated { .. } => resting,
            _ => false,
        };
        ticks.push(Tick { time: now, since, run });
        previous = Some(recorded);
    }
    ticks
}

fn goes_on(events: &[Recorded], ticks: &[Tick], index: usize) -> bool {
    let mut of_run = events.iter().zip(ticks).skip(index + 1).take_while(|(_, tick)| tick.run == ticks[index].run);
    of_run.any(|(recorded, _)| {
        matches!(
            recorded.event,
            Event::StageEntered { .. } | Event::Synthesized { .. } | Event::Failed { .. } | Event::Completed { .. }
        )
    })
}

struct Work {
    key: CallKey,
    run: usize,
    /// The index of the event with the result.
    index: usize,
    /// When the first request of the call was sent, in milliseconds since the start of the replay.
    begun: u64,
    model: String,
    call: Option<CallRecord>,
    error: Option<String>,
    was_called: bool,
}

impl Work {
    fn ended(&self) -> Signal {
        let call = self.call.as_ref();
        Signal::CallEnded {
            key: self.key.clone(),
            latency_ms: call.map_or(0, |call| call.latency_ms),
            tokens: call.and_then(|call| call.tokens).filter(|_| self.error.is_none()),
            cost_usd: call.and_then(|call| call.cost_usd).filter(|_| self.error.is_none()),
            error: self.error.clone(),
            waits_for_server: false,
        }
    }
}

fn works(events: &[Recorded], ticks: &[Tick]) -> Vec<Work> {
    let mut works = Vec::new();
    // The start times of calls whose first reply was not their result.
    let mut begun: BTreeMap<(usize, CallKey), u64> = BTreeMap::new();
    for (index, recorded) in events.iter().enumerate() {
        let run = ticks[index].run;
        if let Event::Replied { key, call, .. } = &recorded.event {
            let start = ticks[index].before(call.latency_ms);
            begun.entry((run, key.clone())).or_insert(start);
        }
        let Some((key, settled)) = recorded.event.settles() else { continue };
        let call = recorded.event.call();
        let carried_over = call.is_none() && settled != CallStatus::Failed;
        let first = begun.remove(&(run, key.clone()));
        // A copied result comes from the parent debate, so it took no time in this one.
        let copied = call.is_some_and(|call| call.copied);
        let took = call.filter(|call| !call.copied).map_or(0, |call| call.latency_ms);
        let start = first.unwrap_or_else(|| ticks[index].before(took));
        works.push(Work {
            key: key.clone(),
            run,
            index,
            begun: start,
            model: call.map(|call| call.model.clone()).unwrap_or_default(),
            call: call.cloned(),
            error: match &recorded.event {
                Event::CallFailed { failure, .. } => Some(failure.error.clone()),
                _ => None,
            },
            was_called: !carried_over && !copied,
        });
    }
    works
}

/// The debate's current visit to a stage of a round. A protocol may return to a stage, for example to ask further
/// questions once the first are answered.
struct Visit {
    number: usize,
    /// The highest pass of the visit's calls.
    pass: u8,
    /// The index of the event with the last result.
    last: usize,
}

impl Visit {
    /// Starts a new visit if the debate had left the stage and returned. `place` is the stage that makes the calls.
    fn go_on(&mut self, events: &[Recorded], work: &Work, place: Option<StageId>) {
        let since = events.get(self.last..work.index).unwrap_or_default();
        let is_elsewhere =
            |recorded: &Recorded| matches!(recorded.event, Event::StageEntered { stage } if Some(stage) != place);
        self.number += usize::from(work.key.pass > self.pass && since.iter().any(is_elsewhere));
        (self.pass, self.last) = (self.pass.max(work.key.pass), work.index);
    }
}

/// The index of the event with which the run entered the stage.
fn entered(events: &[Recorded], ticks: &[Tick], run: usize, first: &Work, place: StageId) -> Option<usize> {
    let before = events.iter().enumerate().take(first.index).rev();
    // Stop at the start of the round: the stage may have been entered in earlier rounds too.
    let is_in_reach = |(index, recorded): &(usize, &Recorded)| {
        ticks[*index].run == run && !matches!(recorded.event, Event::RoundBegun { .. })
    };
    let mut before = before.take_while(is_in_reach);
    let is_entry = |event: &Event| matches!(event, Event::StageEntered { stage } if *stage == place);
    before.find(|(_, recorded)| is_entry(&recorded.event)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests;
