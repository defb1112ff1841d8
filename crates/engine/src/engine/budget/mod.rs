//! Enforces the cost and call limits: which attempts may be sent and with what output limit, what to reserve for the
//! rest of the round and the closing, whether another round fits, and when to stop.
//!
//! The maximum cost of an attempt is reserved in the journal before it is sent, and its result replaces the reservation
//! with the actual cost. An attempt that does not fit in addition to the reserves waits for others to return, then gets
//! a lower output limit, and is only refused as a last resort. This ensures that a started round can finish and that
//! the judge can close. If the whole debate probably fits, optional calls are reserved as well; they only yield to
//! necessary ones. `docs/models.md` states the assumptions.

mod ledger;
mod limits;

use std::collections::BTreeSet;

use ledger::{CostLedger, Measures, Reservation};
use limits::{AnswerLength, CostPlan, CostRange, Payees, Planned, PricedAgent};

use crate::agent::price_of;
use dialectic_base::call::CallRecord;
use dialectic_base::figures::list;
use dialectic_base::money::{Amount, BudgetLimit, Usd};
use dialectic_llm::{Request, Reserved, Turn, request_bytes};
use dialectic_record::debate::{Debate, Status, StopReason};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{AgentId, CallKey, ResultKind, StageId};
use dialectic_record::protocol::{BudgetClass, OutputSpec, Step};
use dialectic_record::settings::Settings;
use dialectic_record::store::StoreError;

use super::{Engine, EngineError, FollowUpError};

pub use ledger::CostLedger as Books;

pub use limits::{BudgetError, check_prices, check_purchase, purchase};

#[derive(Debug)]
pub(super) struct Budget {
    limit: BudgetLimit,
    payees: Payees,
    ledger: CostLedger,
    /// The necessary calls that remain before the closing.
    rest: Vec<Planned>,
    closing: Vec<Planned>,
    /// The calls that check the answer; empty if the limit does not cover them all.
    check: Vec<Planned>,
    /// Whether the next round is too expensive: the check has priority over the round, and even the check does not fit.
    is_round_too_dear: bool,
    /// Optional calls before the closing, if the limit covers them.
    spare: Vec<Planned>,
    /// The level of answer length at which the whole debate probably fits.
    level: AnswerLength,
    /// The greatest answer length granted since the last plan. Reserved calls may read these answers.
    written: AnswerLength,
    /// Requests shown to the host. The call limit includes them although nothing is sent.
    pub(super) shown: BTreeSet<CallKey>,
    has_said_left_out: bool,
}

#[derive(Debug, Clone)]
pub(super) struct AttemptRequest {
    key: CallKey,
    cost: BudgetClass,
    bytes: usize,
    is_second_chance: bool,
    offers_tools: bool,
}

impl AttemptRequest {
    pub(super) fn of(step: &Step, request: &Request) -> Self {
        let is_second_chance = match (&step.answer, request.turns.last()) {
            // A turn with tool results does not repeat the request.
            (OutputSpec::Text | OutputSpec::Check(_) | OutputSpec::FindingRulings, last) => {
                matches!(last, Some(Turn::User(_)))
            }
            (OutputSpec::Summary | OutputSpec::Amendment | OutputSpec::FollowUp, _) => false,
            // Solutions are texts: only the request for a missing assessment asks for JSON.
            (OutputSpec::Solution(_), last) => last.is_some() || request.answer.is_some(),
            (
                OutputSpec::Questions { .. }
                | OutputSpec::Score(_)
                | OutputSpec::Choice
                | OutputSpec::Word(_)
                | OutputSpec::Relations
                | OutputSpec::Challenge
                | OutputSpec::Kinds
                | OutputSpec::Judgement
                | OutputSpec::Scores(_)
                | OutputSpec::Json(_),
                last,
            ) => last.is_some(),
        };
        let (key, cost, bytes) = (step.key.clone(), step.cost, request_bytes(request));
        Self { key, cost, bytes, is_second_chance, offers_tools: !request.tools.is_empty() }
    }

    pub(super) fn key(&self) -> &CallKey {
        &self.key
    }
}

pub(super) enum Permission<T> {
    Granted(T),
    /// The attempt must wait until other attempts have returned.
    Later,
    Refused,
}

impl Budget {
    /// `None` if the settings have no limit. `routed` are the providers whose prices may differ from list prices.
    pub(super) fn of(settings: &Settings, routed: &BTreeSet<String>, past: &[Recorded]) -> Option<Self> {
        let limit = BudgetLimit { usd: settings.max_cost(), calls: settings.max_calls() };
        if limit.usd.is_none() && limit.calls.is_none() {
            return None;
        }
        let mut budget = Self {
            limit,
            payees: Payees::of(settings, routed),
            ledger: CostLedger::default(),
            rest: Vec::new(),
            closing: Vec::new(),
            check: Vec::new(),
            is_round_too_dear: false,
            spare: Vec::new(),
            level: AnswerLength::FULL,
            written: AnswerLength::LEAST,
            shown: BTreeSet::new(),
            has_said_left_out: false,
        };
        for recorded in past {
            budget.apply(recorded);
        }
        Some(budget)
    }

    pub(super) fn apply(&mut self, recorded: &Recorded) {
        let payees = &self.payees;
        self.ledger.apply(recorded, |call: &CallRecord| payees.price_of(call));
    }

    /// Applies the question's `own` limits on top of what has been spent, which includes the reservations of calls that
    /// an earlier run left in flight.
    pub(super) fn of_follow_up(mut self, own: BudgetLimit) -> Self {
        self.ledger.abandon();
        let taken = self.ledger.taken_in_all();
        if let Some(usd) = own.usd {
            self.limit.usd = Some(taken.usd + usd);
        }
        if let Some(calls) = own.calls {
            self.limit.calls = Some(taken.requests.saturating_add(calls));
        }
        self
    }

    /// Refuses a follow-up question if the limit leaves no room for even an answer of minimum length.
    pub(super) fn check_room(&self, wanted: &AttemptRequest) -> Result<(), FollowUpError> {
        let Some(payee) = self.payees.get(&wanted.key.agent_id) else { return Ok(()) };
        let measures = self.ledger.measures(&payee.model);
        let needed = measures
            .bound(payee.read(wanted.bytes), payee.answer(AnswerLength::LEAST), payee.price)
            .times(measures.factor());
        let room = self.room();
        if room.requests == 0 {
            return Err(FollowUpError::NoCallLeft);
        }
        let (room, is_too_dear) = (room.usd, needed > room.usd);
        if is_too_dear { Err(FollowUpError::TooDear { room, needed: needed.rounded_up() }) } else { Ok(()) }
    }

    /// The lowest output limit among the agents whose limit `level` lowers. `None` without a cost limit, because a call
    /// limit does not lower output limits.
    fn lowered<'a>(&self, ids: impl Iterator<Item = &'a AgentId>, level: AnswerLength) -> Option<u32> {
        self.limit.usd.and_then(|_| self.payees.lowered(ids, level))
    }

    fn room(&self) -> Amount {
        let requests = u32::try_from(self.shown.len()).unwrap_or(u32::MAX);
        self.limit.whole().saturating_sub(self.ledger.taken_in_all() + Amount { usd: Usd::ZERO, requests })
    }

    /// What must stay reserved for other calls if this attempt is sent. `spares` says whether to include optional
    /// calls.
    fn kept_beside(&self, wanted: &AttemptRequest, written: AnswerLength, spares: bool) -> Amount {
        let none = &[][..];
        let (closing, rest) = match wanted.cost {
            BudgetClass::Closing if wanted.is_second_chance => return Amount::ZERO,
            BudgetClass::Closing | BudgetClass::Extra | BudgetClass::Round | BudgetClass::Check => {
                (&self.closing[..], &self.rest[..])
            }
            BudgetClass::Decision => (&self.closing[..], none),
        };
        let is_itself = |call: &&Planned| call.key == wanted.key && !call.is_second_chance && !wanted.offers_tools;
        let spare = if spares { &self.spare[..] } else { none };
        let others = closing.iter().chain(rest).chain(&self.check).chain(spare).filter(|call| !is_itself(call));
        self.need(others, written, Some(wanted))
    }

    /// The maximum cost of `calls` if they read texts of length `written`. Adds the possible extra cost of a model's
    /// first answer, unless `now` or an attempt in flight already asks the model.
    fn need<'a>(
        &self,
        calls: impl Iterator<Item = &'a Planned>,
        written: AnswerLength,
        now: Option<&AttemptRequest>,
    ) -> Amount {
        let asks = |key: &CallKey, payee: &PricedAgent| {
            self.payees.get(&key.agent_id).is_some_and(|it| it.model == payee.model)
        };
        let is_asked = |payee: &PricedAgent| {
            now.is_some_and(|wanted| asks(&wanted.key, payee)) || self.ledger.has_in_flight(|key| asks(key, payee))
        };
        self.payees.need(&self.ledger, calls, written, is_asked)
    }

    /// The margin to reserve for the closing beyond its likely cost: models that are first called in the closing may
    /// cost more than expected. `read` is the length of the texts that the calls read.
    fn margin_of_closing(&self, views: &CostRange, read: AnswerLength) -> Amount {
        // If only the closing is left, no other call competes for the money, so no margin is needed.
        if views.full.before_closing().next().is_none() {
            return Amount::ZERO;
        }
        let model = |key: &CallKey| self.payees.get(&key.agent_id).map(|payee| &payee.model);
        let known: Vec<_> = views.full.needed().into_iter().filter_map(|call| model(&call.key)).collect();
        let mut closing = views.closing(true);
        closing.retain(|call| model(&call.key).is_some_and(|model| !known.contains(&model)));
        let need = self.payees.need(&self.ledger, closing.iter(), read, |_| false);
        need.saturating_sub(self.likely(&closing, read, AnswerLength::LEAST))
    }

    /// The minimum that must stay reserved for other calls if this attempt is sent; `None` if the attempt has no
    /// priority over reserved calls.
    fn kept_at_least(&self, wanted: &AttemptRequest) -> Option<Amount> {
        match wanted.cost {
            // Even the judge must not spend on tool calls what its answer needs.
            BudgetClass::Closing if !wanted.offers_tools => Some(Amount::ZERO),
            BudgetClass::Check => Some(self.need(self.closing.iter(), self.written, Some(wanted))),
            BudgetClass::Round if !wanted.offers_tools => {
                // Only the first round has priority over its check.
                let check = if wanted.key.round > 1 { &self.check[..] } else { &[][..] };
                Some(self.need(self.closing.iter().chain(check), self.written, Some(wanted)))
            }
            // Calls with tools, optional calls and decisions must not use what is reserved for other calls.
            BudgetClass::Closing | BudgetClass::Round | BudgetClass::Extra | BudgetClass::Decision => None,
        }
    }

    fn grant(
        &self,
        payee: &PricedAgent,
        wanted: &AttemptRequest,
        level: AnswerLength,
        kept: Amount,
    ) -> Option<(Reservation, AnswerLength)> {
        let max_tokens = payee.answer(level);
        let measures = self.ledger.measures(&payee.model);
        let factor = measures.factor();
        let bytes = payee.read(wanted.bytes);
        let usd = measures.bound(bytes, max_tokens, payee.price).times(factor);
        let max_tokens = self.limit.usd.map(|_| max_tokens);
        let needed = Amount::request(usd) + kept;
        needed.fits(self.room()).then(|| {
            let (key, bytes) = (wanted.key.clone(), bytes as u64);
            (Reservation { key, usd, factor, bytes, max_tokens }, level)
        })
    }

    fn decide(&self, wanted: &AttemptRequest) -> Permission<(Reservation, AnswerLength)> {
        let Some(payee) = self.payees.get(&wanted.key.agent_id) else { return Permission::Refused };
        let is_known = self.ledger.measures(&payee.model).answered || payee.is_free();
        let is_same = |key: &CallKey| self.payees.get(&key.agent_id).is_some_and(|other| other.model == payee.model);
        if !is_known && self.ledger.has_in_flight(is_same) {
            return Permission::Later;
        }
        let at = |level: AnswerLength, spares: bool| {
            self.grant(payee, wanted, level, self.kept_beside(wanted, level.max(self.written), spares))
        };
        if let Some(grant) = at(self.level, true) {
            return Permission::Granted(grant);
        }
        if self.ledger.is_waiting() {
            return Permission::Later;
        }
        let lower = |spares| self.level.and_below().find_map(|level| at(level, spares));
        // Optional calls yield to necessary ones, but not to each other.
        let is_needed = wanted.cost != BudgetClass::Extra;
        let least = || self.grant(payee, wanted, AnswerLength::LEAST, self.kept_at_least(wanted)?);
        let grant = lower(true).or_else(|| is_needed.then(|| lower(false)).flatten()).or_else(least);
        grant.map_or(Permission::Refused, Permission::Granted)
    }

    /// Decides whether a request may be shown to the host. The call limit includes a shown request, although nothing is
    /// sent.
    pub(super) fn show(&mut self, wanted: &AttemptRequest) -> Permission<()> {
        match self.decide(wanted) {
            Permission::Granted((_, level)) => {
                self.note_granted(wanted, level);
                self.shown.insert(wanted.key.clone());
                Permission::Granted(())
            }
            Permission::Later => Permission::Later,
            Permission::Refused => Permission::Refused,
        }
    }

    /// Permits a request that the host has answered. Does not check whether other calls still fit, because the request
    /// was already counted as a call when it was shown.
    fn accept(&self, wanted: &AttemptRequest) -> Permission<(Reservation, AnswerLength)> {
        let payee = self.payees.get(&wanted.key.agent_id);
        let grant = payee.and_then(|payee| self.grant(payee, wanted, self.level, Amount::ZERO));
        grant.map_or(Permission::Refused, Permission::Granted)
    }

    fn note_granted(&mut self, wanted: &AttemptRequest, level: AnswerLength) {
        // No reserved call reads the results of optional ones.
        if wanted.cost != BudgetClass::Extra {
            self.written = self.written.max(level);
        }
        if !wanted.offers_tools {
            let is_paid = |call: &Planned| {
                call.key == wanted.key && (call.is_second_chance == wanted.is_second_chance || wanted.is_second_chance)
            };
            self.rest.retain(|call| !is_paid(call));
            self.closing.retain(|call| !is_paid(call));
            self.check.retain(|call| !is_paid(call));
            self.spare.retain(|call| !is_paid(call));
        }
    }

    /// Plans the reserves of the calls in `near`. `spares` says whether the limit also covers optional calls.
    fn plan(&mut self, near: &CostRange, spares: bool, is_first_round: bool) {
        self.rest = near.merged(CostPlan::needed);
        self.closing = near.closing(true);
        self.check = near.check();
        let is_affordable = self.is_check_affordable(is_first_round);
        if !is_affordable {
            self.check.clear();
            self.closing = near.closing(false);
        }
        // Savings of other calls may still pay for the check, but not for another round as well.
        self.is_round_too_dear = !is_affordable && !is_first_round;
        self.spare = if spares { near.merged(CostPlan::spare) } else { Vec::new() };
        for calls in [&mut self.rest, &mut self.closing, &mut self.check, &mut self.spare] {
            calls.retain(|call| !self.shown.contains(&call.key));
        }
        self.written = AnswerLength::LEAST;
    }

    /// Whether the closing and the check fit under the limit; in the first round, together with the rest of the round.
    fn is_check_affordable(&self, is_first_round: bool) -> bool {
        let rest = if is_first_round { &self.rest[..] } else { &[][..] };
        let calls = rest.iter().chain(&self.closing).chain(&self.check);
        self.need(calls, AnswerLength::LEAST, None).fits(self.room())
    }
}

impl Engine {
    pub(super) fn stop_for_budget(&mut self) -> Result<(), EngineError> {
        if self.is_out_of_money() {
            return Ok(());
        }
        if let Some(limit) = self.limit() {
            self.warn(format!("the {limit} leaves no room for further calls; ending the debate early"));
        }
        self.append(Event::Stopping { reason: StopReason::Budget })?;
        Ok(())
    }

    pub(super) fn limit(&self) -> Option<BudgetLimit> {
        self.budget.as_ref().map(|budget| budget.limit)
    }

    /// Adds the reservations of these calls to what was spent, because no results will arrive.
    pub(super) fn abandon_cost(&mut self, keys: &[CallKey]) {
        if let Some(budget) = &mut self.budget {
            budget.ledger.abandon_calls(keys);
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.debate().stop_reason.is_some()
    }

    pub(super) fn is_out_of_money(&self) -> bool {
        self.debate().stop_reason == Some(StopReason::Budget)
    }

    /// If the permission is granted, the journal already contains the reservation.
    pub(super) fn reserve(&mut self, wanted: &AttemptRequest) -> Result<Permission<Reserved>, StoreError> {
        let was_shown = self.budget.as_mut().is_some_and(|budget| budget.shown.remove(&wanted.key));
        let Some(budget) = &self.budget else { return self.note_unlimited(wanted) };
        let (reservation, level) = match if was_shown { budget.accept(wanted) } else { budget.decide(wanted) } {
            Permission::Granted(grant) => grant,
            Permission::Later => return Ok(Permission::Later),
            Permission::Refused => return Ok(Permission::Refused),
        };
        // The state records the limits of the debate's answers, not those of follow-up questions.
        if self.debate().status != Status::Completed {
            let lowered = budget.lowered(std::iter::once(&wanted.key.agent_id), level);
            self.say_lowered(lowered)?;
        }
        let Reservation { key, usd, factor, bytes, max_tokens } = reservation;
        let recorded = self.record_event(Event::CostReserved { key, usd, factor, bytes, max_tokens })?;
        if let Some(budget) = &mut self.budget {
            budget.note_granted(wanted, level);
        }
        Ok(Permission::Granted(Reserved { number: recorded.seq, max_tokens }))
    }

    /// A copied journal must list even attempts without a limit, because the next worker must know which calls were in
    /// flight. The cost is the maximum, or zero if unknown.
    fn note_unlimited(&mut self, wanted: &AttemptRequest) -> Result<Permission<Reserved>, StoreError> {
        if self.record.replica.is_none() {
            return Ok(Permission::Refused);
        }
        let (key, mut bytes, mut usd) = (wanted.key.clone(), wanted.bytes, Usd::ZERO);
        let settings = self.debate().settings.as_ref();
        let agent = self.panel.agent(&key.agent_id).map(|agent| &agent.settings);
        if let Some((agent, settings)) = agent.zip(settings)
            && let Some(price) = price_of(agent, settings)
        {
            let payee = PricedAgent::of(agent, price, settings, self.panel.routed.contains(&agent.provider));
            bytes = payee.read(bytes);
            usd = Measures::default().bound(bytes, payee.answer(AnswerLength::FULL), price);
        }
        let event = Event::CostReserved { key, usd, factor: 1.0, bytes: bytes as u64, max_tokens: None };
        let number = self.record_event(event)?.seq;
        Ok(Permission::Granted(Reserved { number, max_tokens: None }))
    }

    /// `until` is the last round to plan; the closing is always included.
    pub(super) fn plan_costs(&mut self, until: u32) -> Result<(), EngineError> {
        if self.budget.is_none() {
            return Ok(());
        }
        let debate = self.debate().clone();
        self.plan_costs_of(&debate, until)
    }

    pub(super) fn plan_costs_of(&mut self, debate: &Debate, until: u32) -> Result<(), EngineError> {
        if self.budget.is_none() {
            return Ok(());
        }
        let beginnings = self.beginnings()?;
        let Some(budget) = &self.budget else { return Ok(()) };
        let views = |until| CostRange::of(self.protocol, &self.panel, budget, &beginnings, debate, until);
        let near = views(until)?;
        let last = self.debate().known_settings().debate.rounds.max(until);
        // If no rounds follow, this would equal `near`.
        let further = if self.is_stopping() || !near.goes_on() { None } else { Some(views(last)?) };
        let all = further.as_ref().unwrap_or(&near);
        let level = budget.highest_level(&near, all);
        let mut left_out = if level.is_some() { Vec::new() } else { all.dispensable(debate) };
        let lowered = self.panel.agents.iter().map(|agent| &agent.settings.id);
        let lowered = budget.lowered(lowered, level.unwrap_or(AnswerLength::LEAST));
        if let Some(budget) = &mut self.budget {
            budget.plan(&near, level.is_some(), debate.current_round <= 1);
            budget.level = level.unwrap_or(AnswerLength::LEAST);
            // In later rounds, whether to skip the check is decided just before it.
            if budget.check.is_empty() && debate.current_round <= 1 {
                left_out.extend(near.checking(debate));
            }
        }
        if !self.is_stopping() {
            self.say_left_out(&left_out);
            self.say_lowered(lowered)?;
        }
        Ok(())
    }

    fn say_left_out(&mut self, left_out: &[String]) {
        let Some(budget) = self.budget.as_mut().filter(|budget| !budget.has_said_left_out) else { return };
        if left_out.is_empty() {
            return;
        }
        budget.has_said_left_out = true;
        let (limit, left_out) = (budget.limit, list(left_out));
        self.warn(format!(
            "the {limit} leaves no room for {left_out} unless the other calls use less than their maximum"
        ));
    }

    /// Skips the check in `stage` if the limit does not cover it, unless one of its calls has already been made.
    pub(super) fn skip_check(&mut self, stage: StageId) -> Result<(), EngineError> {
        let Some(budget) = self.budget.as_ref().filter(|budget| budget.check.is_empty()) else { return Ok(()) };
        let debate = self.debate();
        let declared = self.protocol.stage(stage);
        let steps = declared.filter(|stage| stage.info.yields == Some(ResultKind::Check));
        let steps = steps.map(|stage| (stage.steps)(debate)).unwrap_or_default();
        if steps.is_empty() || steps.iter().any(|step| debate.settled(&step.key).is_some()) {
            return Ok(());
        }
        let limit = budget.limit;
        self.warn(format!("the {limit} leaves no room for checking the answer; skipping the check"));
        Ok(self.append(Event::CheckForgone)?)
    }

    /// Whether the rest of the round and the closing fit under the limit; after the first round, only together with the
    /// check.
    pub(super) fn is_plan_affordable(&self) -> bool {
        self.budget.as_ref().is_none_or(|budget| {
            let calls = budget.rest.iter().chain(&budget.closing).chain(&budget.check);
            !budget.is_round_too_dear && budget.need(calls, AnswerLength::LEAST, None).fits(budget.room())
        })
    }

    fn say_lowered(&mut self, lowered: Option<u32>) -> Result<(), StoreError> {
        let Some(max_tokens) = lowered else { return Ok(()) };
        if self.debate().output_limit.is_some_and(|before| before <= max_tokens) {
            return Ok(());
        }
        if let Some(limit) = self.limit() {
            self.warn(format!("limiting answers to {max_tokens} tokens to stay within the {limit}"));
        }
        self.record_event(Event::OutputLimited { max_tokens })?;
        Ok(())
    }

    pub(super) fn watch_cost(&mut self) -> Result<(), StoreError> {
        let debate = self.debate();
        let limit = debate.known_settings().debate.budget.warn_cost_usd;
        if let Some(limit) = limit.filter(|limit| self.known_cost >= *limit && debate.cost_warning.is_none()) {
            self.record_event(Event::CostWarned { usd: self.known_cost, limit })?;
        }
        Ok(())
    }
}

/// The total cost of the calls in `events`, as far as it is known. Omits calls that a fork copied from its parent.
pub fn known_cost(events: &[Recorded]) -> Usd {
    events.iter().filter_map(|recorded| cost_of(&recorded.event)).sum()
}

pub(super) fn cost_of(event: &Event) -> Option<Usd> {
    event.call().filter(|call| !call.copied).and_then(|call| call.cost_usd)
}

#[cfg(test)]
mod tests {
    use dialectic_base::price::Price;
    use dialectic_record::ids::Timestamp;
    use dialectic_record::settings::default_settings;

    use super::*;
    use crate::engine::rehearsal::RehearsedCall;
    use crate::engine::tests::hosted;

    #[test]
    fn a_question_waits_for_nothing_that_an_earlier_run_sent_and_needs_a_call_of_its_own() {
        let mut settings = default_settings();
        settings.debate.budget.max_calls = Some(1);
        let key = CallKey::new(1, StageId::new("proposal"), &settings.judge.id);
        let usd = Usd::from_dollars(0.5);
        let event = Event::CostReserved { key: key.clone(), usd, factor: 1.0, bytes: 1, max_tokens: None };
        let past = [Recorded { seq: 1, at: Timestamp::now(), event }];
        let budget = |own| Budget::of(&settings, &BTreeSet::new(), &past).unwrap().of_follow_up(own);
        let cost = BudgetClass::Closing;
        let wanted = AttemptRequest { key, cost, bytes: 1, is_second_chance: false, offers_tools: false };
        let spent = budget(BudgetLimit::default());
        assert!(!spent.ledger.is_waiting());
        assert!(matches!(spent.check_room(&wanted), Err(FollowUpError::NoCallLeft)));
        let more = budget(BudgetLimit { usd: Some(usd), calls: Some(1) });
        assert_eq!((more.limit.usd, more.limit.calls), (Some(usd + usd), Some(2)));
        assert!(more.check_room(&wanted).is_ok());
    }

    #[tokio::test]
    async fn what_a_call_that_died_may_cost_is_spent_and_not_waited_for() {
        let (_keep, mut engine) = hosted(100);
        let step = engine.protocol.steps(engine.debate()).next().unwrap();
        let (key, usd) = (step.key.clone(), Usd::from_dollars(0.5));
        engine.calls.spawn(step, 0, async { panic!("as the test wants it") });
        engine.append(Event::CostReserved { key, usd, factor: 1.0, bytes: 1, max_tokens: None }).unwrap();
        engine.record_next().await.unwrap().unwrap();
        assert_eq!(engine.debate().failures.len(), 1);
        let ledger = &engine.budget.as_ref().unwrap().ledger;
        assert_eq!((ledger.taken(), ledger.is_waiting()), (usd, false));
    }

    fn wanted(agent: &AgentId, cost: BudgetClass) -> AttemptRequest {
        let key = CallKey::new(1, StageId::new("proposal"), agent);
        AttemptRequest { key, cost, bytes: 1, is_second_chance: false, offers_tools: false }
    }

    fn planned(wanted: &AttemptRequest) -> Vec<Planned> {
        let AttemptRequest { key, cost, bytes, is_second_chance, offers_tools } = wanted.clone();
        Planned::merge(&[], &[RehearsedCall { key, cost, in_round: true, is_second_chance, bytes, offers_tools }])
    }

    /// A budget, and an attempt of each of two agents in a round.
    fn of_two_agents(limit: BudgetLimit) -> (Budget, [AttemptRequest; 2]) {
        let mut settings = default_settings();
        (settings.debate.budget.max_cost_usd, settings.debate.budget.max_calls) = (limit.usd, limit.calls);
        settings.agents.truncate(2);
        settings.agents[1].model = "other".to_owned();
        let ids = [&settings.agents[0], &settings.agents[1]].map(|agent| {
            settings.prices.insert(agent.model.clone(), Price::flat(1.0, None, 1.0));
            &agent.id
        });
        let budget = Budget::of(&settings, &BTreeSet::new(), &[]).unwrap();
        (budget, ids.map(|id| wanted(id, BudgetClass::Round)))
    }

    #[test]
    fn a_round_leaves_the_call_of_the_answer() {
        let (mut budget, [one, other]) = of_two_agents(BudgetLimit { usd: None, calls: Some(1) });
        budget.closing = planned(&AttemptRequest { cost: BudgetClass::Closing, ..other });
        assert!(matches!(budget.decide(&one), Permission::Refused));
    }

    #[test]
    fn what_the_host_is_shown_counts_once() {
        let (mut budget, [one, other]) = of_two_agents(BudgetLimit { usd: None, calls: Some(2) });
        budget.rest = planned(&one);
        assert!(matches!(budget.show(&one), Permission::Granted(())));
        let extra = AttemptRequest { cost: BudgetClass::Extra, ..other };
        assert!(matches!(budget.show(&extra), Permission::Granted(())), "nothing is kept for the first any more");
        let third = wanted(&AgentId::from("judge-main"), BudgetClass::Extra);
        assert!(matches!(budget.show(&third), Permission::Refused));
    }

    #[test]
    fn a_model_that_has_not_answered_is_asked_alone_and_at_four_times_its_price() {
        let (mut budget, [one, other]) = of_two_agents(BudgetLimit { usd: Some(Usd::from_dollars(1.0)), calls: None });
        let Permission::Granted((reserved, _)) = budget.decide(&one) else { panic!("it fits") };
        let payee = budget.payees.get(&one.key.agent_id).unwrap();
        let list = budget.ledger.measures(&payee.model).bound(1, payee.answer(budget.level), payee.price);
        assert_eq!(reserved.usd, list.times(4.0));
        let mut reserve = |usd| {
            let event = Event::CostReserved { key: one.key.clone(), usd, factor: 4.0, bytes: 1, max_tokens: None };
            budget.apply(&Recorded { seq: 1, at: Timestamp::now(), event });
            [&one, &other].map(|wanted| match budget.decide(wanted) {
                Permission::Granted(_) => "granted",
                Permission::Later => "later",
                Permission::Refused => "refused",
            })
        };
        assert_eq!(reserve(reserved.usd), ["later", "granted"]);
        // What is in flight may cost less than was set aside.
        assert_eq!(reserve(Usd::from_dollars(1.0)), ["later", "later"]);
    }

    #[test]
    fn calls_copied_into_a_fork_are_no_cost_of_its_own() {
        let cost = |copied: bool| {
            let call = serde_json::json!({
                "type": "replied",
                "key": CallKey::new(1, StageId::new("proposal"), &"a".into()),
                "reply": {"text": "yes"},
                "call": {"model": "m", "provider": "p", "latencyMs": 0, "attempts": 1, "costUsd": 0.5, "copied": copied},
            });
            known_cost(&[Recorded { seq: 1, at: Timestamp::now(), event: serde_json::from_value(call).unwrap() }])
        };
        assert_eq!([false, true].map(cost), [Usd::from_dollars(0.5), Usd::ZERO]);
    }
}
