//! What a cost limit buys, before anything is paid.

use crate::agent::{Panel, SharedPrompt};
use crate::debate::{Debate, Purchase, Usd};
use crate::engine::EngineError;
use crate::protocol::Protocol;

use super::limits::{BudgetError, Level, Planned};
use super::{Budget, Outlook, Views};

/// Sees to it that a limit buys a debate.
///
/// # Errors
/// [`BudgetError::TooLow`] when it does not buy one complete round and the closing.
pub fn check_purchase(purchase: &Purchase) -> Result<(), BudgetError> {
    let Purchase { limit, one_round, all_rounds, rounds, .. } = *purchase;
    if limit >= one_round { Ok(()) } else { Err(BudgetError::TooLow { limit, one_round, all_rounds, rounds }) }
}

/// What the cost limit of a debate buys from where it stands; nothing when it has none.
///
/// # Errors
/// A defect of a template.
pub fn purchase(protocol: &'static Protocol, panel: &Panel, debate: &Debate) -> Result<Option<Purchase>, EngineError> {
    let Some(settings) = &debate.settings else { return Ok(None) };
    let Some(budget) = Budget::of(settings, &panel.routed, &[]) else { return Ok(None) };
    let shared = SharedPrompt::of(debate)?;
    let rounds = settings.debate.rounds;
    // A branch of a debate may have its round already.
    let last_of_round = debate.stages.iter().rfind(|stage| stage.in_round && stage.is_essential).map(|stage| stage.id);
    let mut contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let has_round = contributions.any(|one| Some(one.stage) == last_of_round);
    let until = if has_round { 0 } else { debate.current_round.max(1) };
    let first = Views::of(protocol, panel, &budget, &shared, debate, until)?;
    let flat = |view: &Outlook| view.rounds.iter().flatten().chain(&view.closing).cloned().collect::<Vec<_>>();
    let calls = Planned::merge(&flat(&first.least), &flat(&first.full));
    let one_round = budget.need(calls.iter(), Level::LEAST, None).rounded_up();
    let all = Views::of(protocol, panel, &budget, &shared, debate, rounds)?;
    let first_answers = budget.margin_of_closing(&all);
    let likely = budget.likely_cost(&all.least, &all.full, Level::LEAST) + first_answers;
    let all_rounds = likely.rounded_up().max(one_round);
    let level = budget.highest_level(&all.least, &all.full);
    let bought = bought(&budget, &all, first_answers, debate.current_round.max(1), rounds);
    let answer_limit = budget.payees.lowered(panel.agents.iter().map(|agent| &agent.settings.id), level);
    Ok(Some(Purchase { limit: budget.limit, one_round, all_rounds, bought, rounds, answer_limit }))
}

/// How many rounds fit, with the closing and with answers as short as they may be. The first is not in doubt here.
fn bought(budget: &Budget, all: &Views, first_answers: Usd, current: u32, rounds: u32) -> u32 {
    let upto = |view: &Outlook, rounds: usize| Outlook {
        rounds: view.rounds.iter().take(rounds).cloned().collect(),
        further: u32::try_from(rounds.saturating_sub(view.rounds.len())).unwrap_or(u32::MAX),
        around: Vec::new(),
        closing: view.closing.clone(),
    };
    let fits = |round: &u32| {
        let count = (round + 1 - current) as usize;
        budget.likely_cost(&upto(&all.least, count), &upto(&all.full, count), Level::LEAST) + first_answers
            <= budget.limit
    };
    (current..=rounds).take_while(fits).last().unwrap_or(current)
}
