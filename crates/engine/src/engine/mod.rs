//! Runs a debate by its protocol: starts the calls that are ready, records their results, and asks the protocol what
//! follows.
//!
//! The engine alone owns the record. Calls run as tasks and return values; every event goes to the journal first, then
//! to the state, then to the watchers. The engine handles steps and results but knows no stage by name: the
//! [protocol](dialectic_record::protocol) decides the calls, their inputs and the next stage.

mod budget;
mod calls;
mod closing;
mod commands;
mod daily;
mod follow_up;
mod forecast;
mod outage;
mod rehearsal;
mod results;
mod windows;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{PaidReply, Panel, SharedPrompt};
use crate::tools::ToolContext;
use dialectic_base::call::CallRecord;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::money::Usd;
use dialectic_llm::IdleTimeout;
use dialectic_record::debate::{
    AgentClarifications, AgentId, CallKey, CallStatus, Debate, Event, Gathered, Ledger, Outcome, Recorded, ResultKind,
    RoundInProgress, Settings, Signal, StageId, Status, Timestamp,
};
use dialectic_record::prompt::PromptError;
use dialectic_record::protocol::{BudgetClass, Next, NoTransition, Protocol, Stage, Step, Trigger};
use dialectic_record::signals::Signals;
use dialectic_record::store::{Record, StoreError};

pub use budget::{Books, BudgetError, check_prices, check_purchase, known_cost, purchase};
pub use commands::{RunCommand, UserReply};
pub use follow_up::FollowUpError;
pub(crate) use follow_up::forecast_follow_up;
pub use forecast::{ForecastError, forecast, planned_call};
pub use outage::OnOutage;
pub use windows::{WindowError, check_windows, telling_rounds};

use budget::Budget;
use calls::{Calls, Completion};
use closing::{check_before_closing, has_something_to_check};
pub(crate) use daily::CountedModel;
use daily::DailyCalls;
use outage::Outage;

/// How a run of a debate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// With an answer.
    Completed,
    /// The user must answer questions first.
    Suspended,
    /// It was interrupted; it can be resumed.
    Paused,
    /// It is saved as paused because a required server is unreachable; it can be resumed.
    ServerGone,
    /// It is saved as paused because a subscription's limit is reached; it can be resumed later.
    LimitReached,
    /// Without an answer; it can be resumed.
    Failed,
}

/// Why a run could not continue. The debate itself is saved up to its last event.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The record cannot be written.
    #[error("the debate cannot be saved")]
    Store(#[from] StoreError),
    /// A template is defective.
    #[error("a prompt cannot be rendered")]
    Prompt(#[from] PromptError),
    /// The context directory cannot be opened.
    #[error("cannot open the context directory {path}")]
    ContextDir {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The protocol lacks a transition.
    #[error(transparent)]
    Protocol(#[from] NoTransition),
    /// The protocol calls an unknown agent.
    #[error("the protocol calls {id}, who does not take part")]
    UnknownAgent {
        /// Its id.
        id: AgentId,
    },
}

impl Diagnostic for EngineError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::General
    }
}

impl EngineError {
    fn unknown(id: &AgentId) -> Self {
        Self::UnknownAgent { id: id.clone() }
    }
}

/// Collects the material of a debate.
pub type Gather = Box<dyn Fn(&Debate) -> BoxFuture<'static, Gathered> + Send + Sync>;

/// A running debate.
pub struct Engine {
    protocol: &'static Protocol,
    panel: Panel,
    gather: Option<Gather>,
    record: Record,
    signals: Signals,
    cancel: CancellationToken,
    commands: mpsc::UnboundedReceiver<RunCommand>,
    /// Earlier replies that are not yet results.
    past: HashMap<CallKey, Vec<PaidReply>>,
    calls: Calls,
    /// The unreachable servers, and the calls that wait for them.
    outage: Outage,
    /// The unfinished calls of the current stages, in the wanted order.
    open: Vec<Open>,
    /// The started stages, by round and rank.
    announced: BTreeMap<(u32, usize), Announced>,
    /// Calls omitted because the cost limit has no room for them.
    refused: HashSet<CallKey>,
    /// Why the limit has no room for the answer.
    refusal: Option<String>,
    /// The length of the debate's texts that fit into a call's context window, where it is limited.
    rooms: HashMap<CallKey, usize>,
    /// The idle limit of the current round's calls, once it runs.
    silence: Option<Arc<IdleTimeout>>,
    shared: Option<SharedPrompt>,
    /// The context of the current round's tools.
    tools: Option<(u32, Option<ToolContext>)>,
    budget: Option<Budget>,
    daily: Option<DailyCalls>,
    known_cost: Usd,
    is_pausing: bool,
    /// Whether it stays ready to continue after a pause.
    is_held: bool,
    /// Whether a stop order is stored beside the record.
    is_to_stop: bool,
    /// Whether an attempt may have been billed.
    may_be_billed: Arc<AtomicBool>,
    round: RoundInProgress,
    /// The name under which each configured model answered, until it was compared.
    served: HashMap<(String, String), String>,
}

/// A wanted call.
struct Open {
    step: Step,
    /// The stage that wants it, which may differ from its own stage.
    stage: StageId,
}

/// A started stage.
struct Announced {
    stage: StageId,
    /// The number of its expected results.
    expected: usize,
    /// The first pass of this visit; earlier passes belong to an earlier visit.
    first_pass: u8,
}

impl Engine {
    /// Opens a debate. `past` are the events before this run; `commands` delivers commands, and `cancel` ends the run
    /// at once.
    pub fn new(
        protocol: &'static Protocol,
        panel: Panel,
        record: Record,
        past: &[Recorded],
        signals: Signals,
        cancel: CancellationToken,
        commands: mpsc::UnboundedReceiver<RunCommand>,
    ) -> Self {
        let mut replies: HashMap<CallKey, Vec<PaidReply>> = HashMap::new();
        let mut served = HashMap::new();
        for recorded in past {
            if let Some(call) = recorded.event.call()
                && let Some(model) = &call.served_model
            {
                served.insert((call.provider.clone(), call.model.clone()), model.clone());
            }
            if let Event::Replied { key, reply, call } = &recorded.event {
                replies.entry(key.clone()).or_default().push((reply.clone(), call.clone()));
            }
        }
        let settings = record.debate().settings.as_ref();
        let budget = settings.and_then(|settings| Budget::of(settings, &panel.routed, past));
        let per_day = settings.and_then(Settings::max_calls_per_day);
        let directory = record.journal_path().parent();
        let daily = directory.zip(per_day).map(|(directory, limit)| DailyCalls::of(directory, limit));
        let known_cost = known_cost(past);
        let round = RoundInProgress::of(past, &record.debate().stages);
        Self {
            protocol,
            panel,
            gather: None,
            record,
            signals,
            cancel,
            commands,
            past: replies,
            calls: Calls::new(),
            outage: Outage::of(past),
            open: Vec::new(),
            announced: BTreeMap::new(),
            refused: HashSet::new(),
            refusal: None,
            rooms: HashMap::new(),
            silence: None,
            shared: None,
            tools: None,
            budget,
            daily,
            known_cost,
            is_pausing: false,
            is_held: false,
            is_to_stop: false,
            may_be_billed: Arc::default(),
            round,
            served,
        }
    }

    /// Sets how the debate's material is collected, if its protocol wants any.
    pub fn gathering(self, gather: Gather) -> Self {
        Self { gather: Some(gather), ..self }
    }

    /// Sets a limit for the total cost, including `past`, besides the debate's own.
    pub fn at_most(mut self, most: Usd, past: &[Recorded]) -> Self {
        let Some(mut settings) = self.debate().settings.clone() else { return self };
        settings.terms.max_cost = Some(settings.max_cost().map_or(most, |own| own.min(most)));
        self.budget = Budget::of(&settings, &self.panel.routed, past);
        self
    }

    /// Sets the behaviour while a required server is unreachable.
    pub fn on_outage(mut self, on: OnOutage) -> Self {
        self.outage.on = on;
        self
    }

    /// Runs the debate until it ends or must wait.
    ///
    /// # Errors
    /// It cannot be saved, or the program has a defect. The debate can be resumed from its last event.
    pub async fn run(&mut self) -> Result<RunEnding, EngineError> {
        let ended = self.go_through().await;
        // Abandons calls before the last save, so that no event follows it.
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

    async fn go_through(&mut self) -> Result<RunEnding, EngineError> {
        self.outage.begin_run();
        let mut reached = self.debate().current_stage.unwrap_or(self.protocol.start());
        if self.debate().status != Status::Pending {
            self.append(Event::Resumed)?;
            reached = self.reopen(reached)?;
        }
        self.plan_costs(self.debate().current_round.max(1))?;
        // Interrupted calls are repeated. A run killed after the decision to stop had not left its stage.
        let stops = self.has_to_leave(reached);
        let again = if stops { Trigger::STOP } else { Trigger::RETRY };
        let Next::Go(mut stage) = self.protocol.next(reached, again)? else {
            return Err(NoTransition { protocol: self.protocol.name, stage: reached, trigger: again }.into());
        };
        self.append(Event::StageEntered { stage })?;
        // Waits for the first save: if it fails, nothing has been paid yet.
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
                Next::Go(_) if trigger == Trigger::STOP => self.wound_up_in(),
                Next::Go(next) => next,
                Next::Begin(next) => self.begin_round(next)?,
                Next::Suspend => {
                    self.append(Event::Suspended { stage })?;
                    return Ok(RunEnding::Suspended);
                }
                Next::Done => {
                    let outcome = Some(Outcome::derive(self.debate()));
                    self.append(Event::Completed { outcome })?;
                    return Ok(RunEnding::Completed);
                }
                Next::Fail => return Ok(RunEnding::Failed),
                Next::Pause => {
                    self.append(Event::Paused)?;
                    return Ok(match (self.outage.ends_run, self.outage.is_limit()) {
                        (true, true) => RunEnding::LimitReached,
                        (true, false) => RunEnding::ServerGone,
                        (false, _) => RunEnding::Paused,
                    });
                }
            };
            self.append(Event::StageEntered { stage })?;
            self.record.checkpoint()?;
        }
    }

    /// Begins the next round with `stage` if the limit allows it; otherwise closes the debate.
    fn begin_round(&mut self, stage: StageId) -> Result<StageId, EngineError> {
        let round = self.debate().current_round + 1;
        // After the closing a rehearsal would end at once.
        let mut ahead = self.debate().clone();
        let at = Timestamp::now();
        for event in [Event::RoundBegun { round, stage }, Event::StageEntered { stage }] {
            drop(ahead.apply(&Recorded { seq: 0, at, event }));
        }
        self.plan_costs_of(&ahead, round)?;
        if !self.is_plan_affordable() {
            self.stop_for_budget()?;
            return Ok(self.wound_up_in());
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
            // Listed first: an answer that arrives with the interrupt is paid for and must be recorded.
            trigger = self.visit(stage) => trigger,
            () = cancel.cancelled() => Ok(Trigger::PAUSE),
        }
    }

    /// Makes the calls of a stage, and those of later stages whose inputs are ready, until its own have finished.
    async fn visit(&mut self, id: StageId) -> Result<Trigger, EngineError> {
        self.gather(id).await?;
        if self.protocol.stage(id).is_some_and(|stage| stage.info.yields == Some(ResultKind::Check)) {
            // A reading may have to be recorded first.
            self.look(id)?;
        }
        if self.protocol.is_closing(id) {
            // The answer's inputs are complete: only the closing is needed now.
            self.plan_costs(0)?;
        } else if self.makes_calls_around_rounds(id) {
            // The inputs are known: reserve for their actual length, not the worst case.
            self.plan_costs(self.debate().current_round.max(1))?;
        }
        self.forgo_check(id)?;
        if self.protocol.stage(id).is_some_and(|stage| stage.info.in_round) && self.silence.is_none() {
            self.start_the_clock();
        }
        let mut is_stale = true;
        loop {
            self.drain_commands()?;
            if self.has_to_leave(id) || self.is_pausing {
                self.open.clear();
                match self.next_arrival().await? {
                    Some(arrival) => {
                        self.take(&arrival)?;
                    }
                    None if self.is_pausing => return Ok(Trigger::PAUSE),
                    None => return Ok(Trigger::STOP),
                }
                is_stale = true;
                continue;
            }
            is_stale |= self.do_without()?;
            if self.is_cut_off() {
                // Calls in flight finish normally.
                match self.next_arrival().await? {
                    Some(arrival) => {
                        self.take(&arrival)?;
                    }
                    None => return self.sit_out().await,
                }
                is_stale = true;
                continue;
            }
            if is_stale {
                self.look(id)?;
                if let Some(reason) = self.broken() {
                    return self.fail(reason);
                }
            }
            self.start_ready()?;
            if !self.open.iter().any(|open| open.stage == id) {
                break;
            }
            match self.next_arrival().await? {
                Some(arrival) => {
                    is_stale = self.take(&arrival)?;
                    // The last result may lead to another call of the stage.
                    is_stale |= !self.open.iter().any(|open| open.stage == id);
                }
                None if self.is_round_over_time()
                    && self.open.iter().any(|open| open.step.cost == BudgetClass::Round) =>
                {
                    self.append(Event::RoundTimedOut { round: self.debate().current_round })?;
                    is_stale = true;
                }
                // Nothing is in flight and nothing can start, so the rest will never come.
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

    /// Whether a stage outside the rounds has calls.
    fn makes_calls_around_rounds(&self, id: StageId) -> bool {
        let stage = self.protocol.stage(id).filter(|stage| !stage.info.in_round);
        stage.is_some_and(|stage| !(stage.steps)(self.debate()).is_empty())
    }

    /// Collects the debate's material, if the stage wants it and it was not collected yet.
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
        // Later prompts must include it.
        self.shared = None;
        Ok(self.append(Event::Gathered { gathered })?)
    }

    fn declared(&self, id: StageId) -> Result<&'static Stage, EngineError> {
        let protocol = self.protocol;
        let missing = NoTransition { protocol: protocol.name, stage: id, trigger: Trigger::RETRY };
        Ok(protocol.stage(id).ok_or(missing)?)
    }

    /// Asks the protocol what follows from the record: facts, which are recorded, and wanted calls.
    fn look(&mut self, id: StageId) -> Result<(), EngineError> {
        let within_reach = self.protocol.within_reach(id);
        for stage in &within_reach {
            // A fact can lead to others.
            loop {
                let facts = (stage.facts)(self.debate());
                if facts.is_empty() {
                    break;
                }
                let settling = facts.iter().filter_map(Event::settles).map(|(key, _)| key.clone()).collect::<Vec<_>>();
                if let Some(key) = settling.first() {
                    let steps = stage.steps;
                    self.announce(key.round, key.stage, steps, |engine| {
                        engine.count_open(key.round, key.stage, &steps(engine.debate()))
                    });
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
            open.extend(wanted.map(|step| Open { step, stage: stage.info.id }));
        }
        self.open = open;
        Ok(())
    }

    /// Starts every wanted call whose inputs are ready.
    fn start_ready(&mut self) -> Result<(), EngineError> {
        let debate = self.debate();
        let over_time = self.is_round_over_time();
        let held = self.outage.providers();
        let is_held = |key: &CallKey| {
            let agent = self.panel.agent(&key.agent_id).filter(|_| !held.is_empty());
            self.outage.waits(key) || agent.is_some_and(|agent| held.contains(&agent.caller.provider))
        };
        let ready = self.open.iter().filter(|open| {
            // A round past its time limit starts no calls; those in flight finish normally.
            let is_due = !over_time || open.step.cost != BudgetClass::Round;
            is_due
                && !is_held(&open.step.key)
                && !self.calls.is_in_flight(&open.step.key)
                && self.protocol.can_start(&open.step, debate, |input| {
                    if self.calls.is_in_flight(input) {
                        Some(false)
                    } else {
                        self.refused.contains(input).then_some(true)
                    }
                })
        });
        let ready: Vec<(StageId, Step)> = ready.map(|open| (open.stage, open.step.clone())).collect();
        for (wanted_by, step) in ready {
            // Retried when a call has returned.
            if !self.has_place(step.key.stage) {
                continue;
            }
            let (round, stage) = (step.key.round, step.key.stage);
            let steps = self.declared(wanted_by)?.steps;
            self.announce(round, stage, steps, |engine| {
                engine.count_open(round, stage, engine.open.iter().map(|open| &open.step))
            });
            self.start(&step)?;
        }
        Ok(())
    }

    /// Whether the settings allow another concurrent call of a stage.
    fn has_place(&self, stage: StageId) -> bool {
        let limit = self.debate().known_settings().debate.in_flight_of(stage);
        limit.is_none_or(|limit| self.calls.in_flight_of(stage) < limit as usize)
    }

    /// The number of `steps` that are unfinished calls of a stage.
    fn count_open<'a>(&self, round: u32, stage: StageId, steps: impl IntoIterator<Item = &'a Step>) -> usize {
        let is_open = |step: &&Step| {
            step.key.stage == stage && step.key.round == round && self.debate().settled(&step.key).is_none()
        };
        steps.into_iter().filter(is_open).count()
    }

    /// Shows that a stage begins with `total` known calls. `steps` are those of the stage that wants them.
    fn announce(
        &mut self,
        round: u32,
        stage: StageId,
        steps: fn(&Debate) -> Vec<Step>,
        total: impl FnOnce(&Self) -> usize,
    ) {
        let place = (round, self.debate().stage_rank(stage));
        if self.announced.contains_key(&place) {
            return;
        }
        let total = total(self);
        // A stage that is visited twice in a round ends twice.
        let wanted = steps(self.debate()).into_iter().map(|step| step.key);
        let passes = wanted.filter(|key| key.stage == stage && key.round == round).map(|key| key.pass);
        let first_pass = passes.min().unwrap_or(1);
        let expected = total + self.done(round, stage, first_pass);
        self.announced.insert(place, Announced { stage, expected, first_pass });
        self.signal(Signal::StageStarted { stage, round, total });
    }

    /// Shows that a stage has ended, including nested calls.
    fn end_announced(&mut self, id: StageId) {
        let is_over = |stage: StageId| {
            let is_kind = self.debate().stage(stage).is_some_and(|info| !info.is_place);
            stage == id || (is_kind && !self.open.iter().any(|open| open.step.key.stage == stage))
        };
        let over: Vec<_> = self.announced.iter().filter(|(_, one)| is_over(one.stage)).map(|(at, _)| *at).collect();
        for place in over {
            let Some(Announced { stage, expected, first_pass }) = self.announced.remove(&place) else { continue };
            let done = self.done(place.0, stage, first_pass);
            let failed = expected.saturating_sub(done);
            self.signal(Signal::StageEnded { stage, round: place.0, done, failed });
        }
    }

    /// The number of a stage's results since that pass.
    fn done(&self, round: u32, stage: StageId, first_pass: u8) -> usize {
        let is_meant = |key: &CallKey| key.round == round && key.stage == stage && key.pass >= first_pass;
        let of = |key: &CallKey, settled: CallStatus| is_meant(key) && settled != CallStatus::Failed;
        self.debate().settled.iter().filter(|(key, settled)| of(key, **settled)).count()
    }

    /// The next finished call; `None` if none is in flight.
    async fn next_arrival(&mut self) -> Result<Option<Completion>, EngineError> {
        loop {
            self.admit()?;
            if self.calls.is_idle() {
                return Ok(None);
            }
            tokio::select! {
                biased;
                news = self.calls.next() => {
                    if let Some(arrival) = self.notice(news)? {
                        return Ok(Some(arrival));
                    }
                }
                Some(command) = self.commands.recv() => self.handle_command(command)?,
            }
        }
    }

    /// Removes the record of a debate that left nothing: it failed, was certainly not billed, and the user added
    /// nothing. Returns whether it did.
    pub fn forget(&mut self) -> bool {
        let debate = self.debate();
        let is_answered = |group: &AgentClarifications| group.items.iter().any(|item| !item.answer.is_empty());
        let is_nothing = debate.status == Status::Failed
            && debate.settled.values().all(|settled| *settled == CallStatus::Failed)
            && !debate.clarifications.iter().flatten().any(is_answered)
            && !debate.failures.is_empty()
            && !self.may_be_billed.load(Ordering::Relaxed);
        is_nothing && self.record.remove()
    }

    fn start_the_clock(&mut self) {
        let limits = self.debate().settings.as_ref().map(|settings| &settings.debate);
        let limit = limits.map(|debate| Duration::from_millis(debate.timeout_per_round.max(debate.call_timeout)));
        self.silence = limit.map(|limit| Arc::new(IdleTimeout::of_at_most(limit)));
    }

    /// Records an interruption while the debate waited.
    ///
    /// # Errors
    /// It cannot be saved.
    pub async fn pause(&mut self) -> Result<(), EngineError> {
        self.append(Event::Paused)?;
        Ok(self.record.flush().await?)
    }

    /// The state after the last event.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    fn append(&mut self, event: Event) -> Result<(), StoreError> {
        self.record_event(event)?;
        Ok(())
    }

    fn record_event(&mut self, event: Event) -> Result<Arc<Recorded>, StoreError> {
        if let Some(cut) = self.debate().cut_in(&event) {
            self.warn(cut.to_string());
        }
        if let Some(round) = self.round.ended_by(&event, &self.record.debate().stages) {
            self.signal(Signal::round_ended(round, &Ledger::at_end_of(self.debate(), round)));
        }
        let recorded = self.record.append(event)?;
        if let Some((key, _)) = recorded.event.settles() {
            self.open.retain(|open| open.step.key != *key);
        }
        if let Some(budget) = &mut self.budget {
            budget.apply(&recorded);
        }
        self.signal(Signal::Recorded(Arc::clone(&recorded)));
        self.known_cost += budget::cost_of(&recorded.event).unwrap_or_default();
        self.watch_cost()?;
        if let Some(call) = recorded.event.call() {
            self.compare_served_model(call);
        }
        Ok(recorded)
    }

    /// Reports a model that answers under another name than in the previous run.
    fn compare_served_model(&mut self, call: &CallRecord) {
        let Some(now) = &call.served_model else { return };
        let before = self.served.remove(&(call.provider.clone(), call.model.clone()));
        if let Some(before) = before.filter(|before| is_another_model(&call.model, before, now)) {
            self.warn(format!("{} answered as {before} before this run, and now as {now}", call.model));
        }
    }

    fn signal(&self, signal: Signal) {
        self.signals.publish(signal);
    }

    fn warn(&self, message: impl Into<String>) {
        self.signal(Signal::Warning { message: message.into(), failed: None });
    }

    fn shared(&mut self) -> Result<SharedPrompt, EngineError> {
        if let Some(shared) = &self.shared {
            return Ok(shared.clone());
        }
        let shared = SharedPrompt::of(self.protocol, self.debate())?;
        self.shared = Some(shared.clone());
        Ok(shared)
    }

    fn is_content_traced(&self) -> bool {
        let rules = &self.debate().known_settings().debate;
        rules.trace.is_some() && rules.trace_content
    }

    fn is_round_over_time(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.is_too_long())
    }
}

/// Whether two served names of the model configured as `asked` mean different models. Streams and whole answers often
/// report different names, with or without the version.
fn is_another_model(asked: &str, before: &str, now: &str) -> bool {
    let [asked, before, now] = [asked, before, now].map(|name| name.rsplit('/').next().unwrap_or(name).to_lowercase());
    let is_version_of = |long: &str, short: &str| {
        let version = long.strip_prefix(short).and_then(|rest| rest.strip_prefix(['-', '@', ':']));
        version.is_some_and(|version| version == "latest" || version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let says_nothing = before == asked || now == asked;
    before != now && !says_nothing && !is_version_of(&before, &now) && !is_version_of(&now, &before)
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("debate", &self.debate().id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::is_another_model;

    #[test]
    fn a_version_that_one_way_of_answering_leaves_out_makes_no_other_model() {
        for (before, now) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("mine", "gpt-4o-2024-08-06"),
            ("gpt-4o", "openai/gpt-4o"),
            ("Mistral-Large", "mistral-large-latest"),
            ("vendor/m", "vendor/m"),
        ] {
            for (before, now) in [(before, now), (now, before)] {
                assert!(!is_another_model("vendor/mine", before, now), "{before} {now}");
            }
        }
        for (before, now) in [("gpt-4o", "gpt-4o-mini"), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"), ("a", "b")] {
            assert!(is_another_model("mine", before, now), "{before} {now}");
        }
    }
}
