//! A past debate as it was seen: its events and, around them, the signals that a running debate gives and nobody keeps.
//!
//! When a call began follows from when its result was recorded and how long it took; which phases there were follows
//! from the results. What was in flight when a run was killed left no trace, and retries and warnings did not either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{CallKey, CallRecord, Event, Node, Phase, Recorded, Settings, Signal};

/// A signal in its time.
#[derive(Debug, Clone)]
pub struct Moment {
    /// How long after the beginning.
    pub at: Duration,
    /// The signal.
    pub signal: Signal,
}

/// The most that is kept of the time between two runs, and of the time for which a debate waited for its user.
const LONGEST_REST: u64 = 1_000;

/// Everything that a debate showed, in the order and at the times at which it did. Times in which it did not run are
/// cut to a second.
#[must_use]
pub fn timeline(events: &[Recorded]) -> Vec<Moment> {
    let clock = Clock::of(events);
    let settings = events.iter().find_map(|recorded| match &recorded.event {
        Event::Created(created) => Some(&created.settings),
        _ => None,
    });
    let mut placed: Vec<(Place, Signal)> = Vec::new();
    for (index, recorded) in events.iter().enumerate() {
        let at = clock.time(index);
        placed.push((Place { at, index, rank: Rank::Event }, Signal::Recorded(Arc::new(recorded.clone()))));
    }
    let works = works(events, &clock);
    let mut phases: BTreeMap<(usize, u32, Phase), Vec<&Work>> = BTreeMap::new();
    for work in &works {
        phases.entry((work.run, work.key.round, work.key.phase)).or_default().push(work);
        if !work.was_called {
            continue;
        }
        let start = Place { at: work.begun, index: work.index, rank: Rank::CallStarted };
        placed.push((start, Signal::CallStarted { key: work.key.clone(), model: work.model.clone() }));
        let end = Place { at: clock.time(work.index), index: work.index, rank: Rank::CallEnded };
        placed.push((end, work.ended()));
    }
    let mut there: BTreeMap<(u32, Phase), usize> = BTreeMap::new();
    for ((run, round, phase), works) in phases {
        // The judge's summary is a step of the synthesis, and has no phase of its own.
        if phase == Phase::JudgeSummary {
            continue;
        }
        let before = there.get(&(round, phase)).copied().unwrap_or(0);
        let done = works.iter().filter(|work| work.error.is_none()).count();
        *there.entry((round, phase)).or_default() += done;
        let expected = expected(settings, phase).unwrap_or(before + works.len());
        let (Some(first), Some(last)) = (works.iter().min_by_key(|work| work.begun), works.last()) else { continue };
        let entered = entered(events, &clock, run, first, phase);
        let start = match entered {
            Some(index) if clock.time(index) <= first.begun => {
                Place { at: clock.time(index), index, rank: Rank::PhaseAfterNode }
            }
            _ => Place { at: first.begun, index: first.index, rank: Rank::PhaseStarted },
        };
        placed.push((start, Signal::PhaseStarted { phase, round, total: expected.saturating_sub(before) }));
        // A phase in which a run was cut off has no end in it.
        if clock.goes_on(events, last.index) {
            let at = clock.time(last.index);
            let (done, failed) = (before + done, expected.saturating_sub(before + done));
            let end = Place { at, index: last.index, rank: Rank::PhaseEnded };
            placed.push((end, Signal::PhaseEnded { phase, round, done, failed }));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(place, signal)| Moment { at: Duration::from_millis(place.at), signal }).collect()
}

/// Where a signal belongs: at a time, there beside an event, there in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: u64,
    index: usize,
    rank: Rank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    PhaseStarted,
    CallStarted,
    Event,
    PhaseAfterNode,
    CallEnded,
    PhaseEnded,
}

/// When each event is shown, in milliseconds from the beginning.
struct Clock {
    times: Vec<u64>,
    /// When the stretch began in which the event happened: nothing that led to it began earlier.
    since: Vec<u64>,
    /// Which run it belongs to.
    runs: Vec<usize>,
}

impl Clock {
    fn of(events: &[Recorded]) -> Self {
        let mut clock = Self { times: Vec::new(), since: Vec::new(), runs: Vec::new() };
        let (mut now, mut since, mut run, mut resting) = (0, 0, 0, false);
        let mut previous: Option<&Recorded> = None;
        for recorded in events {
            let passed = previous.map_or(0, |previous| recorded.at.millis_since(previous.at));
            let resumed = recorded.event == Event::Resumed;
            run += usize::from(resumed);
            if resumed || resting {
                now += passed.min(LONGEST_REST);
                since = now;
            } else {
                now += passed;
            }
            resting = match &recorded.event {
                Event::Suspended { .. } | Event::Paused | Event::Failed { .. } => true,
                Event::QuestionAnswered { .. } => resting,
                _ => false,
            };
            clock.times.push(now);
            clock.since.push(since);
            clock.runs.push(run);
            previous = Some(recorded);
        }
        clock
    }

    fn time(&self, index: usize) -> u64 {
        self.times.get(index).copied().unwrap_or_default()
    }

    /// When something began that took so long until this event.
    fn before(&self, index: usize, took: u64) -> u64 {
        self.time(index).saturating_sub(took).max(self.since.get(index).copied().unwrap_or_default())
    }

    fn run(&self, index: usize) -> usize {
        self.runs.get(index).copied().unwrap_or_default()
    }

    /// Whether the run went on to another node behind that event, or to its end.
    fn goes_on(&self, events: &[Recorded], index: usize) -> bool {
        let behind =
            events.iter().enumerate().skip(index + 1).take_while(|(other, _)| self.run(*other) == self.run(index));
        behind.into_iter().any(|(_, recorded)| {
            matches!(
                recorded.event,
                Event::NodeEntered { .. } | Event::Synthesized { .. } | Event::Failed { .. } | Event::Completed
            )
        })
    }
}

/// A result, and what led to it.
struct Work {
    key: CallKey,
    run: usize,
    /// The event that holds it.
    index: usize,
    /// When its first call began.
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
        }
    }
}

fn works(events: &[Recorded], clock: &Clock) -> Vec<Work> {
    let mut works = Vec::new();
    let mut round = 0;
    // Calls whose first reply was no result yet.
    let mut begun: BTreeMap<(usize, CallKey), u64> = BTreeMap::new();
    let judge = events.iter().find_map(|recorded| match &recorded.event {
        Event::Created(created) => Some(created.settings.judge.id.clone()),
        _ => None,
    });
    for (index, recorded) in events.iter().enumerate() {
        let run = clock.run(index);
        let key = |round, phase, agent: &super::AgentId| CallKey {
            round,
            phase,
            agent_id: agent.clone(),
            target_agent_id: None,
        };
        let (key, error) = match (&recorded.event, &judge) {
            (Event::RoundBegun { round: new }, _) => {
                round = *new;
                continue;
            }
            (Event::Replied { key, call, .. }, _) => {
                let start = clock.before(index, call.latency_ms);
                begun.entry((run, key.clone())).or_insert(start);
                continue;
            }
            (Event::QuestionsAsked { questions, .. }, _) => (key(0, Phase::Clarification, &questions.agent_id), None),
            (Event::Summarized { round, summary, .. }, _) => {
                (key(*round, Phase::Summarization, &summary.agent_id), None)
            }
            (Event::Contributed { round, contribution, .. }, _) => {
                let Some(phase) = contribution.kind.phase() else { continue };
                let target = contribution.target_agent_id.clone().filter(|_| phase == Phase::Critique);
                (CallKey { target_agent_id: target, ..key(*round, phase, &contribution.agent_id) }, None)
            }
            (Event::CallFailed { failure, .. }, _) => {
                let target = failure.target_agent_id.clone();
                let key = CallKey { target_agent_id: target, ..key(failure.round, failure.phase, &failure.agent_id) };
                (key, Some(failure.error.clone()))
            }
            (Event::Evaluated { round, .. }, Some(judge)) => (key(*round, Phase::Evaluation, judge), None),
            (Event::JudgeSummarized { .. }, Some(judge)) => (key(round, Phase::JudgeSummary, judge), None),
            (Event::Synthesized { .. }, Some(judge)) => (key(round, Phase::Synthesis, judge), None),
            _ => continue,
        };
        let call = recorded.event.call();
        let carried_over = matches!(&recorded.event, Event::Contributed { call: None, .. });
        // A score or a solution that took no call of its own was shown by nothing but its event.
        if call.is_none() && error.is_none() && !carried_over {
            continue;
        }
        let first = begun.remove(&(run, key.clone()));
        // What was taken over from another debate took its time there.
        let copied = call.is_some_and(|call| call.copied);
        let took = call.filter(|call| !call.copied).map_or(0, |call| call.latency_ms);
        let start = first.unwrap_or_else(|| clock.before(index, took));
        works.push(Work {
            key,
            run,
            index,
            begun: start,
            model: call.map(|call| call.model.clone()).unwrap_or_default(),
            call: call.cloned(),
            error,
            was_called: !carried_over && !copied,
        });
    }
    works
}

/// The event that entered the phase's node, where the phase begins with it.
fn entered(events: &[Recorded], clock: &Clock, run: usize, first: &Work, phase: Phase) -> Option<usize> {
    let node = match phase {
        Phase::Clarification => Node::Clarification,
        Phase::Summarization => Node::Summarization,
        Phase::Proposal => Node::Proposal,
        Phase::Critique => Node::Critique,
        Phase::Refinement => Node::Refinement,
        Phase::Evaluation => Node::Evaluation,
        Phase::Vote => Node::Synthesis,
        Phase::JudgeSummary | Phase::Synthesis => return None,
    };
    let before = events.iter().enumerate().take(first.index).rev();
    let mut before = before.take_while(|(index, _)| clock.run(*index) == run);
    before.find(|(_, recorded)| recorded.event == Event::NodeEntered { node }).map(|(index, _)| index)
}

/// How many results a phase of a round has when nothing fails; nothing where that is not known beforehand.
fn expected(settings: Option<&Settings>, phase: Phase) -> Option<usize> {
    let agents = settings?.agents.iter().map(|agent| &agent.id).collect::<BTreeSet<_>>().len();
    match phase {
        Phase::Proposal | Phase::Refinement => Some(agents),
        Phase::Critique => Some(agents * agents.saturating_sub(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::{Value, json};

    use super::*;

    fn event(seq: u64, at: i64, event: Value) -> Recorded {
        let at = DateTime::from_timestamp_millis(at).unwrap().into();
        Recorded { seq, at, event: serde_json::from_value(event).unwrap() }
    }

    fn events(list: &[(i64, Value)]) -> Vec<Recorded> {
        list.iter().zip(1..).map(|((at, value), seq)| event(seq, *at, value.clone())).collect()
    }

    fn contributed(kind: &str, agent: &str, target: Option<&str>, latency: u64) -> Value {
        json!({
            "type": "contributed", "round": 1,
            "contribution": {
                "agentId": agent, "agentRole": "kiss", "type": kind, "content": "x", "targetAgentId": target,
            },
            "call": {"model": "m", "provider": "p", "latencyMs": latency, "attempts": 1},
        })
    }

    fn entered(node: &str) -> Value {
        json!({"type": "node-entered", "node": node})
    }

    /// Time, and what is to be seen.
    fn shown(list: &[(i64, Value)]) -> String {
        let name = |signal: &Signal| {
            let value = serde_json::to_value(signal).unwrap();
            let about = |key: &str| value.pointer(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut words = vec![about("/signal"), about("/type"), about("/node"), about("/phase")];
            words.extend(["/key/phase", "/key/agentId", "/key/targetAgentId", "/contribution/agentId"].map(about));
            words.extend(["/total", "/done", "/failed", "/error"].map(|key| {
                value.pointer(key).filter(|value| !value.is_null()).map(Value::to_string).unwrap_or_default()
            }));
            words.retain(|word| !word.is_empty());
            words.join(" ")
        };
        let lines =
            timeline(&events(list)).into_iter().map(|one| format!("{:>5} {}", one.at.as_millis(), name(&one.signal)));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn calls_begin_as_long_before_their_result_as_they_took() {
        let list = [
            (0, json!({"type": "round-begun", "round": 1})),
            (10, entered("proposal")),
            (110, contributed("proposal", "a", None, 99)),
            (130, contributed("critique", "b", Some("a"), 15)),
            (200, contributed("proposal", "b", None, 189)),
            (200, entered("critique")),
            (260, contributed("critique", "a", Some("b"), 50)),
            (260, entered("refinement")),
        ];
        insta::assert_snapshot!(shown(&list), @"
              0 recorded round-begun
             10 recorded node-entered proposal
             10 phase-started proposal 2
             11 call-started proposal a
             11 call-started proposal b
            110 recorded contributed a
            110 call-ended proposal a
            115 phase-started critique 2
            115 call-started critique b a
            130 recorded contributed b
            130 call-ended critique b a
            200 recorded contributed b
            200 call-ended proposal b
            200 phase-ended proposal 2 0
            200 recorded node-entered critique
            210 call-started critique a b
            260 recorded contributed a
            260 call-ended critique a b
            260 phase-ended critique 2 0
            260 recorded node-entered refinement
            ");
    }

    #[test]
    fn rests_are_cut_and_no_call_reaches_back_over_them() {
        let reply = json!({
            "type": "replied", "key": {"round": 1, "phase": "proposal", "agentId": "a"},
            "reply": {"text": "?"}, "call": {"model": "m", "provider": "p", "latencyMs": 40, "attempts": 1},
        });
        let failed = json!({
            "type": "call-failed",
            "failure": {
                "agentId": "b", "phase": "proposal", "round": 1, "error": "gone", "attempts": 1,
                "at": "2025-01-01T00:00:00.000Z",
            },
        });
        let list = [
            (0, json!({"type": "round-begun", "round": 1})),
            (0, entered("proposal")),
            (50, reply.clone()),
            (60, json!({"type": "paused"})),
            (9_000_000, json!({"type": "resumed"})),
            (9_000_001, entered("proposal")),
            (9_000_050, reply),
            (9_000_090, contributed("proposal", "a", None, 30)),
            (9_000_100, failed),
            // Killed here, and a clock that was set back.
            (8_000_000, json!({"type": "resumed"})),
            (8_000_010, json!({"type": "completed"})),
        ];
        insta::assert_snapshot!(shown(&list), @r#"
               0 recorded round-begun
               0 recorded node-entered proposal
              50 recorded replied proposal a
              60 recorded paused
            1060 recorded resumed
            1061 recorded node-entered proposal
            1061 phase-started proposal 2
            1070 call-started proposal a
            1110 recorded replied proposal a
            1150 recorded contributed a
            1150 call-ended proposal a
            1160 call-started proposal b
            1160 recorded call-failed
            1160 call-ended proposal b "gone"
            1160 recorded resumed
            1170 recorded completed
            "#);
    }

    #[test]
    fn nothing_is_shown_of_nothing() {
        assert!(timeline(&[]).is_empty());
    }
}
