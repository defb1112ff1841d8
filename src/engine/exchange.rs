//! The call graph of a round: each call starts as soon as what it needs is there.
//!
//! Proposal, critique and refinement are phases for the reader; here they are one graph. A critique of B starts when
//! B's proposal is there, though C is still writing; B's refinement starts when every critique of B has arrived or
//! failed. What a call is shown never depends on who was faster: history is that of finished rounds only, and
//! critiques are handed over sorted by critic.

use std::sync::Arc;

use crate::agent::{Ask, Said};
use crate::debate::{
    AgentFailurePolicy, CallKey, Contribution, ContributionType, Debate, Event, Failure, Phase, Signal,
};

use super::calls::{Arrival, Calls};
use super::workshop::Workshop;
use super::{Engine, EngineError};

/// The calls of a round.
pub(super) struct Exchange {
    round: u32,
    calls: Calls<Said>,
    proposals: Vec<Slot>,
    /// By target, then critic.
    critiques: Vec<Vec<Slot>>,
    refinements: Vec<Slot>,
    announced: Vec<Phase>,
    workshop: Workshop,
    /// Set when an agent failed and the settings say that the debate fails then.
    broken: Option<String>,
}

/// How a phase of a round came to its end.
pub(super) enum Settled {
    /// Everything is there.
    Whole,
    /// Something is missing, and the debate goes on without it.
    InPart,
    /// The debate has to fail, for this reason.
    Broken(String),
}

/// A place for a contribution.
#[derive(Clone)]
enum Slot {
    /// What it needs is not there yet.
    Waiting,
    /// Its call is in flight.
    Called,
    /// It is there.
    Done(Arc<Contribution>),
    /// It failed, or what it needs did.
    Missing,
}

impl Slot {
    fn done(&self) -> Option<&Arc<Contribution>> {
        match self {
            Self::Done(contribution) => Some(contribution),
            Self::Waiting | Self::Called | Self::Missing => None,
        }
    }

    fn is_settled(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Missing)
    }

    fn from_record(debate: &Debate, round: u32, kind: ContributionType, key: &CallKey) -> Self {
        let target = key.target_agent_id.as_ref();
        if let Some(done) = debate.round(round).and_then(|round| round.find(kind, &key.agent_id, target)) {
            return Self::Done(Arc::clone(done));
        }
        let failed = debate.failures.iter().any(|failure| {
            (failure.round, failure.phase, &failure.agent_id) == (round, key.phase, &key.agent_id)
                && failure.target_agent_id.as_ref() == target
        });
        if failed { Self::Missing } else { Self::Waiting }
    }
}

impl Exchange {
    /// The exchange of the round in progress, with what the record already holds of it; starts what can start.
    pub(super) fn open(engine: &mut Engine) -> Result<Self, EngineError> {
        let debate = engine.debate();
        let round = debate.current_round;
        let debaters = &engine.panel.debaters;
        let slot = |kind, key: &CallKey| Slot::from_record(debate, round, kind, key);
        let own = |kind, phase| -> Vec<Slot> {
            debaters.iter().map(|agent| slot(kind, &agent.key(round, phase, None))).collect()
        };
        let critiques = debaters.iter().map(|target| {
            let of = |critic: &crate::agent::Debater| {
                if critic.id() == target.id() {
                    return Slot::Missing;
                }
                slot(ContributionType::Critique, &critic.key(round, Phase::Critique, Some(target.id())))
            };
            debaters.iter().map(of).collect()
        });
        let mut exchange = Self {
            round,
            calls: Calls::of_round(engine.silence.clone()),
            proposals: own(ContributionType::Proposal, Phase::Proposal),
            critiques: critiques.collect(),
            refinements: own(ContributionType::Refinement, Phase::Refinement),
            announced: Vec::new(),
            workshop: Workshop::open(debate, engine.panel.withheld.as_deref())?,
            broken: None,
        };
        exchange.announce(engine, Phase::Proposal);
        exchange.take_over(engine);
        for agent in 0..exchange.proposals.len() {
            if exchange.broken.is_none() && matches!(exchange.proposals[agent], Slot::Waiting) {
                exchange.propose(engine, agent)?;
            }
        }
        exchange.advance(engine)?;
        Ok(exchange)
    }

    /// Goes on until `phase` is settled.
    pub(super) async fn drive(&mut self, engine: &mut Engine, phase: Phase) -> Result<Settled, EngineError> {
        self.announce(engine, phase);
        while self.broken.is_none() && !self.is_through(engine, phase) {
            match self.calls.next(engine).await? {
                Arrival::Finished(finished) => {
                    match &finished.result {
                        Ok(said) => self.contribute(engine, &finished.key, said)?,
                        Err(failed) => {
                            engine.record_failed_call(&finished.key, failed)?;
                            self.set(engine, &finished.key, Slot::Missing);
                            if !engine.is_stopping() {
                                self.note_failure(engine, &finished.key, &failed.to_string());
                            }
                        }
                    }
                    finished.show(engine);
                    self.advance(engine)?;
                }
                Arrival::Idle if engine.is_round_over_time() => {
                    engine.append(Event::RoundTimedOut { round: self.round })?;
                    self.give_up();
                }
                // Nothing is in flight and nothing can start: what still waits never will come.
                Arrival::Idle => self.give_up(),
            }
        }
        let done = self.slots(phase).filter(|slot| slot.done().is_some()).count();
        let failed = self.expected(phase) - done;
        engine.signal(Signal::PhaseEnded { phase, round: self.round, done, failed });
        Ok(match self.broken.take() {
            Some(reason) => Settled::Broken(reason),
            None if failed > 0 => Settled::InPart,
            None => Settled::Whole,
        })
    }

    /// Whether there is nothing left to wait for. A debate that is told to close waits for all that is in flight: it
    /// is paid for.
    fn is_through(&self, engine: &Engine, phase: Phase) -> bool {
        if engine.is_stopping() { self.calls.is_idle() } else { self.slots(phase).all(Slot::is_settled) }
    }

    /// Takes over what a run that was killed had found out: that the round was over time, or that it had to fail.
    fn take_over(&mut self, engine: &Engine) {
        let debate = engine.debate();
        if debate.round(self.round).is_some_and(|round| round.timed_out) {
            self.give_up();
        }
        let of_this = |failure: &&Failure| {
            failure.round == self.round
                && matches!(failure.phase, Phase::Proposal | Phase::Critique | Phase::Refinement)
        };
        if let Some(failure) = debate.failures.iter().find(of_this).cloned() {
            let key = CallKey {
                round: failure.round,
                phase: failure.phase,
                agent_id: failure.agent_id,
                target_agent_id: failure.target_agent_id,
            };
            self.note_failure(engine, &key, &failure.error);
        }
    }

    /// How many proposals there are.
    pub(super) fn proposal_count(&self) -> usize {
        self.proposals.iter().filter(|slot| slot.done().is_some()).count()
    }

    fn slots(&self, phase: Phase) -> Box<dyn Iterator<Item = &Slot> + Send + '_> {
        match phase {
            Phase::Proposal => Box::new(self.proposals.iter()),
            Phase::Critique => Box::new(self.critiques.iter().flatten()),
            _ => Box::new(self.refinements.iter()),
        }
    }

    fn expected(&self, phase: Phase) -> usize {
        let agents = self.proposals.len();
        if phase == Phase::Critique { agents * (agents - 1) } else { agents }
    }

    fn announce(&mut self, engine: &Engine, phase: Phase) {
        if !self.announced.contains(&phase) {
            self.announced.push(phase);
            let there = self.slots(phase).filter(|slot| slot.done().is_some()).count();
            let total = self.expected(phase) - there;
            engine.signal(Signal::PhaseStarted { phase, round: self.round, total });
        }
    }

    /// The refinement of the round before as this round's proposal, or a call.
    fn propose(&mut self, engine: &mut Engine, agent: usize) -> Result<(), EngineError> {
        let debater = engine.panel.debaters[agent].clone();
        let before = engine.debate().round(self.round.saturating_sub(1));
        let refined = before.and_then(|before| before.find(ContributionType::Refinement, debater.id(), None));
        if let Some(refinement) = refined {
            let contribution = Arc::new(debater.carry_over(refinement));
            self.proposals[agent] = Slot::Done(Arc::clone(&contribution));
            engine.append(Event::Contributed { round: self.round, contribution, call: None })?;
            return Ok(());
        }
        if engine.is_round_over_time() {
            return Ok(());
        }
        if self.round > 1 {
            engine.warn(format!(
                "{} has no refinement of round {}: it is asked for a new proposal",
                debater.id(),
                self.round - 1
            ));
        }
        let ground = engine.ground()?;
        let request = debater.propose(&ground, engine.debate(), self.round)?;
        self.call(engine, &debater, request, Vec::new());
        self.proposals[agent] = Slot::Called;
        Ok(())
    }

    /// Starts every call whose needs are met.
    fn advance(&mut self, engine: &mut Engine) -> Result<(), EngineError> {
        // Past its limit a round starts no call; what is in flight comes to its own end.
        if self.broken.is_some() || engine.is_round_over_time() || engine.is_stopping() {
            return Ok(());
        }
        for target in 0..self.proposals.len() {
            let proposal = match &self.proposals[target] {
                Slot::Done(proposal) => Arc::clone(proposal),
                Slot::Missing => {
                    self.critiques[target].fill(Slot::Missing);
                    self.refinements[target] = Slot::Missing;
                    continue;
                }
                Slot::Waiting | Slot::Called => continue,
            };
            for critic in 0..self.proposals.len() {
                if matches!(self.critiques[target][critic], Slot::Waiting) {
                    self.announce(engine, Phase::Critique);
                    let debater = engine.panel.debaters[critic].clone();
                    let ground = engine.ground()?;
                    let request = debater.critique(&ground, engine.debate(), self.round, &proposal)?;
                    self.call(engine, &debater, request, vec![Arc::clone(&proposal)]);
                    self.critiques[target][critic] = Slot::Called;
                }
            }
            let all_there = self.critiques[target].iter().all(Slot::is_settled);
            if all_there && matches!(self.refinements[target], Slot::Waiting) {
                self.announce(engine, Phase::Refinement);
                let critiques: Vec<_> = self.critiques[target].iter().filter_map(Slot::done).cloned().collect();
                let debater = engine.panel.debaters[target].clone();
                let ground = engine.ground()?;
                let request = debater.refine(&ground, engine.debate(), self.round, &proposal, &critiques)?;
                let given = std::iter::once(proposal).chain(critiques).collect();
                self.call(engine, &debater, request, given);
                self.refinements[target] = Slot::Called;
            }
        }
        Ok(())
    }

    /// Starts a call whose prompt shows the texts of this round that are `given`.
    fn call(
        &mut self,
        engine: &mut Engine,
        debater: &crate::agent::Debater,
        request: crate::llm::Request,
        given: Vec<Arc<Contribution>>,
    ) {
        let tools = self.workshop.tools_of(&debater.settings, given);
        let answer = |ask: Ask| Ask { tools, ..ask }.text();
        self.calls.start(engine, &debater.caller, request, answer, |said| &said.call);
    }

    fn contribute(&mut self, engine: &mut Engine, key: &CallKey, said: &Said) -> Result<(), EngineError> {
        let kind = match key.phase {
            Phase::Proposal => ContributionType::Proposal,
            Phase::Critique => ContributionType::Critique,
            _ => ContributionType::Refinement,
        };
        let Some(debater) = engine.panel.debaters.iter().find(|debater| *debater.id() == key.agent_id) else {
            return Ok(());
        };
        let contribution = Arc::new(debater.contribution(kind, key.target_agent_id.as_ref(), said));
        if let Some(cut) = said.call.cut() {
            engine.warn(format!("{}'s {} was cut {}", key.agent_id, key.phase.name(), cut.how()));
        }
        self.set(engine, key, Slot::Done(Arc::clone(&contribution)));
        engine.append(Event::Contributed { round: self.round, contribution, call: Some(said.call.clone()) })?;
        Ok(())
    }

    fn set(&mut self, engine: &Engine, key: &CallKey, slot: Slot) {
        let place = |id| engine.panel.debaters.iter().position(|debater| debater.id() == id);
        let Some(agent) = place(&key.agent_id) else { return };
        match (key.phase, key.target_agent_id.as_ref().and_then(place)) {
            (Phase::Critique, Some(target)) => self.critiques[target][agent] = slot,
            (Phase::Proposal, _) => self.proposals[agent] = slot,
            _ => self.refinements[agent] = slot,
        }
    }

    fn note_failure(&mut self, engine: &Engine, key: &CallKey, error: &str) {
        let policy = engine.debate().settings.as_ref().map(|settings| settings.debate.on_agent_failure);
        if policy == Some(AgentFailurePolicy::Fail) {
            self.broken = Some(format!("{} failed in the {}: {error}", key.agent_id, key.phase.name()));
        }
    }

    fn give_up(&mut self) {
        let slots = self.proposals.iter_mut().chain(self.critiques.iter_mut().flatten()).chain(&mut self.refinements);
        for slot in slots.filter(|slot| !slot.is_settled()) {
            *slot = Slot::Missing;
        }
    }
}
