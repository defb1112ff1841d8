//! Plans the remaining calls of a debate under a limit: their prices, their output limits, and what the limit must
//! cover.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::access::{is_program, preset_of};
use crate::agent::{Panel, beginnings, limits_of, price_of};
use crate::engine::rehearsal::{Rehearsal, RehearsedCall, SampleAnswers};
use crate::engine::{EngineError, check_before_closing};
use dialectic_base::call::CallRecord;
use dialectic_base::figures::{counted, list};
use dialectic_base::money::{Amount, Usd};
use dialectic_base::price::Price;
use dialectic_llm::ANSWER_LIMIT;
use dialectic_llm::models::facts;
use dialectic_record::debate::{Debate, StopReason};
use dialectic_record::event::Event;
use dialectic_record::ids::{AgentId, CallKey};
use dialectic_record::live::Purchase;
use dialectic_record::protocol::{BudgetClass, Protocol};
use dialectic_record::settings::{AgentSettings, Settings};

use super::Budget;
use super::ledger::{CostLedger, Measures, ModelId};

/// The range of the output limit, in tokens, for agents without `maxTokens` under a cost limit.
const ANSWERS: RangeInclusive<u32> = 1024..=ANSWER_LIMIT;
/// The range of the output limit for reasoning models, whose reasoning counts as output.
const REASONED_ANSWERS: RangeInclusive<u32> = 4096..=16_384;
/// The number of steps in which output limits are lowered.
const STEPS: u16 = 16;

#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    #[error("the cost limit of {limit} cannot be enforced: no price is known for {}", models.join(", "))]
    Unpriced { limit: Usd, models: Vec<String> },
    #[error(
        "the cost limit of {limit} cannot be enforced: the maximum output of {} is unknown, and the output \
             of a program cannot be limited",
        models.join(", ")
    )]
    Unbounded { limit: Usd, models: Vec<String> },
    #[error("the {} does not cover one round and the answer: {}{}", _0.limit, one_round(_0), all_rounds(_0))]
    TooLow(Box<Purchase>),
    #[error("the {} does not cover the answer: {spent} so far, and {} to come", purchase.limit, one_round(purchase))]
    TooLowToGoOn {
        purchase: Box<Purchase>,
        /// For example, `$0.0060 spent or reserved and 4 calls made`.
        spent: String,
    },
}

fn one_round(purchase: &Purchase) -> String {
    figures(purchase, purchase.likely_round, purchase.one_round)
}

fn figures(purchase: &Purchase, likely: Usd, most: Amount) -> String {
    let calls = purchase.limit.calls.map(|_| counted(most.requests.into(), "call"));
    let cost = purchase.limit.usd.map(|_| format!("likely {likely}, at most {}", most.usd));
    calls.into_iter().chain(cost).collect::<Vec<_>>().join(", ")
}

/// Says what all rounds cost; empty if there is only one round and nothing was left out.
fn all_rounds(purchase: &Purchase) -> String {
    let Purchase { rounds, left_out, likely_all, all_rounds, .. } = purchase;
    let what = match (rounds, left_out.is_empty()) {
        (1, true) => return String::new(),
        (1, false) => format!("with {}", list(left_out)),
        (_, true) => format!("all {rounds} rounds"),
        (_, false) => format!("all {rounds} rounds with {}", list(left_out)),
    };
    format!("; {what}: {}", figures(purchase, *likely_all, *all_rounds))
}

/// Checks that a cost limit can be enforced: every model needs a price, and a program that is not free needs a known
/// maximum output.
///
/// # Errors
///
/// Returns an error that lists the models whose price or maximum output is unknown.
pub fn check_prices(settings: &Settings) -> Result<(), BudgetError> {
    let Some(limit) = settings.max_cost() else { return Ok(()) };
    let everybody = settings.everybody();
    let unpriced = everybody.filter(|agent| price_of(agent, settings).is_none());
    let models: BTreeSet<String> = unpriced.map(|agent| agent.model.clone()).collect();
    if models.is_empty() {
        let is_unbounded = |agent: &&AgentSettings| {
            let is_free = price_of(agent, settings).is_some_and(Price::is_free);
            !is_free && is_program(&agent.provider, &settings.providers) && output_of(agent, settings).is_none()
        };
        let models: BTreeSet<String> =
            settings.everybody().filter(is_unbounded).map(|agent| agent.model.clone()).collect();
        if models.is_empty() {
            return Ok(());
        }
        return Err(BudgetError::Unbounded { limit, models: models.into_iter().collect() });
    }
    Err(BudgetError::Unpriced { limit, models: models.into_iter().collect() })
}

/// The maximum output in tokens, for all requests that a program makes in one call.
fn output_of(agent: &AgentSettings, settings: &Settings) -> Option<u32> {
    let requests = preset_of(&agent.provider, &settings.providers).map_or(1, |preset| preset.requests);
    Some(limits_of(agent, settings).max_output?.saturating_mul(requests))
}

/// A number from 0 (the lowest output limits) to [`STEPS`] (the highest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AnswerLength(u16);

impl AnswerLength {
    pub(super) const LEAST: Self = Self(0);
    pub(super) const FULL: Self = Self(STEPS);

    /// Yields this level first, then lower ones in descending order.
    pub(super) fn and_below(self) -> impl Iterator<Item = Self> {
        (0..=self.0).rev().map(Self)
    }

    fn between(self, least: u64, full: u64) -> u64 {
        least + (full.saturating_sub(least) * u64::from(self.0)).div_ceil(u64::from(STEPS))
    }
}

#[derive(Debug, Clone)]
pub(super) struct PricedAgent {
    pub(super) model: ModelId,
    pub(super) price: Price,
    /// Whether the server's prices may differ from list prices.
    routed: bool,
    least: u32,
    most: u32,
    /// The maximum number of bytes that a program adds to a request.
    overhead: usize,
    requests: u32,
}

impl PricedAgent {
    pub(super) fn of(agent: &AgentSettings, price: Price, settings: &Settings, routed: bool) -> Self {
        let preset = preset_of(&agent.provider, &settings.providers);
        // The output of programs cannot be limited, and a limit set by the user is not changed.
        let (least, most) = if is_program(&agent.provider, &settings.providers) {
            // `check_prices` ensures that the maximum is known under a cost limit, unless the model is free.
            let most = output_of(agent, settings).unwrap_or(ANSWER_LIMIT);
            (most, most)
        } else if let Some(own) = agent.max_tokens {
            (own, own)
        } else {
            let facts = facts(&agent.provider, &agent.model);
            let limits = if facts.is_some_and(|facts| facts.reasons) { REASONED_ANSWERS } else { ANSWERS };
            let most = facts.and_then(|facts| facts.max_output).map_or(*limits.end(), |own| own.min(*limits.end()));
            (most.min(*limits.start()), most)
        };
        Self {
            model: (agent.provider.clone(), agent.model.clone()),
            price,
            routed,
            least,
            most,
            overhead: preset.map_or(0, |preset| preset.overhead),
            requests: preset.map_or(1, |preset| preset.requests),
        }
    }

    /// The number of bytes that the model reads. Exceeds `bytes` for a program, which adds to the prompt and may send
    /// the prompt repeatedly.
    pub(super) fn read(&self, bytes: usize) -> usize {
        (bytes + self.overhead) * self.requests as usize
    }

    /// The output limit in tokens.
    pub(super) fn answer(&self, level: AnswerLength) -> u32 {
        u32::try_from(level.between(u64::from(self.least), u64::from(self.most))).unwrap_or(self.most)
    }

    pub(super) fn is_free(&self) -> bool {
        self.price.is_free()
    }
}

#[derive(Debug)]
pub(super) struct Payees(HashMap<AgentId, PricedAgent>);

impl Payees {
    pub(super) fn of(settings: &Settings, routed: &BTreeSet<String>) -> Self {
        let everybody = settings.everybody();
        // Without a cost limit, prices do not matter and may be unknown.
        let is_free = settings.max_cost().is_none();
        let priced = everybody.filter_map(|agent| {
            let price = if is_free { Price::FREE } else { price_of(agent, settings)? };
            Some((agent.id.clone(), PricedAgent::of(agent, price, settings, routed.contains(&agent.provider))))
        });
        Self(priced.collect())
    }

    pub(super) fn get(&self, id: &AgentId) -> Option<&PricedAgent> {
        self.0.get(id)
    }

    pub(super) fn price_of(&self, call: &CallRecord) -> Option<Price> {
        let of_call = |payee: &&PricedAgent| payee.model.0 == call.provider && payee.model.1 == call.model;
        self.0.values().find(of_call).map(|payee| payee.price)
    }

    pub(super) fn answer_of(&self, id: &AgentId, level: AnswerLength) -> u32 {
        self.get(id).map_or(ANSWER_LIMIT, |payee| payee.answer(level))
    }

    pub(super) fn lowered<'a>(&self, ids: impl Iterator<Item = &'a AgentId>, level: AnswerLength) -> Option<u32> {
        let payees = ids.filter_map(|id| self.get(id));
        payees.filter(|payee| payee.answer(level) < payee.most).map(|payee| payee.answer(level)).min()
    }

    /// The maximum total cost of `calls` if they read texts of length `read` and answers have minimum length. Adds the
    /// possible extra cost of a model's first answer, unless `is_asked` says that another attempt already asks the
    /// model.
    pub(super) fn need<'a>(
        &self,
        ledger: &CostLedger,
        calls: impl Iterator<Item = &'a Planned>,
        read: AnswerLength,
        is_asked: impl Fn(&PricedAgent) -> bool,
    ) -> Amount {
        let mut firsts: HashMap<&ModelId, Usd> = HashMap::new();
        let mut sum = Amount::ZERO;
        for call in calls {
            let Some(payee) = self.get(&call.key.agent_id) else { continue };
            let cost = |factor: &dyn Fn(&Measures) -> f64| self.cost(ledger, call, read, AnswerLength::LEAST, factor);
            let cost_then = cost(&|measures| measures.planned_factor(payee.routed));
            if !is_asked(payee) {
                let more = cost(&Measures::factor).saturating_sub(cost_then);
                let first = firsts.entry(&payee.model).or_default();
                *first = more.max(*first);
            }
            sum += call.amount(cost_then);
        }
        sum + Amount { usd: firsts.into_values().sum(), requests: 0 }
    }

    fn cost(
        &self,
        ledger: &CostLedger,
        call: &Planned,
        read: AnswerLength,
        answer: AnswerLength,
        factor: impl Fn(&Measures) -> f64,
    ) -> Usd {
        let Some(payee) = self.get(&call.key.agent_id) else { return Usd::ZERO };
        let measures = ledger.measures(&payee.model);
        measures.bound(payee.read(call.bytes(read)), payee.answer(answer), payee.price).times(factor(&measures))
    }
}

/// `least` and `full` are the lengths of the request, in bytes, with short and with long texts.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) key: CallKey,
    pub(super) is_second_chance: bool,
    cost: BudgetClass,
    least: usize,
    full: usize,
}

impl Planned {
    /// Combines the calls of two rehearsals, with short and with long texts. Includes calls that only one rehearsal
    /// has.
    pub(super) fn merge<'a>(
        least: impl IntoIterator<Item = &'a RehearsedCall>,
        full: impl IntoIterator<Item = &'a RehearsedCall>,
    ) -> Vec<Self> {
        let mut short: BTreeMap<(&CallKey, bool), &RehearsedCall> =
            least.into_iter().map(|call| ((&call.key, call.is_second_chance), call)).collect();
        let mut merged: Vec<Self> = Vec::new();
        for call in full {
            let least = short.remove(&(&call.key, call.is_second_chance)).unwrap_or(call);
            merged.push(Self { least: least.bytes, ..Self::of(call) });
        }
        short.into_values().map(Self::of).chain(merged).collect()
    }

    fn of(call: &RehearsedCall) -> Self {
        let RehearsedCall { key, cost, is_second_chance, bytes, .. } = call.clone();
        Self { key, is_second_chance, cost, least: bytes, full: bytes }
    }

    /// Adds one call to the cost, unless it is a second request that does not ask for the final answer. Such a request
    /// is not counted, because it takes the place of an optional call.
    fn amount(&self, usd: Usd) -> Amount {
        let is_spared = self.is_second_chance && self.cost != BudgetClass::Closing;
        if is_spared { Amount { usd, requests: 0 } } else { Amount::request(usd) }
    }

    fn bytes(&self, read: AnswerLength) -> usize {
        usize::try_from(read.between(self.least as u64, self.full as u64)).unwrap_or(self.full)
    }
}

impl Budget {
    /// The likely cost of the plan if all texts that are read or written have the length `level`.
    fn likely_cost(&self, least: &CostPlan, full: &CostPlan, level: AnswerLength) -> Amount {
        let cost = |calls: &[Planned]| self.likely(calls, level, level);
        let rounds = least.rounds.iter().zip(&full.rounds).map(|(least, full)| cost(&Planned::merge(least, full)));
        let rounds: Vec<Amount> = rounds.collect();
        let further = rounds.last().map_or(Amount::ZERO, |last| last.times(full.further));
        let beside = |of: fn(&CostPlan) -> &Vec<RehearsedCall>| cost(&Planned::merge(of(least), of(full)));
        let beside = beside(|view| &view.around)
            + beside(|view| &view.closing_checked)
            + beside(|view| &view.decisions)
            + beside(|view| &view.check);
        rounds.into_iter().sum::<Amount>() + further + beside
    }

    pub(super) fn likely(&self, calls: &[Planned], read: AnswerLength, answer: AnswerLength) -> Amount {
        let cost = |call| self.payees.cost(&self.ledger, call, read, answer, Measures::likely_factor);
        calls.iter().map(|call| call.amount(cost(call))).sum()
    }

    /// The highest level at which the rest of the debate, `all`, probably fits with its optional calls, and the
    /// reserves for the current plan, `near`, certainly fit; `None` if there is no such level.
    pub(super) fn highest_level(&self, near: &CostRange, all: &CostRange) -> Option<AnswerLength> {
        let room = self.room();
        AnswerLength::FULL.and_below().find(|level| self.whole_cost(near, all, *level).fits(room))
    }

    fn whole_cost(&self, near: &CostRange, all: &CostRange, level: AnswerLength) -> Amount {
        let likely = self.likely_cost(&all.least, &all.full, level) + self.margin_of_closing(all, level);
        let kept = [near.merged(CostPlan::needed), near.merged(CostPlan::spare)].concat();
        likely.max(self.need(kept.iter().chain(&near.closing(true)).chain(&near.check()), level, None))
    }
}

/// Checks that a limit covers one complete round and the closing.
///
/// # Errors
///
/// Returns [`BudgetError::TooLow`] if the limit is too low.
pub fn check_purchase(purchase: &Purchase) -> Result<(), BudgetError> {
    if purchase.one_round.fits(purchase.limit.whole()) {
        return Ok(());
    }
    Err(BudgetError::TooLow(Box::new(purchase.clone())))
}

/// What a debate's limit covers from its current state on; `None` without a limit.
///
/// # Errors
///
/// Returns an error if a prompt cannot be rendered.
pub fn purchase(protocol: &'static Protocol, panel: &Panel, debate: &Debate) -> Result<Option<Purchase>, EngineError> {
    let Some(settings) = &debate.settings else { return Ok(None) };
    let Some(budget) = Budget::of(settings, &panel.routed, &[]) else { return Ok(None) };
    let beginnings = beginnings(debate)?;
    let rounds = settings.debate.rounds;
    // A fork may already contain a complete round.
    let last_of_round = debate.stages.iter().rfind(|stage| stage.in_round && stage.is_essential).map(|stage| stage.id);
    let mut contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let has_round = contributions.any(|one| Some(one.stage) == last_of_round);
    let until = if has_round { 0 } else { debate.current_round.max(1) };
    let first = CostRange::of(protocol, panel, &budget, &beginnings, debate, until)?;
    let checked = [first.merged(CostPlan::needed), first.closing(true), first.check()].concat();
    let is_checked = budget.need(checked.iter(), AnswerLength::LEAST, None).fits(budget.limit.whole());
    let one_round = [first.merged(CostPlan::needed), first.closing(false)].concat();
    let likely: Vec<Planned> = one_round.iter().filter(|call| !call.is_second_chance).cloned().collect();
    let likely_round = budget.likely(&likely, AnswerLength::LEAST, AnswerLength::LEAST).usd.rounded_up();
    let rounded_up = |amount: Amount| Amount { usd: amount.usd.rounded_up(), ..amount };
    let one_round = rounded_up(budget.need(one_round.iter(), AnswerLength::LEAST, None));
    let further =
        first.goes_on().then(|| CostRange::of(protocol, panel, &budget, &beginnings, debate, rounds)).transpose()?;
    let all = further.as_ref().unwrap_or(&first);
    let whole = budget.whole_cost(&first, all, AnswerLength::LEAST);
    let mut left_out = if whole.fits(budget.limit.whole()) { Vec::new() } else { all.dispensable(debate) };
    if !is_checked {
        left_out.extend(first.checking(debate));
    }
    let level = budget.highest_level(&first, all).unwrap_or(AnswerLength::LEAST);
    let bought = bought(&budget, all, debate.current_round.max(1), rounds);
    let answer_limit = budget.lowered(panel.agents.iter().map(|agent| &agent.settings.id), level);
    let all_rounds = rounded_up(whole).max(one_round);
    let likely_all = budget.likely_cost(&all.least, &all.full, AnswerLength::LEAST).usd.rounded_up().max(likely_round);
    Ok(Some(Purchase {
        limit: budget.limit,
        one_round,
        all_rounds,
        likely_round,
        likely_all,
        bought,
        rounds,
        left_out,
        answer_limit,
    }))
}

/// How many rounds fit with answers of minimum length, in addition to the closing and the check, but without optional
/// calls. The first round is assumed to fit; the check has priority over later rounds.
fn bought(budget: &Budget, all: &CostRange, current: u32, rounds: u32) -> u32 {
    let upto = |view: &CostPlan, rounds: usize, is_whole: bool| {
        let needed =
            |calls: &Vec<RehearsedCall>| calls.iter().filter(|call| call.cost != BudgetClass::Extra).cloned().collect();
        CostPlan {
            rounds: view.rounds.iter().take(rounds).map(needed).collect(),
            further: u32::try_from(rounds.saturating_sub(view.rounds.len())).unwrap_or(u32::MAX),
            around: if is_whole { needed(&view.around) } else { Vec::new() },
            goes_on: view.goes_on,
            closing: Vec::new(),
            closing_checked: view.closing_checked.clone(),
            decisions: if is_whole { view.decisions.clone() } else { Vec::new() },
            check: view.check.clone(),
        }
    };
    let first_answers = budget.margin_of_closing(all, AnswerLength::LEAST);
    let fits = |round: &u32| {
        let upto = |view: &CostPlan| upto(view, (round + 1 - current) as usize, *round == rounds);
        let taken = budget.likely_cost(&upto(&all.least), &upto(&all.full), AnswerLength::LEAST) + first_answers;
        taken.fits(budget.limit.whole())
    };
    (current..=rounds).take_while(fits).last().unwrap_or(current)
}

/// The maximum number of bytes per token in an answer.
const BYTES_PER_TOKEN: usize = 5;
/// The maximum number of rounds to rehearse. Further rounds are assumed to cost as much as the last rehearsed one:
/// protocols whose prompts keep growing have no further rounds, and others show bounded histories.
const MOST_ROUNDS: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct CostPlan {
    pub(super) rounds: Vec<Vec<RehearsedCall>>,
    /// The number of rounds after the rehearsed ones, assumed to cost as much as the last rehearsed one.
    pub(super) further: u32,
    pub(super) goes_on: bool,
    /// Calls outside the rounds, except the closing and the check.
    pub(super) around: Vec<RehearsedCall>,
    /// The calls that produce an answer without a check, even if the debate closes early.
    pub(super) closing: Vec<RehearsedCall>,
    /// The closing calls if there is a check, whose results they may read.
    pub(super) closing_checked: Vec<RehearsedCall>,
    /// Additional decisions of a debate that does not close early.
    pub(super) decisions: Vec<RehearsedCall>,
    pub(super) check: Vec<RehearsedCall>,
}

impl CostPlan {
    /// The plan ends with round `until` and the closing. `tokens` returns the length of each agent's answers.
    pub(super) fn of(
        protocol: &'static Protocol,
        panel: &Panel,
        beginnings: &[Arc<str>],
        debate: &Debate,
        until: u32,
        tokens: &dyn Fn(&AgentSettings) -> u32,
    ) -> Result<Self, EngineError> {
        let bytes = |agent: &AgentSettings| tokens(agent) as usize * BYTES_PER_TOKEN;
        let answers = SampleAnswers { bytes: &bytes, demanding: true, extends: false, disputes: false };
        let mut rehearsal = Rehearsal::new(protocol, panel, beginnings, debate, answers);
        let first = debate.current_round.max(1);
        let last = until.min(first.saturating_add(MOST_ROUNDS - 1));
        let mut plan = Self { further: until.saturating_sub(last), ..Self::default() };
        for call in rehearsal.rounds(last)? {
            match call.cost {
                // Some closing calls may be made in the last round.
                BudgetClass::Closing => {
                    plan.closing.push(call.clone());
                    plan.closing_checked.push(call);
                }
                BudgetClass::Check => plan.check.push(call),
                BudgetClass::Round | BudgetClass::Decision | BudgetClass::Extra if call.in_round => {
                    let place = call.key.round.saturating_sub(first) as usize;
                    if plan.rounds.len() <= place {
                        plan.rounds.resize_with(place + 1, Vec::new);
                    }
                    plan.rounds[place].push(call);
                }
                BudgetClass::Extra | BudgetClass::Round | BudgetClass::Decision => plan.around.push(call),
            }
        }
        plan.goes_on = rehearsal.goes_on();
        let of = |calls: Vec<RehearsedCall>, class| calls.into_iter().filter(move |call| call.cost == class);
        let regular = rehearsal.closing([])?;
        plan.decisions.extend(of(regular.clone(), BudgetClass::Decision));
        plan.check.extend(of(regular, BudgetClass::Check));
        let stopping = || Event::Stopping { reason: StopReason::Budget };
        plan.closing_checked.extend(of(rehearsal.closing([stopping()])?, BudgetClass::Closing));
        if check_before_closing(protocol).is_some() {
            plan.closing.extend(of(rehearsal.closing([stopping(), Event::CheckForgone])?, BudgetClass::Closing));
        } else {
            plan.closing = plan.closing_checked.clone();
        }
        Ok(plan)
    }

    pub(super) fn before_closing(&self) -> impl Iterator<Item = &RehearsedCall> {
        self.rounds.iter().flatten().chain(&self.around)
    }

    pub(super) fn needed(&self) -> Vec<&RehearsedCall> {
        self.before_closing().filter(|call| call.cost != BudgetClass::Extra).collect()
    }

    pub(super) fn spare(&self) -> Vec<&RehearsedCall> {
        self.before_closing().filter(|call| call.cost == BudgetClass::Extra).collect()
    }
}

/// `least` assumes answers of minimum length, and `full` answers of maximum length.
pub(super) struct CostRange {
    pub(super) least: CostPlan,
    pub(super) full: CostPlan,
}

impl CostRange {
    pub(super) fn of(
        protocol: &'static Protocol,
        panel: &Panel,
        budget: &Budget,
        beginnings: &[Arc<str>],
        debate: &Debate,
        until: u32,
    ) -> Result<Self, EngineError> {
        let at = |level| {
            let tokens = |agent: &AgentSettings| budget.payees.answer_of(&agent.id, level);
            CostPlan::of(protocol, panel, beginnings, debate, until, &tokens)
        };
        Ok(Self { least: at(AnswerLength::LEAST)?, full: at(AnswerLength::FULL)? })
    }

    pub(super) fn goes_on(&self) -> bool {
        self.least.goes_on || self.full.goes_on
    }

    pub(super) fn merged(&self, calls: impl Fn(&CostPlan) -> Vec<&RehearsedCall>) -> Vec<Planned> {
        Planned::merge(calls(&self.least), calls(&self.full))
    }

    pub(super) fn closing(&self, is_checked: bool) -> Vec<Planned> {
        self.merged(|view| if is_checked { &view.closing_checked } else { &view.closing }.iter().collect())
    }

    pub(super) fn check(&self) -> Vec<Planned> {
        self.merged(|view| view.check.iter().collect())
    }

    pub(super) fn dispensable(&self, debate: &Debate) -> Vec<String> {
        let spare = self.merged(CostPlan::spare);
        let stages = debate.stages.iter().filter(|stage| spare.iter().any(|call| call.key.stage == stage.id));
        stages.map(|stage| stage.words.plural.to_string()).collect()
    }

    pub(super) fn checking(&self, debate: &Debate) -> Vec<String> {
        let stages = debate.stages.iter().filter(|stage| self.full.check.iter().any(|call| call.key.stage == stage.id));
        stages.map(|stage| stage.words.plural.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use dialectic_record::ids::StageId;
    use dialectic_record::settings::{ModelLimits, default_settings};

    use super::*;

    fn foreseen(agent: &str, bytes: usize) -> RehearsedCall {
        let key = CallKey::new(1, StageId::new("proposal"), &AgentId::from(agent));
        RehearsedCall {
            key,
            cost: BudgetClass::Round,
            in_round: true,
            is_second_chance: false,
            bytes,
            offers_tools: false,
        }
    }

    fn payee(least: u32, most: u32) -> PricedAgent {
        let price = Price::flat(0.0, None, 1.0);
        PricedAgent {
            model: ("p".to_owned(), "m".to_owned()),
            price,
            routed: false,
            least,
            most,
            overhead: 0,
            requests: 1,
        }
    }

    #[test]
    fn levels_lead_from_the_shortest_limit_to_the_longest() {
        let payee = payee(1024, 4096);
        let answers: Vec<u32> = AnswerLength::FULL.and_below().map(|level| payee.answer(level)).collect();
        assert_eq!((answers.first(), answers.last(), answers.len()), (Some(&4096), Some(&1024), 17));
        assert!(answers.is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn a_program_is_limited_where_its_output_is_known_for_all_of_its_requests() {
        let mut settings = default_settings();
        settings.debate.budget.max_cost_usd = Some(Usd::from_dollars(1.0));
        for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
            (agent.provider, agent.model) = ("codex".to_owned(), "own".to_owned());
        }
        settings.prices.insert("own".to_owned(), Price::flat(1.0, None, 1.0));
        assert!(matches!(check_prices(&settings), Err(BudgetError::Unbounded { .. })));
        settings.models.insert("own".to_owned(), ModelLimits { max_output: Some(100), ..ModelLimits::default() });
        assert!(check_prices(&settings).is_ok());
        let payee = PricedAgent::of(&settings.judge, Price::FREE, &settings, false);
        assert!(payee.requests > 1 && payee.overhead > 0);
        assert_eq!(payee.answer(AnswerLength::FULL), 100 * payee.requests);
        assert_eq!(payee.read(10), (10 + payee.overhead) * payee.requests as usize);
    }

    #[test]
    fn the_users_own_output_limit_is_what_is_set_aside_for() {
        let mut settings = default_settings();
        settings.judge.max_tokens = Some(50_000);
        let payee = PricedAgent::of(&settings.judge, Price::FREE, &settings, false);
        assert_eq!([AnswerLength::LEAST, AnswerLength::FULL].map(|level| payee.answer(level)), [50_000; 2]);
    }

    #[test]
    fn only_the_answer_has_a_call_set_aside_for_its_second_chance() {
        for (cost, requests) in [(BudgetClass::Closing, 1), (BudgetClass::Round, 0), (BudgetClass::Check, 0)] {
            let call = RehearsedCall { is_second_chance: true, cost, ..foreseen("a", 10) };
            assert_eq!(Planned::of(&call).amount(Usd::ZERO).requests, requests, "{cost:?}");
        }
    }

    #[test]
    fn a_call_that_comes_twice_is_planned_twice_and_one_of_short_texts_too() {
        let second = |bytes| RehearsedCall { is_second_chance: true, ..foreseen("judge", bytes) };
        let least = [foreseen("judge", 10), second(20), foreseen("short", 5)];
        let full = [foreseen("judge", 100), second(200), foreseen("long", 50)];
        let mut planned: Vec<_> = Planned::merge(&least, &full)
            .into_iter()
            .map(|call| {
                (call.key.agent_id.to_string(), call.bytes(AnswerLength::LEAST), call.bytes(AnswerLength::FULL))
            })
            .collect();
        planned.sort();
        let expected = [("judge", 10, 100), ("judge", 20, 200), ("long", 50, 50), ("short", 5, 5)];
        assert_eq!(planned, expected.map(|(agent, least, full)| (agent.to_owned(), least, full)));
    }

    #[test]
    fn only_one_call_of_a_model_that_has_not_answered_is_counted_as_dearer() {
        let payees = Payees(HashMap::from([(AgentId::from("a"), payee(1000, 1000))]));
        let calls = Planned::merge(&[], &[foreseen("a", 10), foreseen("a", 10)]);
        let need = |asked| payees.need(&CostLedger::default(), calls.iter(), AnswerLength::LEAST, |_| asked);
        let two = |dollars| Amount { usd: Usd::from_dollars(dollars), requests: 2 };
        assert_eq!(need(false), two(0.005), "once four times, once the list price");
        assert_eq!(need(true), two(0.002), "the first is in flight");
    }
}
