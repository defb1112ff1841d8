//! The loop of a run: goes through the stages, starts calls that are ready, records results, and closes the debate.

use dialectic_base::money::BudgetLimit;
use dialectic_record::debate::{Debate, Outcome, Status};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{CallKey, CallStatus, ResultKind, StageId, Timestamp};
use dialectic_record::live::Signal;
use dialectic_record::protocol::{BudgetClass, Next, NoTransition, Protocol, Stage, Step, Trigger};

use super::calls::Calls;
use super::host::Host;
use super::{Announced, Engine, EngineError, RunEnding};

impl Engine {
    /// Runs the debate until it ends or must wait.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved or a call cannot be prepared. The debate can then be resumed from
    /// its last event.
    pub async fn run(&mut self) -> Result<RunEnding, EngineError> {
        let ended = self.run_stages().await;
        // Abort calls before the last save, so that no event follows it.
        self.calls = Calls::new();
        let saved = match ended {
            Ok(ending) => self.record.flush().await.map(|()| ending).map_err(EngineError::from),
            failed => failed,
        };
        if saved.is_err() {
            self.record.salvage().await;
        }
        saved
    }

    async fn run_stages(&mut self) -> Result<RunEnding, EngineError> {
        self.outage.begin_run();
        self.host = Host::of(&self.record.entry());
        self.budget.iter_mut().for_each(|budget| budget.shown.clear());
        let mut reached = self.debate().current_stage.unwrap_or(self.protocol.start());
        let new_limit = self.record.new_limit;
        if self.debate().status != Status::Pending || new_limit != BudgetLimit::default() {
            self.append(Event::Resumed(new_limit))?;
            reached = self.reopen(reached)?;
        }
        self.plan_costs(self.debate().current_round.max(1))?;
        // Repeat interrupted calls. If the last run was killed after deciding to stop but before leaving its stage,
        // stop now.
        let stops = self.must_close(reached);
        let again = if stops { Trigger::STOP } else { Trigger::RETRY };
        let Next::Go(mut stage) = self.protocol.next(reached, again)? else {
            return Err(NoTransition { protocol: self.protocol.name, stage: reached, trigger: again }.into());
        };
        self.append(Event::StageEntered { stage })?;
        // Wait for the first save before spending anything.
        self.record.flush().await?;
        loop {
            let trigger = self.visit_or_pause(stage).await?;
            if trigger == Trigger::RETRY {
                stage = self.reopen(stage)?;
            }
            if trigger == Trigger::STOP {
                self.outage.give_up();
            }
            stage = match self.protocol.next(stage, trigger)? {
                Next::Go(_) if trigger == Trigger::STOP => self.closing_stage(),
                Next::Go(next) => next,
                Next::Begin(next) => self.begin_round(next)?,
                Next::Suspend => {
                    self.append(Event::Suspended { stage })?;
                    return Ok(RunEnding::Suspended);
                }
                Next::Done => {
                    let outcome = Outcome::derive(self.debate());
                    self.append(Event::Completed { outcome })?;
                    return Ok(RunEnding::Completed);
                }
                Next::Fail => return Ok(RunEnding::Failed),
                Next::Pause => {
                    self.append(Event::Paused)?;
                    return Ok(match (self.outage.ends_run, self.outage.is_limit()) {
                        (true, true) => RunEnding::LimitReached,
                        (true, false) => RunEnding::ServerGone,
                        (false, _) if self.host.ends_run => RunEnding::HostAsked,
                        (false, _) => RunEnding::Paused,
                    });
                }
            };
            self.append(Event::StageEntered { stage })?;
            self.record.checkpoint()?;
        }
    }

    /// Begins the next round at `stage`. Returns the closing stage instead if the limit leaves no room for the round.
    fn begin_round(&mut self, stage: StageId) -> Result<StageId, EngineError> {
        let round = self.debate().current_round + 1;
        // Plan from inside the new round: the current stage may be the closing, from which a rehearsal would end
        // immediately.
        let mut ahead = self.debate().clone();
        let at = Timestamp::now();
        for event in [Event::RoundBegun { round, stage }, Event::StageEntered { stage }] {
            drop(ahead.apply(&Recorded { seq: 0, at, event }));
        }
        self.plan_costs_of(&ahead, round)?;
        if !self.is_plan_affordable() {
            self.stop_for_budget()?;
            return Ok(self.closing_stage());
        }
        self.append(Event::RoundBegun { round, stage })?;
        self.start_the_clock();
        Ok(stage)
    }

    async fn visit_or_pause(&mut self, stage: StageId) -> Result<Trigger, EngineError> {
        let cancel = self.cancel.clone();
        if cancel.is_cancelled() {
            return Ok(Trigger::PAUSE);
        }
        tokio::select! {
            biased;
            // This branch comes first: an answer that arrives together with the interrupt is paid for and must be
            // recorded.
            trigger = self.run_stage(stage) => trigger,
            () = cancel.cancelled() => Ok(Trigger::PAUSE),
        }
    }

    /// Runs stage `id` until it is finished or must be left. Also starts calls of later stages as soon as they are
    /// ready.
    pub(super) async fn run_stage(&mut self, id: StageId) -> Result<Trigger, EngineError> {
        self.gather(id).await?;
        if self.protocol.stage(id).is_some_and(|stage| stage.info.yields == Some(ResultKind::Check)) {
            // The text to check may first have to be recorded as the draft.
            self.refresh_open_steps(id)?;
        }
        if self.protocol.is_closing(id) {
            // All inputs of the answer are known, so plan only for the closing.
            self.plan_costs(0)?;
        } else if self.makes_calls_around_rounds(id) {
            // The inputs are known, so reserve for their actual length rather than the worst case.
            self.plan_costs(self.debate().current_round.max(1))?;
        }
        self.skip_check(id)?;
        if self.protocol.stage(id).is_some_and(|stage| stage.info.in_round) && self.silence.is_none() {
            self.start_the_clock();
        }
        let mut is_stale = true;
        loop {
            self.drain_commands()?;
            if self.must_close(id) || self.is_pausing {
                self.open.clear();
                if !self.is_pausing {
                    self.drop_unwanted_host_requests();
                }
                match self.record_next().await? {
                    Some(_) => {}
                    None if self.is_pausing => return Ok(Trigger::PAUSE),
                    None => return Ok(Trigger::STOP),
                }
                is_stale = true;
                continue;
            }
            is_stale |= self.fail_unreachable_calls()?;
            if self.is_waiting_for_servers() {
                // Let calls in flight finish first.
                match self.record_next().await? {
                    Some(_) => {}
                    // A pause was requested meanwhile; the next iteration handles it.
                    None if self.is_pausing => {}
                    None => return self.wait_for_servers(id).await,
                }
                is_stale = true;
                continue;
            }
            if is_stale {
                self.refresh_open_steps(id)?;
                if let Some(reason) = self.broken() {
                    return self.fail(reason);
                }
            }
            self.start_ready()?;
            if !self.open.iter().any(|(stage, _)| *stage == id) {
                break;
            }
            match self.record_next().await? {
                // The stage's last result may lead to another call, so look again.
                Some(leads_on) => is_stale = leads_on || !self.open.iter().any(|(stage, _)| *stage == id),
                // A pause was requested meanwhile, so the stage has not ended; the next iteration pauses.
                None if self.is_pausing => {}
                None if self.host.is_asked() => {
                    self.host.ends_run = true;
                    return Ok(Trigger::PAUSE);
                }
                None if self.is_round_over_time()
                    && self.open.iter().any(|(_, step)| step.cost == BudgetClass::Round) =>
                {
                    self.append(Event::RoundTimedOut { round: self.debate().current_round })?;
                    is_stale = true;
                }
                // Nothing is in flight and nothing can start, so the missing results will never arrive.
                None => break,
            }
        }
        self.end_announced(id);
        let stage = self.declared(id)?;
        match (stage.outcome)(self.debate()) {
            Ok(trigger) => Ok(trigger),
            Err(reason) => {
                let refusal = self.refusal.take().map(|refusal| format!(": {refusal}")).unwrap_or_default();
                self.fail(format!("{reason}{refusal}"))
            }
        }
    }

    fn makes_calls_around_rounds(&self, id: StageId) -> bool {
        let stage = self.protocol.stage(id).filter(|stage| !stage.info.in_round);
        stage.is_some_and(|stage| !(stage.steps)(self.debate()).is_empty())
    }

    async fn gather(&mut self, id: StageId) -> Result<(), EngineError> {
        let gathers = self.debate().stage(id).is_some_and(|stage| stage.yields == Some(ResultKind::Material));
        let Some(gather) = self.gather.as_ref().filter(|_| gathers && self.debate().gathered.is_none()) else {
            return Ok(());
        };
        let gathered = gather(self.debate()).await;
        for material in &gathered.material {
            if let Some(error) = &material.error {
                self.warn(format!("{} {}: {error}", material.source.name(), material.name));
            }
        }
        // Later prompts must include the material.
        self.beginnings = None;
        Ok(self.append(Event::Gathered { gathered })?)
    }

    fn declared(&self, id: StageId) -> Result<&'static Stage, EngineError> {
        let protocol = self.protocol;
        let missing = NoTransition { protocol: protocol.name, stage: id, trigger: Trigger::RETRY };
        Ok(protocol.stage(id).ok_or(missing)?)
    }

    fn refresh_open_steps(&mut self, id: StageId) -> Result<(), EngineError> {
        let within_reach = self.protocol.within_reach(id);
        for stage in &within_reach {
            // One fact can lead to further facts.
            loop {
                let facts = (stage.facts)(self.debate());
                if facts.is_empty() {
                    break;
                }
                let settling = facts.iter().filter_map(Event::settles).map(|(key, _)| key.clone()).collect::<Vec<_>>();
                if let Some(key) = settling.first() {
                    self.announce(key.round, key.stage, stage.steps);
                }
                for fact in facts {
                    self.append(fact)?;
                }
            }
        }
        let debate = self.debate();
        let timed_out = debate.round(debate.current_round).is_some_and(|round| round.timed_out);
        let mut open = Vec::new();
        for stage in within_reach {
            let wanted = (stage.steps)(debate).into_iter().filter(|step| {
                debate.settled(&step.key).is_none()
                    && !self.refused.contains(&step.key)
                    && !(timed_out && step.cost == BudgetClass::Round)
            });
            open.extend(wanted.map(|step| (stage.info.id, step)));
        }
        self.open = open;
        self.drop_unwanted_host_requests();
        Ok(())
    }

    fn start_ready(&mut self) -> Result<(), EngineError> {
        let debate = self.debate();
        let over_time = self.is_round_over_time();
        let held = self.outage.providers();
        let is_held = |key: &CallKey| {
            let agent = self.panel.agent(&key.agent_id).filter(|_| !held.is_empty());
            self.outage.waits(key) || agent.is_some_and(|agent| held.contains(&agent.caller.provider))
        };
        let ready = self.open.iter().filter(|(_, step)| {
            // A round past its time limit starts no calls; those in flight run to completion.
            let is_due = !over_time || step.cost != BudgetClass::Round;
            is_due
                && !is_held(&step.key)
                && !self.calls.is_in_flight(&step.key)
                && !self.host.waits(&step.key)
                && self.protocol.can_start(step, debate, |input| {
                    if self.calls.is_in_flight(input) {
                        Some(false)
                    } else {
                        self.refused.contains(input).then_some(true)
                    }
                })
        });
        let ready: Vec<(StageId, Step)> = ready.cloned().collect();
        for (wanted_by, step) in ready {
            let (round, stage) = (step.key.round, step.key.stage);
            let steps = self.declared(wanted_by)?.steps;
            self.announce(round, stage, steps);
            self.start(&step)?;
        }
        Ok(())
    }

    /// Signals the start of a stage, only once per visit. `steps` belongs to the stage that requests the calls, which
    /// may differ from `stage`.
    fn announce(&mut self, round: u32, stage: StageId, steps: fn(&Debate) -> Vec<Step>) {
        let place = (round, self.debate().stage_rank(stage));
        if self.announced.contains_key(&place) {
            return;
        }
        // A stage can be visited twice in a round: count only the passes of this visit.
        let wanted = self.wanted_by(steps);
        let passes = wanted.iter().filter(|key| key.stage == stage && key.round == round).map(|key| key.pass);
        let announced = Announced { stage, steps, first_pass: passes.min().unwrap_or(1) };
        let (_, total) = self.results_of(round, &announced, &wanted);
        self.announced.insert(place, announced);
        self.signal(Signal::StageStarted { stage, round, total });
    }

    /// Signals the end of stage `id`, and of announced stages that are not transition targets and have no open calls.
    fn end_announced(&mut self, id: StageId) {
        let is_over = |stage: StageId| {
            let is_kind = self.debate().stage(stage).is_some_and(|info| !info.is_transition_target);
            stage == id || (is_kind && !self.open.iter().any(|(_, step)| step.key.stage == stage))
        };
        let over: Vec<_> = self.announced.iter().filter(|(_, one)| is_over(one.stage)).map(|(at, _)| *at).collect();
        for place in over {
            let Some(announced) = self.announced.remove(&place) else { continue };
            let (done, missing) = self.results_of(place.0, &announced, &self.wanted_by(announced.steps));
            self.signal(Signal::StageEnded { stage: announced.stage, round: place.0, done, failed: missing });
        }
    }

    fn wanted_by(&self, steps: fn(&Debate) -> Vec<Step>) -> Vec<CallKey> {
        steps(self.debate()).into_iter().map(|step| step.key).collect()
    }

    /// Returns how many calls of this visit have a result, and how many failed or are `wanted` but have no result.
    fn results_of(&self, round: u32, announced: &Announced, wanted: &[CallKey]) -> (usize, usize) {
        let (debate, Announced { stage, first_pass, .. }) = (self.debate(), announced);
        let is_meant = |key: &CallKey| key.round == round && key.stage == *stage && key.pass >= *first_pass;
        let settled = debate.settled.iter().filter(|(key, _)| is_meant(key));
        let (failed, done): (Vec<_>, Vec<_>) = settled.partition(|(_, settled)| **settled == CallStatus::Failed);
        let open = wanted.iter().filter(|key| is_meant(key) && debate.settled(key).is_none()).count();
        (done.len(), failed.len() + open)
    }
}

impl Engine {
    /// Whether a debate that closes early must leave `stage`. False for the closing stage and, if money ran out, for a
    /// check that precedes the closing.
    pub(super) fn must_close(&self, stage: StageId) -> bool {
        let rank = |id: StageId| self.protocol.stages.iter().position(|stage| stage.info.id == id);
        let is_over_money = self.is_out_of_money() && rank(stage) >= rank(self.closing_stage());
        self.is_stopping() && stage != self.protocol.closing && !is_over_money
    }

    /// The stage to go to when the debate closes early. If money ran out and there is something to check, this is the
    /// check that precedes the closing, because the check's cost is reserved.
    fn closing_stage(&self) -> StageId {
        let is_wanted = self.is_out_of_money() && has_something_to_check(self.debate());
        check_before_closing(self.protocol).filter(|_| is_wanted).unwrap_or(self.protocol.closing)
    }

    /// Whether the debate is in its closing stage and no check follows.
    pub(super) fn is_at_its_end(&self) -> bool {
        let debate = self.debate();
        let leads_on = |stage: &Stage| stage.rows.iter().any(|row| matches!(row.1, Next::Go(_)));
        let is_closing = debate.current_stage == Some(self.protocol.closing);
        let is_checked =
            self.protocol.stage(self.protocol.closing).is_some_and(leads_on) && !debate.lenses().is_empty();
        is_closing && !is_checked
    }
}

pub(super) fn check_before_closing(protocol: &Protocol) -> Option<StageId> {
    let mut before = protocol.stages.iter().take_while(|stage| stage.info.id != protocol.closing);
    before.find(|stage| stage.info.yields == Some(ResultKind::Check)).map(|stage| stage.info.id)
}

pub(super) fn has_something_to_check(debate: &Debate) -> bool {
    !debate.lenses().is_empty() && debate.final_round().is_some()
}
