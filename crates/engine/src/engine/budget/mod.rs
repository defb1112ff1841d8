//! What the limit of cost or calls means for a debate: which attempts may be sent and how long their answers may be, what is kept
//! for the rest of the round and for the closing, whether another round fits, when to stop.
//!
//! Before an attempt is sent, what it could cost at most is set aside in the journal; the event with its result puts
//! what it did cost in the place of that. An attempt that does not fit beside what is kept waits until others have come
//! back, gets a lower output limit when none is left to wait for, and is refused when even that does not help. So a
//! round that was begun can be finished, and the judge can always close. Where all of the debate is likely to fit, what
//! it could do without is kept for as well, and gives way only to what it needs. `docs/models.md` names the
//! assumptions.

mod ledger;
mod limits;
mod outlook;
mod purchase;

use std::collections::BTreeSet;

use ledger::CostLedger;
use limits::{Level, Payee, Payees, Planned};
use outlook::{Outlook, Views};

use dialectic_base::call::CallRecord;
use dialectic_base::figures::list;
use dialectic_base::money::{Amount, BudgetLimit, Usd};
use dialectic_llm::{Request, Reserved, request_bytes};
use dialectic_record::debate::{
    AgentId, CallKey, Debate, Event, Recorded, ResultKind, Settings, StageId, Status, StopReason,
};
use dialectic_record::protocol::{Authorship, BudgetClass, OutputSpec, Step};
use dialectic_record::store::StoreError;

use super::{Engine, EngineError};

pub use ledger::CostLedger as Books;

pub use limits::{BudgetError, check_prices};
pub use purchase::{check_purchase, purchase};

/// What may be spent, what has been, and what is still needed.
#[derive(Debug)]
pub(super) struct Budget {
    limit: BudgetLimit,
    payees: Payees,
    ledger: CostLedger,
    /// The calls that the round in progress still needs.
    rest: Vec<Planned>,
    /// The calls that close the debate.
    closing: Vec<Planned>,
    /// The calls that check the answer; none where the limit does not buy all of them.
    check: Vec<Planned>,
    /// Whether a round lies ahead that is worth less than the check, which the limit does not buy.
    is_round_too_dear: bool,
    /// The calls until then that the debate could do without, where the limit buys them.
    spare: Vec<Planned>,
    /// How long answers may be, so that all of the debate is likely to fit.
    level: Level,
    /// How long answers of this round may have become.
    written: Level,
    /// Whether this run has said for what there is no room.
    has_said_left_out: bool,
}

/// An attempt that is to be sent.
#[derive(Debug, Clone)]
pub(super) struct AttemptRequest {
    key: CallKey,
    cost: BudgetClass,
    bytes: usize,
    /// Whether it asks for the last time, after an answer that would not do.
    is_second_chance: bool,
    /// Whether the model may call tools, and be asked again with what they say.
    offers_tools: bool,
}

impl AttemptRequest {
    /// An attempt of `step`.
    pub(super) fn of(step: &Step, request: &Request) -> Self {
        let goes_on = !request.turns.is_empty();
        let is_second_chance = match &step.answer {
            // Tools answer in turns of their own.
            OutputSpec::Text | OutputSpec::Check(_) => {
                matches!(request.turns.last(), Some(dialectic_llm::Turn::User(_)))
            }
            OutputSpec::Summary | OutputSpec::Amendment | OutputSpec::FollowUp => false,
            // A solution comes as text; what asks for JSON is after its assessment alone.
            OutputSpec::Solution(Authorship::Judge | Authorship::Amended | Authorship::Based(_)) => {
                goes_on || request.answer.is_some()
            }
            OutputSpec::Solution(Authorship::Kept(_))
            | OutputSpec::Questions { .. }
            | OutputSpec::Score(_)
            | OutputSpec::Choice
            | OutputSpec::Word(_)
            | OutputSpec::Relations
            | OutputSpec::Challenge
            | OutputSpec::Kinds
            | OutputSpec::FindingRulings
            | OutputSpec::Judgement
            | OutputSpec::Scores(_) => goes_on,
        };
        let (key, cost, bytes) = (step.key.clone(), step.cost, request_bytes(request));
        Self { key, cost, bytes, is_second_chance, offers_tools: !request.tools.is_empty() }
    }
}

/// Whether an attempt may be sent.
pub(super) enum Permission<T> {
    /// Yes, with this.
    Granted(T),
    /// Not before others have come back.
    Later,
    /// No.
    Refused,
}

/// What a limit lacks for an attempt.
pub(super) enum Shortfall {
    /// No call is left.
    Calls,
    /// It can cost more than is left.
    Cost {
        /// What is left.
        room: Usd,
        /// What the shortest answer can cost.
        needed: Usd,
    },
}

/// What is set aside for an attempt.
struct Grant {
    usd: Usd,
    factor: f64,
    bytes: usize,
    max_tokens: Option<u32>,
    level: Level,
}

impl Budget {
    /// The limits in the settings, if there are some, as `past` events have left them.
    /// `routed` are the providers whose servers may ask other prices than the list.
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
            level: Level::FULL,
            written: Level::LEAST,
            has_said_left_out: false,
        };
        for recorded in past {
            budget.apply(recorded);
        }
        Some(budget)
    }

    /// Takes notice of an event.
    pub(super) fn apply(&mut self, recorded: &Recorded) {
        let payees = &self.payees;
        self.ledger.apply(recorded, |call: &CallRecord| payees.price_of(call));
    }

    /// The same for a question after the end of the debate: what was in flight when an earlier run ended counts as
    /// spent, and limits of the question's own come on top of that.
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

    /// Why the limit has no room for an attempt with the shortest answer.
    pub(super) fn shortfall(&self, wanted: &AttemptRequest) -> Option<Shortfall> {
        let payee = self.payees.get(&wanted.key.agent_id)?;
        let measures = self.ledger.measures(&payee.model);
        let needed =
            measures.bound(payee.read(wanted.bytes), payee.answer(Level::LEAST), payee.price).times(measures.factor());
        let room = self.room();
        if room.requests == 0 {
            return Some(Shortfall::Calls);
        }
        (needed > room.usd).then(|| Shortfall::Cost { room: room.usd, needed: needed.rounded_up() })
    }

    /// The lowest output limit among those that a level lowers. A limit of calls alone lowers none.
    fn lowered<'a>(&self, ids: impl Iterator<Item = &'a AgentId>, level: Level) -> Option<u32> {
        self.limit.usd.and_then(|_| self.payees.lowered(ids, level))
    }

    fn room(&self) -> Amount {
        self.limit.whole().saturating_sub(self.ledger.taken_in_all())
    }

    /// What has to stay free while an attempt is in flight; `spares` says whether also for what the debate could do
    /// without.
    fn kept_beside(&self, wanted: &AttemptRequest, written: Level, spares: bool) -> Amount {
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

    /// What calls could take at most when what they read is as long as `written` allows. A model's first answer may
    /// cost more; one that is asked for already, or now, is not among these.
    fn need<'a>(
        &self,
        calls: impl Iterator<Item = &'a Planned>,
        written: Level,
        now: Option<&AttemptRequest>,
    ) -> Amount {
        let asks =
            |key: &CallKey, payee: &Payee| self.payees.get(&key.agent_id).is_some_and(|it| it.model == payee.model);
        let is_asked = |payee: &Payee| {
            now.is_some_and(|wanted| asks(&wanted.key, payee)) || self.ledger.has_in_flight(|key| asks(key, payee))
        };
        self.payees.need(&self.ledger, calls, written, is_asked)
    }

    /// What is kept for the closing beyond its likely cost until the end, since its models are asked nothing before it:
    /// their first answers may cost more than is known of. `read` is how long the texts are that they read.
    fn margin_of_closing(&self, views: &Views, read: Level) -> Amount {
        // Where nothing else is left, nothing else takes of it.
        if views.full.before_closing().next().is_none() {
            return Amount::ZERO;
        }
        let model = |key: &CallKey| self.payees.get(&key.agent_id).map(|payee| &payee.model);
        let known: Vec<_> = views.full.needed().into_iter().filter_map(|call| model(&call.key)).collect();
        let mut closing = views.closing(true);
        closing.retain(|call| model(&call.key).is_some_and(|model| !known.contains(&model)));
        let need = self.payees.need(&self.ledger, closing.iter(), read, |_| false);
        need.saturating_sub(self.likely(&closing, read, Level::LEAST))
    }

    /// What an attempt may have when what is kept beside it is less important than it is.
    fn kept_at_least(&self, wanted: &AttemptRequest) -> Option<Amount> {
        match wanted.cost {
            BudgetClass::Closing => Some(Amount::ZERO),
            BudgetClass::Check => Some(self.need(self.closing.iter(), self.written, Some(wanted))),
            BudgetClass::Round if !wanted.offers_tools => {
                // Nothing but the first round is worth more than the check of what comes of it.
                let check = if wanted.key.round > 1 { &self.check[..] } else { &[][..] };
                Some(self.need(self.closing.iter().chain(check), self.written, Some(wanted)))
            }
            // What the debate can do without is not paid from what it needs.
            BudgetClass::Round | BudgetClass::Extra | BudgetClass::Decision => None,
        }
    }

    fn grant(&self, payee: &Payee, wanted: &AttemptRequest, level: Level, kept: Amount) -> Option<Grant> {
        let max_tokens = payee.answer(level);
        let measures = self.ledger.measures(&payee.model);
        let factor = measures.factor();
        let bytes = payee.read(wanted.bytes);
        let usd = measures.bound(bytes, max_tokens, payee.price).times(factor);
        let max_tokens = self.limit.usd.map(|_| max_tokens);
        let needed = Amount::request(usd) + kept;
        needed.fits(self.room()).then_some(Grant { usd, factor, bytes, max_tokens, level })
    }

    /// Whether an attempt may be sent, and what is set aside for it.
    fn decide(&self, wanted: &AttemptRequest) -> Permission<Grant> {
        let Some(payee) = self.payees.get(&wanted.key.agent_id) else { return Permission::Refused };
        let is_known = self.ledger.measures(&payee.model).answered || payee.is_free();
        let is_same = |key: &CallKey| self.payees.get(&key.agent_id).is_some_and(|other| other.model == payee.model);
        if !is_known && self.ledger.has_in_flight(is_same) {
            return Permission::Later;
        }
        let at = |level: Level, spares: bool| {
            self.grant(payee, wanted, level, self.kept_beside(wanted, level.max(self.written), spares))
        };
        if let Some(grant) = at(self.level, true) {
            return Permission::Granted(grant);
        }
        if self.ledger.is_waiting() {
            return Permission::Later;
        }
        let lower = |spares| self.level.and_below().find_map(|level| at(level, spares));
        // What the debate could do without gives way to what it needs, but not to its like.
        let is_needed = wanted.cost != BudgetClass::Extra;
        let least = || self.grant(payee, wanted, Level::LEAST, self.kept_at_least(wanted)?);
        let grant = lower(true).or_else(|| is_needed.then(|| lower(false)).flatten()).or_else(least);
        grant.map_or(Permission::Refused, Permission::Granted)
    }

    /// Takes a granted call off the list of those that are still needed.
    fn note_granted(&mut self, wanted: &AttemptRequest, level: Level) {
        // Nothing that is kept for reads what the debate could do without.
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

    /// Sets what is needed until a round is over and the debate closed: the calls with answers as short and as long as
    /// they may be. `spares` says whether the limit buys what the debate could do without, too.
    fn plan(&mut self, near: &Views, spares: bool, is_first_round: bool) {
        self.rest = near.merged(Outlook::needed);
        self.closing = near.closing(true);
        self.check = near.check();
        let is_affordable = self.is_check_affordable(is_first_round);
        if !is_affordable {
            self.check.clear();
            self.closing = near.closing(false);
        }
        // What the rest takes less than it can may still buy the check, but not beside another round.
        self.is_round_too_dear = !is_affordable && !is_first_round;
        self.spare = if spares { near.merged(Outlook::spare) } else { Vec::new() };
        self.written = Level::LEAST;
    }

    /// Whether the limit covers the whole check and the closing; in the first round, the rest of that round too.
    fn is_check_affordable(&self, is_first_round: bool) -> bool {
        let rest = if is_first_round { &self.rest[..] } else { &[][..] };
        let calls = rest.iter().chain(&self.closing).chain(&self.check);
        self.need(calls, Level::LEAST, None).fits(self.room())
    }

    /// Whether what is needed fits, the check included but for the first round.
    fn is_need_met(&self) -> bool {
        let calls = self.rest.iter().chain(&self.closing).chain(&self.check);
        !self.is_round_too_dear && self.need(calls, Level::LEAST, None).fits(self.room())
    }
}

impl Engine {
    /// Has the debate close now, and says so. Saying it once is enough.
    pub(super) fn stop_for_budget(&mut self) -> Result<(), EngineError> {
        if self.is_out_of_money() {
            return Ok(());
        }
        if let Some(limit) = self.limit() {
            self.warn(format!("the {limit} has no room for more: the debate closes with what is there"));
        }
        self.append(Event::Stopping { reason: StopReason::Budget })?;
        Ok(())
    }

    /// The limit of cost or calls, if there is one.
    pub(super) fn limit(&self) -> Option<BudgetLimit> {
        self.budget.as_ref().map(|budget| budget.limit)
    }

    /// Nothing more is heard of these calls: what was set aside for them may be on the bill.
    pub(super) fn abandon_cost(&mut self, keys: &[CallKey]) {
        if let Some(budget) = &mut self.budget {
            budget.ledger.abandon_calls(keys);
        }
    }

    /// Whether the debate was told to close.
    pub(super) fn is_stopping(&self) -> bool {
        self.debate().stop_reason.is_some()
    }

    /// Whether the limit of cost or calls is why it was told so.
    pub(super) fn is_out_of_money(&self) -> bool {
        self.debate().stop_reason == Some(StopReason::Budget)
    }

    /// Whether an attempt may be sent. What is set aside for it is in the journal then.
    pub(super) fn reserve(&mut self, wanted: &AttemptRequest) -> Result<Permission<Reserved>, StoreError> {
        let Some(budget) = &self.budget else { return Ok(Permission::Refused) };
        let grant = match budget.decide(wanted) {
            Permission::Granted(grant) => grant,
            Permission::Later => return Ok(Permission::Later),
            Permission::Refused => return Ok(Permission::Refused),
        };
        let Grant { usd, factor, bytes, max_tokens, level } = grant;
        // The state says to what the answers of the debate were held, not those of later questions.
        if self.debate().status != Status::Completed {
            let lowered = budget.lowered(std::iter::once(&wanted.key.agent_id), level);
            self.say_lowered(lowered)?;
        }
        let (key, bytes) = (wanted.key.clone(), bytes as u64);
        let recorded = self.record_event(Event::CostReserved { key, usd, factor, bytes, max_tokens })?;
        if let Some(budget) = &mut self.budget {
            budget.note_granted(wanted, level);
        }
        Ok(Permission::Granted(Reserved { number: recorded.seq, max_tokens }))
    }

    /// Looks at what the debate needs until its round `until` is over and it is closed, and at how long answers may be
    /// for all of it to fit.
    pub(super) fn plan_costs(&mut self, until: u32) -> Result<(), EngineError> {
        if self.budget.is_none() {
            return Ok(());
        }
        let debate = self.debate().clone();
        self.plan_costs_of(&debate, until)
    }

    /// The same from where `debate` stands.
    pub(super) fn plan_costs_of(&mut self, debate: &Debate, until: u32) -> Result<(), EngineError> {
        if self.budget.is_none() {
            return Ok(());
        }
        let shared = self.shared()?;
        let Some(budget) = &self.budget else { return Ok(()) };
        let views = |until| Views::of(self.protocol, &self.panel, budget, &shared, debate, until);
        let near = views(until)?;
        let last = self.debate().known_settings().debate.rounds.max(until);
        // Where no further round follows, it would be the same.
        let further = if self.is_stopping() || !near.goes_on() { None } else { Some(views(last)?) };
        let all = further.as_ref().unwrap_or(&near);
        let level = budget.highest_level(&near, all);
        let mut left_out = if level.is_some() { Vec::new() } else { all.dispensable(debate) };
        let lowered = self.panel.agents.iter().map(|agent| &agent.settings.id);
        let lowered = budget.lowered(lowered, level.unwrap_or(Level::LEAST));
        if let Some(budget) = &mut self.budget {
            budget.plan(&near, level.is_some(), debate.current_round <= 1);
            budget.level = level.unwrap_or(Level::LEAST);
            // Whether it is left out after the first round is seen when it is due.
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

    /// Says, once in a run, for what there is no room.
    fn say_left_out(&mut self, left_out: &[String]) {
        let Some(budget) = self.budget.as_mut().filter(|budget| !budget.has_said_left_out) else { return };
        if left_out.is_empty() {
            return;
        }
        budget.has_said_left_out = true;
        let (limit, left_out) = (budget.limit, list(left_out));
        self.warn(format!(
            "the {limit} has no room for {left_out}: they are left out unless the other calls use less than \
             their maximum"
        ));
    }

    /// Puts on record that the answer is not checked, where the limit does not buy all the calls that `stage` makes for
    /// that and none has been made.
    pub(super) fn forgo_check(&mut self, stage: StageId) -> Result<(), EngineError> {
        let Some(budget) = self.budget.as_ref().filter(|budget| budget.check.is_empty()) else { return Ok(()) };
        let debate = self.debate();
        let declared = self.protocol.stage(stage);
        let steps = declared.filter(|stage| stage.info.yields == Some(ResultKind::Check));
        let steps = steps.map(|stage| (stage.steps)(debate)).unwrap_or_default();
        if steps.is_empty() || steps.iter().any(|step| debate.settled(&step.key).is_some()) {
            return Ok(());
        }
        let limit = budget.limit;
        self.warn(format!("the {limit} has no room for the check of the answer: it stands as it is"));
        Ok(self.append(Event::CheckForgone)?)
    }

    /// Whether what was planned for the next round fits, the closing after it included.
    pub(super) fn is_plan_affordable(&self) -> bool {
        self.budget.as_ref().is_none_or(Budget::is_need_met)
    }

    /// Says, once for each lower value, that answers are shorter than they could have been.
    fn say_lowered(&mut self, lowered: Option<u32>) -> Result<(), StoreError> {
        let Some(max_tokens) = lowered else { return Ok(()) };
        if self.debate().output_limit.is_some_and(|before| before <= max_tokens) {
            return Ok(());
        }
        if let Some(limit) = self.limit() {
            self.warn(format!("answers are held to {max_tokens} tokens, so that the debate fits the {limit}"));
        }
        self.record_event(Event::OutputLimited { max_tokens })?;
        Ok(())
    }

    /// Says once that the cost has reached `warnCostUsd`.
    pub(super) fn watch_cost(&mut self) -> Result<(), StoreError> {
        let debate = self.debate();
        let limit = debate.known_settings().debate.budget.warn_cost_usd;
        if let Some(limit) = limit.filter(|limit| self.known_cost >= *limit && debate.cost_warning.is_none()) {
            self.record_event(Event::CostWarned { usd: self.known_cost, limit })?;
        }
        Ok(())
    }
}

/// The cost of a debate's calls as far as it is known. Calls that a fork took over are its parent's.
pub fn known_cost(events: &[Recorded]) -> Usd {
    events.iter().filter_map(|recorded| cost_of(&recorded.event)).sum()
}

/// What the call of an event cost, where it is known and the debate's own.
pub(super) fn cost_of(event: &Event) -> Option<Usd> {
    event.call().filter(|call| !call.copied).and_then(|call| call.cost_usd)
}
