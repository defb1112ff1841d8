//! Unreachable servers: which calls wait for them, when the debate continues without them, and how the debate waits.
//!
//! A call that failed because its server is unreachable stays undecided. Once no other call to its provider is in
//! flight, the call fails if enough of the panel is reachable; otherwise the debate waits or pauses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foldhash::{HashMap, HashSet};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep_until};

use dialectic_llm::{Caller, FailedCall, ModelError};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{AgentId, CallKey, CallStatus, ResultKind, StageId};
use dialectic_record::live::Signal;
use dialectic_record::protocol::{PromptContext, Step, Trigger};

use super::{Engine, EngineError};

/// The minimum number of agents needed to continue. A smaller team needs all of its agents.
const FEWEST_AGENTS: usize = 2;
/// The maximum number of times to repeat a call on a server that answers other calls but not this one.
const MOST_RETURNS: u32 = 2;
/// The maximum number of times in a row that servers may become reachable without answering a call. The run then ends.
const MOST_IN_VAIN: u32 = 3;
/// The delay before the first check of a server; doubles with each check.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The delay before the first check of a server that came back but failed to answer the repeated call.
const WAIT_IN_VAIN: Duration = Duration::from_secs(15);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Whether to wait for a server and continue when it is back; otherwise an outage ends the run.
    pub(super) can_wait: bool,
    pub(super) ends_run: bool,
    answered: HashSet<String>,
    /// Failed calls, which are repeated when their server is back. A call fails for good if the debate can continue
    /// without its result.
    waiting: BTreeMap<CallKey, WaitingCall>,
    unreachable: BTreeSet<Arc<str>>,
    /// Agents whose last call failed at an upstream server, although their provider responded.
    cut_off: BTreeSet<AgentId>,
    /// The number of times that each call was repeated because its provider answered another call.
    returned: HashMap<CallKey, u32>,
    /// The number of times in a row that servers became reachable without answering a call.
    in_vain: u32,
    wait: Option<Duration>,
}

#[derive(Debug)]
struct WaitingCall {
    step: Step,
    failed: FailedCall,
    provider: Arc<str>,
}

impl WaitingCall {
    /// True if the provider is unreachable or reports a usage limit; false if the provider responded but its upstream
    /// server did not.
    fn is_for_connection(&self) -> bool {
        matches!(self.failed.error, ModelError::Unreachable { .. } | ModelError::UsageLimit { .. })
    }
}

impl Outage {
    pub(super) fn of(past: &[Recorded]) -> Self {
        let is_answer = |event: &Event| !matches!(event, Event::AttemptFailed { .. } | Event::CallFailed { .. });
        let calls = past.iter().filter(|of| is_answer(&of.event)).filter_map(|of| of.event.call());
        Self {
            answered: calls.filter(|call| !call.copied).map(|call| call.provider.clone()).collect(),
            ..Self::default()
        }
    }

    /// Forgets everything except which providers have answered and whether to wait, because a new run retries all
    /// calls.
    pub(super) fn begin_run(&mut self) {
        let (can_wait, answered) = (self.can_wait, std::mem::take(&mut self.answered));
        *self = Self { can_wait, answered, ..Self::default() };
    }

    /// Drops the waiting calls, because a debate that closes early does not wait for servers.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn waits(&self, key: &CallKey) -> bool {
        self.waiting.contains_key(key)
    }

    /// Providers that receive no new calls until their waiting calls are decided.
    pub(super) fn providers(&self) -> BTreeSet<Arc<str>> {
        self.waiting.values().map(|waiting| Arc::clone(&waiting.provider)).collect()
    }

    /// Whether all waiting calls wait for a subscription's usage limit; false if no calls wait.
    pub(super) fn is_limit(&self) -> bool {
        let is_limit = |waiting: &WaitingCall| waiting.failed.error.is_used_up();
        !self.waiting.is_empty() && self.waiting.values().all(is_limit)
    }

    pub(super) fn heard(&mut self, provider: &str) {
        if !self.answered.contains(provider) {
            self.answered.insert(provider.to_owned());
        }
        self.unreachable.remove(provider);
        (self.in_vain, self.wait) = (0, None);
    }

    /// Notes that the provider answered a call of `agent`. Repeats the calls that wait for this provider's connection,
    /// each at most [`MOST_RETURNS`] times.
    pub(super) fn answered(&mut self, agent: &AgentId, provider: &str) {
        self.heard(provider);
        self.cut_off.remove(agent);
        let returned = &mut self.returned;
        self.waiting.retain(|key, waiting| {
            let returns = returned.entry(key.clone()).or_default();
            let goes_back = *waiting.provider == *provider && waiting.is_for_connection() && *returns < MOST_RETURNS;
            *returns += u32::from(goes_back);
            !goes_back
        });
    }

    fn is_back(&mut self, provider: &str) {
        self.unreachable.remove(provider);
        self.waiting.retain(|key, waiting| {
            let stays = *waiting.provider != *provider;
            if !stays {
                self.cut_off.remove(&key.agent_id);
            }
            stays
        });
    }

    fn next_wait(&mut self) -> Duration {
        let first = if self.in_vain > 1 { WAIT_IN_VAIN } else { FIRST_WAIT };
        let wait = self.wait.unwrap_or(first).max(first);
        self.wait = Some((wait * 2).min(LONGEST_WAIT));
        wait
    }
}

impl Engine {
    fn provider_of(&self, id: &AgentId) -> Option<Arc<str>> {
        self.panel.agent(id).map(|agent| Arc::clone(&agent.caller.provider))
    }

    pub(super) fn note_answered(&mut self, key: &CallKey) {
        if let Some(provider) = self.provider_of(&key.agent_id) {
            self.outage.answered(&key.agent_id, &provider);
        }
    }

    /// Returns whether the failed call will wait for its server, and if so, adds it to the waiting calls. False if the
    /// provider has neither answered a call nor reported a usage limit, because the provider may not exist.
    pub(super) fn waits_for_server(&mut self, step: &Step, failed: &FailedCall) -> bool {
        let key = &step.key;
        let Some(provider) = self.provider_of(&key.agent_id) else { return false };
        // A provider that reports a usage limit exists.
        let is_there = failed.error.is_used_up() || self.outage.answered.contains(&*provider);
        if !failed.error.is_server_gone() || !is_there {
            return false;
        }
        let waiting = WaitingCall { step: step.clone(), failed: failed.clone(), provider };
        if waiting.is_for_connection() {
            self.outage.unreachable.insert(Arc::clone(&waiting.provider));
        } else {
            self.outage.cut_off.insert(key.agent_id.clone());
        }
        self.outage.waiting.insert(key.clone(), waiting);
        true
    }

    /// Whether the judge and enough agents are reachable. Agents that have not been called yet are assumed to be
    /// reachable.
    fn has_enough_agents(&self) -> bool {
        let can_reach = |id: &AgentId| {
            let is_there = |provider: Arc<str>| !self.outage.unreachable.contains(&provider);
            !self.outage.cut_off.contains(id) && self.provider_of(id).is_some_and(is_there)
        };
        let team = self.debate().team();
        let enough = team.len().min(FEWEST_AGENTS);
        team.iter().filter(|agent| can_reach(&agent.id)).count() >= enough && can_reach(&self.panel.judge.settings.id)
    }

    pub(super) fn is_waiting_for_servers(&self) -> bool {
        !self.outage.waiting.is_empty() && !self.has_enough_agents()
    }

    /// Records waiting calls as failed if enough agents are reachable. Does not do so while the call's provider has
    /// other calls in flight, because an answer would show that the provider is back. Returns whether any call was
    /// recorded as failed.
    pub(super) fn fail_unreachable_calls(&mut self) -> Result<bool, EngineError> {
        if self.outage.waiting.is_empty() || !self.has_enough_agents() {
            return Ok(false);
        }
        let in_flight: BTreeSet<_> = self.calls.keys().filter_map(|key| self.provider_of(&key.agent_id)).collect();
        let is_over = |waiting: &WaitingCall| !in_flight.contains(&waiting.provider);
        let over = self.outage.waiting.iter().filter(|(_, waiting)| is_over(waiting));
        let over: Vec<CallKey> = over.map(|(key, _)| key.clone()).collect();
        for key in &over {
            if let Some(WaitingCall { step, failed, .. }) = self.outage.waiting.remove(key) {
                self.record_failed_call(&step, &failed)?;
            }
        }
        Ok(!over.is_empty())
    }

    /// Waits until enough agents are reachable, unless the run must end instead. Returns the trigger with which the
    /// debate leaves stage `id`.
    pub(super) async fn wait_for_servers(&mut self, id: StageId) -> Result<Trigger, EngineError> {
        let calls = self.outage.waiting.len();
        let error = self.outage.waiting.values().next_back().map(|waiting| waiting.failed.to_string());
        let is_limit = self.outage.is_limit();
        self.signal(Signal::ServerGone { calls, error: error.unwrap_or_default(), is_limit });
        self.outage.in_vain += 1;
        if !self.outage.can_wait || is_limit || self.outage.in_vain > MOST_IN_VAIN {
            self.outage.ends_run = true;
            return Ok(Trigger::PAUSE);
        }
        while self.is_waiting_for_servers() {
            let due = Instant::now() + self.outage.next_wait();
            loop {
                tokio::select! {
                    biased;
                    Some(command) = self.commands.recv() => {
                        self.handle_command(command)?;
                        if self.is_pausing {
                            return Ok(Trigger::PAUSE);
                        }
                        // The debate may be able to close without this server.
                        if self.must_close(id) {
                            return Ok(Trigger::STOP);
                        }
                    }
                    () = sleep_until(due) => break,
                }
            }
            let gone: BTreeMap<Arc<str>, Caller> = self
                .outage
                .waiting
                .iter()
                .filter_map(|(key, waiting)| {
                    let agent = self.panel.agent(&key.agent_id)?;
                    Some((Arc::clone(&waiting.provider), agent.caller.clone()))
                })
                .collect();
            let looked_for = gone.iter().map(|(provider, caller)| async move { (provider, caller.chat.reach().await) });
            for (provider, found) in join_all(looked_for).await {
                if found.is_ok() {
                    self.outage.is_back(provider);
                }
            }
        }
        self.signal(Signal::ServerBack);
        // The idle limit must not include the outage. Plan again, because nothing was paid for the waiting calls.
        self.silence = None;
        self.plan_costs(self.debate().current_round.max(1))?;
        Ok(Trigger::RETRY)
    }

    /// Repeats calls that failed because their server was unreachable, unless later results depend on the failure.
    /// Returns the stage to continue with, which is `reached` or an earlier one.
    pub(super) fn reopen(&mut self, reached: StageId) -> Result<StageId, EngineError> {
        let debate = self.debate();
        let is_timed_out = debate.round(debate.current_round).is_some_and(|round| round.timed_out);
        if is_timed_out || self.is_stopping() {
            return Ok(reached);
        }
        let gone = debate.failures.iter().filter(|failure| failure.server_gone);
        let present = gone.filter(|failure| failure.key.round == debate.current_round).map(|failure| &failure.key);
        let mut keys: Vec<CallKey> = present.filter(|key| !self.is_built_on(key)).cloned().collect();
        loop {
            // If one call is reopened, another may no longer be wanted.
            let wanted: HashSet<CallKey> = self.protocol.steps(&debate.reopening(&keys)).map(|step| step.key).collect();
            let before = keys.len();
            keys.retain(|key| wanted.contains(key));
            if keys.len() == before {
                break;
            }
        }
        if keys.is_empty() {
            return Ok(reached);
        }
        let stages = self.protocol.stages;
        let rank = |id: StageId| stages.iter().position(|stage| stage.info.id == id);
        // If a call's stage is not a transition target, the call belongs to the next stage that is one.
        let place = |id| (rank(id)?..stages.len()).find(|rank| stages[*rank].info.is_transition_target);
        let first = keys.iter().filter_map(|key| place(key.stage)).chain(rank(reached)).min();
        self.append(Event::Reopened { keys })?;
        Ok(first.map_or(reached, |rank| stages[rank].info.id))
    }

    fn is_built_on(&self, failed: &CallKey) -> bool {
        let debate = self.debate();
        let round = debate.round(failed.round);
        if debate.voting.is_some()
            || debate.verdict.is_some()
            || debate.final_solution.is_some()
            || round.is_some_and(|round| round.convergence.is_some())
        {
            return true;
        }
        let known: HashSet<CallKey> = self.protocol.steps(debate).map(|step| step.key).collect();
        let without = debate.reopening(std::slice::from_ref(failed));
        let rank = debate.stage_rank(failed.stage);
        let is_summary = debate.stage(failed.stage).is_some_and(|stage| stage.yields == Some(ResultKind::Summary));
        self.protocol.steps(&without).filter(|step| step.key != *failed).any(|step| {
            let lacks =
                |input: &CallKey| input == failed || (without.settled(input).is_none() && !known.contains(input));
            let reads = match step.shows {
                PromptContext::Transcript
                | PromptContext::AnonymousTranscript { .. }
                | PromptContext::WholeDebate
                | PromptContext::Draft
                | PromptContext::Record => true,
                PromptContext::InputsAndHistory => is_summary && step.key.agent_id == failed.agent_id,
                PromptContext::Inputs
                | PromptContext::Candidates { .. }
                | PromptContext::CandidatesReversed { .. }
                | PromptContext::InputsAndDispute
                | PromptContext::Decisions
                | PromptContext::Numbered
                | PromptContext::Texts
                | PromptContext::OwnTexts
                | PromptContext::Findings
                | PromptContext::EarlierRounds => false,
            };
            let rests_on = step.inputs.iter().any(lacks) || reads && debate.stage_rank(step.key.stage) > rank;
            rests_on
                && match debate.settled(&step.key) {
                    Some(CallStatus::Done | CallStatus::Empty) => true,
                    Some(CallStatus::Failed) => self.is_built_on(&step.key),
                    None => false,
                }
        })
    }
}

#[cfg(test)]
mod tests {
    use dialectic_record::debate::fixture::pitching;
    use dialectic_record::ids::Timestamp;

    use super::*;

    #[test]
    fn answers_copied_into_a_fork_do_not_show_that_their_server_answers() {
        let mut event = pitching::applauded("agent-kiss", "agent-architect");
        for copied in [false, true] {
            if let Event::Contributed { call: Some(call), .. } = &mut event {
                call.copied = copied;
            }
            let outage = Outage::of(&[Recorded { seq: 1, at: Timestamp::now(), event: event.clone() }]);
            assert_eq!(outage.answered.contains("openai"), !copied);
        }
    }
}
