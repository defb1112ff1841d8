//! The number of rounds that a limit covers, computed before anything is paid.

use crate::agent::{Panel, SharedPrompt};
use crate::engine::EngineError;
use crate::engine::rehearsal::RehearsedCall;
use dialectic_base::money::Amount;
use dialectic_record::debate::{Debate, Purchase};
use dialectic_record::protocol::{BudgetClass, Protocol};

use super::Budget;
use super::limits::{BudgetError, Level, Planned};
use super::outlook::{Outlook, Views};

/// Checks that a limit covers a debate.
///
/// # Errors
/// [`BudgetError::TooLow`] if it does not cover one complete round and the closing.
pub fn check_purchase(purchase: &Purchase) -> Result<(), BudgetError> {
    if purchase.one_round.fits(purchase.limit.whole()) {
        return Ok(());
    }
    Err(BudgetError::TooLow(Box::new(purchase.clone())))
}

/// What a debate's limit covers from its current state on; `None` without a limit.
///
/// # Errors
/// A template is defective.
pub fn purchase(protocol: &'static Protocol, panel: &Panel, debate: &Debate) -> Result<Option<Purchase>, EngineError> {
    let Some(settings) = &debate.settings else { return Ok(None) };
    let Some(budget) = Budget::of(settings, &panel.routed, &[]) else { return Ok(None) };
    let shared = SharedPrompt::of(protocol, debate)?;
    let rounds = settings.debate.rounds;
    // A fork may already have its round.
    let last_of_round = debate.stages.iter().rfind(|stage| stage.in_round && stage.is_essential).map(|stage| stage.id);
    let mut contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let has_round = contributions.any(|one| Some(one.stage) == last_of_round);
    let until = if has_round { 0 } else { debate.current_round.max(1) };
    let first = Views::of(protocol, panel, &budget, &shared, debate, until)?;
    let checked = [first.merged(Outlook::needed), first.closing(true), first.check()].concat();
    let is_checked = budget.need(checked.iter(), Level::LEAST, None).fits(budget.limit.whole());
    let one_round = [first.merged(Outlook::needed), first.closing(false)].concat();
    let likely: Vec<Planned> = one_round.iter().filter(|call| !call.is_second_chance).cloned().collect();
    let likely_round = budget.likely(&likely, Level::LEAST, Level::LEAST).usd.rounded_up();
    let rounded_up = |amount: Amount| Amount { usd: amount.usd.rounded_up(), ..amount };
    let one_round = rounded_up(budget.need(one_round.iter(), Level::LEAST, None));
    let further = first.goes_on().then(|| Views::of(protocol, panel, &budget, &shared, debate, rounds)).transpose()?;
    let all = further.as_ref().unwrap_or(&first);
    let whole = budget.whole_cost(&first, all, Level::LEAST);
    let mut left_out = if whole.fits(budget.limit.whole()) { Vec::new() } else { all.dispensable(debate) };
    if !is_checked {
        left_out.extend(first.checking(debate));
    }
    let level = budget.highest_level(&first, all).unwrap_or(Level::LEAST);
    let bought = bought(&budget, all, debate.current_round.max(1), rounds);
    let answer_limit = budget.lowered(panel.agents.iter().map(|agent| &agent.settings.id), level);
    let all_rounds = rounded_up(whole).max(one_round);
    let likely_all = budget.likely_cost(&all.least, &all.full, Level::LEAST).usd.rounded_up().max(likely_round);
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

/// The number of rounds that fit, with the closing, the check and minimum answers, without dispensable calls. The first
/// round counts as affordable, and all others yield to the check.
fn bought(budget: &Budget, all: &Views, current: u32, rounds: u32) -> u32 {
    let upto = |view: &Outlook, rounds: usize, is_whole: bool| {
        let needed =
            |calls: &Vec<RehearsedCall>| calls.iter().filter(|call| call.cost != BudgetClass::Extra).cloned().collect();
        Outlook {
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
    let first_answers = budget.margin_of_closing(all, Level::LEAST);
    let fits = |round: &u32| {
        let upto = |view: &Outlook| upto(view, (round + 1 - current) as usize, *round == rounds);
        let taken = budget.likely_cost(&upto(&all.least), &upto(&all.full), Level::LEAST) + first_answers;
        taken.fits(budget.limit.whole())
    };
    (current..=rounds).take_while(fits).last().unwrap_or(current)
}
