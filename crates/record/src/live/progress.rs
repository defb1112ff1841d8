//! The progress of a running debate, computed from its signals and shared by all views. This module reads neither a
//! terminal nor a clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Signal;
use crate::answer::{Poll, Polls};
use crate::debate::{Debate, ModelUsage};
use crate::event::Event;
use crate::ids::{AgentId, CallKey, CallStatus, StageId, StageInfo, StageWords, stage};
use crate::settings::{AgentSettings, Settings};

/// The number of bytes to keep from the end of a partial answer: more than a line can show.
const KEPT: usize = 600;

#[derive(Debug, Clone)]
pub struct Progress {
    panel: PanelInfo,
    begun: Instant,
    round: u32,
    stage: Option<StageId>,
    stages: BTreeMap<StagePosition, (StageId, StageProgress)>,
    /// The rounds and stages in the order in which they started.
    begun_stages: Vec<(u32, StageId)>,
    calls: BTreeMap<CallKey, CallInFlight>,
    polls: Vec<Poll>,
    /// Calls that failed permanently. In a poll, a failed call is a missing vote.
    failed: Vec<CallKey>,
    spent: ModelUsage,
    is_running: bool,
    /// The number of calls that are waiting for an unreachable server.
    waiting: usize,
}

/// The round, the rank of the stage that makes the calls, and the index in `begun_stages`.
type StagePosition = (u32, usize, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageProgress {
    pub total: usize,
    pub done: usize,
    pub failed: usize,
    pub is_over: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInFlight {
    pub since: Instant,
    pub retry: Option<Retry>,
    /// Empty if answers are not streamed.
    pub words: WordsSoFar,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordsSoFar {
    /// The number of words so far. A word that arrives in several pieces is counted once.
    pub count: u64,
    /// The last part of the answer so far: unsanitized model output, at most `KEPT` bytes.
    pub end: String,
}

impl WordsSoFar {
    pub fn append(&mut self, text: &str) {
        let mut in_word = self.end.chars().next_back().is_some_and(|c| !c.is_whitespace());
        for c in text.chars() {
            self.count += u64::from(!in_word && !c.is_whitespace());
            in_word = !c.is_whitespace();
        }
        self.end.push_str(text);
        let surplus = self.end.len().saturating_sub(KEPT);
        let cut = (surplus..=self.end.len()).find(|place| self.end.is_char_boundary(*place));
        self.end.drain(..cut.unwrap_or(0));
    }
}

impl CallInFlight {
    fn new(since: Instant) -> Self {
        Self { since, retry: None, words: WordsSoFar::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The number of this retry within its call, from 1.
    pub number: u32,
    pub due: Instant,
    pub error: String,
}

impl Progress {
    pub fn new(panel: PanelInfo, now: Instant) -> Self {
        Self {
            spent: panel.spent,
            polls: panel.polls.clone(),
            failed: Vec::new(),
            panel,
            begun: now,
            round: 0,
            stage: None,
            stages: BTreeMap::new(),
            begun_stages: Vec::new(),
            calls: BTreeMap::new(),
            is_running: true,
            waiting: 0,
        }
    }

    pub fn see(&mut self, signal: &Signal, now: Instant) {
        match signal {
            Signal::Recorded(recorded) => self.see_event(&recorded.event),
            Signal::StageStarted { stage, round, total } => {
                self.round = self.round.max(*round);
                if !self.begun_stages.contains(&(*round, *stage)) {
                    self.begun_stages.push((*round, *stage));
                }
                let Some(place) = self.place(*round, *stage) else { return };
                let (_, progress) = self.stages.entry(place).or_insert((*stage, StageProgress::default()));
                // A stage that starts again after its end counts only its remaining calls.
                *progress = StageProgress {
                    total: *total,
                    ..if progress.is_over { StageProgress::default() } else { *progress }
                };
            }
            Signal::StageEnded { stage, round, .. } => {
                if let Some(progress) = self.progress_of(*round, *stage) {
                    progress.is_over = true;
                }
            }
            Signal::CallStarted { key, .. } => {
                self.calls.insert(key.clone(), CallInFlight::new(now));
            }
            Signal::CallRetrying { key, attempt, error, wait } => {
                let retry = Retry { number: *attempt, due: now + *wait, error: error.clone() };
                let call = self.calls.entry(key.clone()).or_insert_with(|| CallInFlight::new(now));
                *call = CallInFlight { retry: Some(retry), ..CallInFlight::new(call.since) };
            }
            Signal::Words { key, text } => {
                if let Some(call) = self.calls.get_mut(key) {
                    call.words.append(text);
                }
            }
            Signal::CallEnded { key, .. } => {
                self.calls.remove(key);
            }
            Signal::ServerGone { calls, .. } => self.waiting = *calls,
            Signal::ServerBack => self.waiting = 0,
            Signal::Gap(gap) => self.clone_from(&gap.progress),
            Signal::RoundEnded { .. } | Signal::Warning { .. } => {}
        }
    }

    fn see_event(&mut self, event: &Event) {
        if let Some((key, settled)) = event.settles()
            && let Some(progress) = self.progress_of(key.round, key.stage)
        {
            match settled {
                CallStatus::Done | CallStatus::Empty => progress.done += 1,
                CallStatus::Failed => progress.failed += 1,
            }
        }
        if let Some(call) = event.call().filter(|call| !call.copied) {
            self.spent.count(call);
        }
        match event {
            Event::StageEntered { stage } => {
                self.stage = Some(*stage);
                self.is_running = true;
                // A debate that enters a stage is no longer waiting for a server.
                self.waiting = 0;
            }
            Event::RoundBegun { round, .. } => {
                self.round = *round;
                // A protocol may run more rounds than configured.
                self.panel.rounds = self.panel.rounds.max(*round);
                // Drop the stages of earlier rounds, even those that were abandoned before their end.
                self.stages.retain(|(of, ..), _| of >= round);
            }
            Event::Polled { key, vote, reason, .. } => Poll::cast(&mut self.polls, key, vote, reason),
            Event::CallFailed { failure, .. } => self.failed.push(failure.key.clone()),
            Event::Reopened { keys } => {
                self.failed.retain(|key| !keys.contains(key));
                for key in keys {
                    if let Some(progress) = self.progress_of(key.round, key.stage) {
                        progress.failed = progress.failed.saturating_sub(1);
                        progress.is_over = false;
                    }
                }
            }
            Event::Resumed(_) => self.is_running = true,
            Event::Suspended { .. } | Event::Paused | Event::Failed { .. } | Event::Completed { .. } => {
                self.is_running = false;
                self.waiting = 0;
                self.calls.clear();
            }
            _ => {}
        }
    }

    pub fn panel(&self) -> &PanelInfo {
        &self.panel
    }

    /// The number of the current round; 0 before the first.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// What the debate has used so far, including earlier runs.
    pub fn spent(&self) -> ModelUsage {
        self.spent
    }

    /// The time since the debate started or resumed.
    pub fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    pub fn waiting_for_server(&self) -> usize {
        self.waiting
    }

    /// False while the debate is paused or waiting for the user, and after its end.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The stages of the current round that have started, in protocol order. Kinds of call within one stage are in the
    /// order in which they started.
    pub fn stages(&self) -> impl Iterator<Item = (StageId, StageProgress)> {
        let present = self.stages.iter().filter(|((round, ..), _)| *round == self.round);
        present.map(|(_, (stage, progress))| (*stage, *progress))
    }

    /// The debate's polls; `None` unless there were at least two and `stage` held the last of them.
    pub fn polls_compared_in(&self, stage: StageId) -> Option<Polls<'_>> {
        let polls = Polls::among(&self.polls, &self.failed, |stage| self.panel.stage_rank(stage))?;
        (polls.is_compared() && polls.held.last()?.stage == stage).then_some(polls)
    }

    /// The last stage that was entered; `None` before the first.
    pub fn stage(&self) -> Option<StageId> {
        self.stage
    }

    /// The agents that have calls in flight, in the panel's order and with the judge last. Each agent's calls are
    /// sorted by round, stage and target.
    pub fn busy(&self) -> Vec<(&AgentId, Vec<(&CallKey, &CallInFlight)>)> {
        let of = |id: &AgentId| {
            let mut calls: Vec<_> = self.calls.iter().filter(|(key, _)| key.agent_id == *id).collect();
            calls.sort_by_key(|(key, _)| (key.round, self.panel.place_rank(key.stage)));
            calls
        };
        self.panel
            .participants()
            .map(|participant| (&participant.id, of(&participant.id)))
            .filter(|(_, calls)| !calls.is_empty())
            .collect()
    }

    fn place(&self, round: u32, stage: StageId) -> Option<StagePosition> {
        let began = self.begun_stages.iter().position(|begun| *begun == (round, stage))?;
        Some((round, self.panel.place_rank(stage), began))
    }

    fn progress_of(&mut self, round: u32, stage: StageId) -> Option<&mut StageProgress> {
        let place = self.place(round, stage)?;
        self.stages.get_mut(&place).map(|(_, progress)| progress)
    }
}

/// The participants and stages of a displayed debate, and the spending and votes before its first signal.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelInfo {
    /// The debaters. Their texts are numbered in this order.
    pub agents: Vec<AgentSettings>,
    pub judge: AgentSettings,
    /// The maximum number of rounds; the protocol may run more.
    pub rounds: u32,
    pub stages: Arc<[StageInfo]>,
    pub spent: ModelUsage,
    pub polls: Vec<Poll>,
}

impl PanelInfo {
    pub fn new(settings: &Settings, stages: Arc<[StageInfo]>) -> Self {
        Self {
            agents: settings.agents.clone(),
            judge: settings.judge.clone(),
            rounds: settings.debate.rounds,
            stages,
            spent: ModelUsage::NONE,
            polls: Vec::new(),
        }
    }

    pub fn in_order_of_numbers(mut self, debate: &Debate) -> Self {
        let number = debate.text_numbers();
        self.agents.sort_by_key(|agent| number(&agent.id).unwrap_or(u32::MAX));
        self
    }

    pub fn resuming(self, debate: &Debate) -> Self {
        Self {
            spent: debate.total_usage(),
            rounds: self.rounds.max(debate.current_round),
            polls: debate.polls.clone(),
            ..self.in_order_of_numbers(debate)
        }
    }

    pub fn stage(&self, id: StageId) -> Option<&StageInfo> {
        self.stages.iter().find(|stage| stage.id == id)
    }

    pub fn stage_rank(&self, id: StageId) -> usize {
        self.stages.iter().position(|stage| stage.id == id).unwrap_or(self.stages.len())
    }

    pub fn place_rank(&self, id: StageId) -> usize {
        stage::place_rank(&self.stages, id)
    }

    pub fn words(&self, id: StageId) -> StageWords {
        stage::words(&self.stages, id)
    }

    pub fn participants(&self) -> impl Iterator<Item = &AgentSettings> {
        self.agents.iter().chain([&self.judge])
    }

    /// Returns the number of an agent's text, or `None` for the judge.
    pub fn number(&self, id: &AgentId) -> Option<usize> {
        Some(self.agents.iter().position(|agent| agent.id == *id)? + 1)
    }

    pub fn name<'a>(&'a self, id: &'a AgentId) -> &'a str {
        self.participants().find(|participant| participant.id == *id).map_or(id.as_str(), |found| &found.name)
    }
}

#[cfg(test)]
mod tests {
    use dialectic_base::money::BudgetLimit;

    use super::*;
    use crate::debate::fixture::{
        self, CRITIQUE, EVALUATION, PROPOSAL, call_ended, call_failed, call_started, contributed, panel, recorded,
        retrying, round_begun, stage_ended, stage_started, words,
    };
    use dialectic_base::call::CallRecord;
    use dialectic_base::money::Usd;

    fn progress_after(signals: &[Signal]) -> (Progress, Instant) {
        let now = Instant::now();
        let mut progress = Progress::new(panel(), now);
        for signal in signals {
            progress.see(signal, now);
        }
        (progress, now)
    }

    /// The first running stage of the round.
    fn running(progress: &Progress) -> Option<(StageId, StageProgress)> {
        progress.stages().find(|(_, so_far)| so_far.total > 0 && !so_far.is_over)
    }

    #[test]
    fn the_earliest_unfinished_stage_is_the_one_shown() {
        let mut signals = vec![
            round_begun(1),
            stage_started(PROPOSAL, 3),
            contributed(PROPOSAL, "agent-kiss", None),
            stage_started(CRITIQUE, 6),
            contributed(CRITIQUE, "agent-kiss", Some("agent-architect")),
        ];
        let proposal = StageProgress { total: 3, done: 1, ..StageProgress::default() };
        assert_eq!(running(&progress_after(&signals).0), Some((PROPOSAL, proposal)));
        signals.push(stage_ended(PROPOSAL, 0, 0));
        let critique = StageProgress { total: 6, done: 1, ..StageProgress::default() };
        assert_eq!(running(&progress_after(&signals).0), Some((CRITIQUE, critique)));
        signals.push(stage_ended(CRITIQUE, 0, 0));
        assert_eq!(running(&progress_after(&signals).0), None);
    }

    #[test]
    fn stages_that_are_unknown_are_told_apart_and_come_last() {
        let [first, second] = ["encore", "after-party"].map(StageId::new);
        let mut signals = vec![stage_started(first, 1), stage_started(second, 2), stage_ended(second, 2, 0)];
        let progress = StageProgress { total: 1, ..StageProgress::default() };
        assert_eq!(running(&progress_after(&signals).0), Some((first, progress)));
        signals.push(stage_started(CRITIQUE, 1));
        assert_eq!(running(&progress_after(&signals).0), Some((CRITIQUE, progress)));
    }

    #[test]
    fn a_round_behind_the_last_is_one_more_of_them() {
        let rounds = |signals: &[Signal]| progress_after(signals).0.panel().rounds;
        assert_eq!(rounds(&[round_begun(3)]), 3);
        assert_eq!(rounds(&[round_begun(3), round_begun(4)]), 4);
    }

    #[test]
    fn within_one_place_stages_are_in_the_order_in_which_they_began() {
        let [opening, examination, rebuttal] = ["opening", "cross-examination", "rebuttal"].map(StageId::new);
        let now = Instant::now();
        let panel = PanelInfo { stages: crate::protocol::LINCOLN_DOUGLAS.infos(), ..panel() };
        let mut progress = Progress::new(panel, now);
        for signal in [rebuttal, opening, examination].map(|stage| stage_started(stage, 1)) {
            progress.see(&signal, now);
        }
        let shown: Vec<StageId> = progress.stages().map(|(stage, _)| stage).collect();
        assert_eq!(shown, [opening, examination, rebuttal]);
    }

    #[test]
    fn a_stage_that_never_ended_goes_with_its_round() {
        let (progress, _) = progress_after(&[round_begun(1), stage_started(CRITIQUE, 6), round_begun(2)]);
        assert_eq!((progress.round(), running(&progress)), (2, None));
    }

    #[test]
    fn failures_are_counted_apart_and_cost_nothing() {
        let (progress, _) = progress_after(&[
            stage_started(PROPOSAL, 3),
            contributed(PROPOSAL, "agent-kiss", None),
            fixture::failed(PROPOSAL, "agent-architect", None, "no answer"),
        ]);
        let expected = StageProgress { total: 3, done: 1, failed: 1, ..StageProgress::default() };
        assert_eq!(running(&progress), Some((PROPOSAL, expected)));
        assert_eq!(progress.spent(), used(1, 0, Some(Usd::from_dollars(0.01))));
    }

    /// The usage of that many calls of the fixture; `silent_calls` lack token counts.
    fn used(requests: u64, silent_calls: u64, cost_usd: Option<Usd>) -> ModelUsage {
        let told = requests - silent_calls;
        let (input_tokens, output_tokens) = (1_000 * told, 434 * told);
        ModelUsage { requests, input_tokens, output_tokens, cost_usd, silent_calls, ..ModelUsage::NONE }
    }

    #[test]
    fn one_unknown_cost_makes_the_total_unknown() {
        let (progress, _) = progress_after(&[
            contributed(PROPOSAL, "agent-kiss", None),
            fixture::contributed_unpriced(PROPOSAL, "agent-architect"),
            contributed(PROPOSAL, "agent-kiss", None),
        ]);
        assert_eq!(progress.spent(), used(3, 0, None));
    }

    #[test]
    fn busy_agents_come_in_the_panels_order_with_all_their_calls() {
        let (progress, now) = progress_after(&[
            call_started(EVALUATION, "judge", None),
            call_started(CRITIQUE, "agent-kiss", Some("agent-performance")),
            call_started(CRITIQUE, "agent-kiss", Some("agent-architect")),
            call_started(PROPOSAL, "agent-architect", None),
            call_ended(PROPOSAL, "agent-architect", None),
            retrying(CRITIQUE, "agent-kiss", Some("agent-architect"), "rate limited"),
        ]);
        let busy = progress.busy();
        let seen: Vec<_> = busy.iter().map(|(id, calls)| (id.as_str(), calls.len())).collect();
        assert_eq!(seen, [("agent-kiss", 2), ("judge", 1)]);
        let retry = Retry { number: 2, due: now + Duration::from_secs(4), error: "rate limited".to_owned() };
        assert_eq!(busy[0].1[0].1.retry, Some(retry));
        assert_eq!(busy[0].1[1].1.retry, None);
    }

    #[test]
    fn words_are_counted_until_a_retry_and_only_for_calls_in_flight() {
        let (architect, kiss) = ("agent-architect", "agent-kiss");
        let mut signals = vec![
            call_started(PROPOSAL, architect, None),
            words(PROPOSAL, architect, None, "one two th"),
            words(PROPOSAL, architect, None, "ree four"),
            words(PROPOSAL, kiss, None, "of a call that has come back"),
        ];
        let (progress, _) = progress_after(&signals);
        let busy = progress.busy();
        assert_eq!((busy.len(), busy[0].1[0].1.words.count), (1, 4));
        signals.push(retrying(PROPOSAL, architect, None, "the stream was silent"));
        assert_eq!(progress_after(&signals).0.busy()[0].1[0].1.words.count, 0);
        signals.push(words(PROPOSAL, architect, None, "once more"));
        let (progress, now) = progress_after(&signals);
        let call = progress.busy()[0].1[0].1.clone();
        assert_eq!((call.words.count, call.retry.map(|retry| retry.number), call.since), (2, Some(2), now));
    }

    #[test]
    fn nothing_is_busy_while_the_debate_rests() {
        let mut signals = vec![
            call_started(PROPOSAL, "agent-kiss", None),
            call_failed(PROPOSAL, "agent-architect", None, "gone"),
            recorded(Event::Paused),
        ];
        let (progress, _) = progress_after(&signals);
        assert!(!progress.is_running() && progress.busy().is_empty());
        signals.push(recorded(Event::Resumed(BudgetLimit::default())));
        assert!(progress_after(&signals).0.is_running());
    }

    /// A contribution whose call was changed.
    fn paid(change: fn(&mut CallRecord)) -> Signal {
        let Signal::Recorded(paid) = contributed(PROPOSAL, "agent-kiss", None) else { panic!("it is recorded") };
        let mut event = paid.event.clone();
        let Event::Contributed { call: Some(call), .. } = &mut event else { panic!("it took a call") };
        change(call);
        recorded(event)
    }

    #[test]
    fn calls_that_do_not_say_what_they_took_are_counted_beside_the_sum() {
        let silent = paid(|call| call.tokens = None);
        let (progress, _) = progress_after(&[contributed(PROPOSAL, "agent-architect", None), silent]);
        assert_eq!(progress.spent(), used(2, 1, Some(Usd::from_dollars(0.02))));
    }

    #[test]
    fn what_another_debate_paid_for_costs_nothing() {
        let (progress, _) = progress_after(&[paid(|call| call.copied = true)]);
        assert_eq!(progress.spent(), ModelUsage::NONE);
    }

    #[test]
    fn a_resumed_debate_goes_on_from_what_it_spent() {
        let before = used(7, 0, None);
        let now = Instant::now();
        let mut progress = Progress::new(PanelInfo { spent: before, ..panel() }, now);
        progress.see(&contributed(PROPOSAL, "agent-kiss", None), now);
        assert_eq!(progress.spent(), used(8, 0, None));
    }
}
