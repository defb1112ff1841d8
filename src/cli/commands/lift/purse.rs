//! The limit of a set, and its spending so far.

use std::ops::AddAssign;

use crate::error::{Error, UserError};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::money::Usd;
use dialectic_record::debate::Debate;

/// A cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Spent {
    /// What is paid; `None` if unknown.
    pub(in crate::cli) paid: Option<Usd>,
    /// The same at list prices, with the calls that a subscription covers; `None` if unknown.
    pub(in crate::cli) listed: Option<Usd>,
}

impl Default for Spent {
    fn default() -> Self {
        Self { paid: Some(Usd::ZERO), listed: Some(Usd::ZERO) }
    }
}

impl Spent {
    /// The cost of a debate.
    pub(super) fn of(debate: &Debate) -> Self {
        let paid = debate.total_cost();
        let listed = debate.usage.values().map(|usage| match (usage.cost_usd, usage.notional_usd) {
            // A lost call of a subscription has a list price that nobody knows.
            (_, Some(_)) if usage.silent_calls > 0 => None,
            (cost, notional) => cost.map(|cost| cost + notional.unwrap_or_default()),
        });
        Self { paid, listed: listed.sum() }
    }

    /// What was added since `before`.
    fn since(self, before: Self) -> Self {
        let since = |after: Option<Usd>, before| Some(after?.saturating_sub(before?));
        Self { paid: since(self.paid, before.paid), listed: since(self.listed, before.listed) }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        let sum = |one: Option<Usd>, other: Option<Usd>| Some(one? + other?);
        *self = Self { paid: sum(self.paid, other.paid), listed: sum(self.listed, other.listed) };
    }
}

/// The limit of a set at list prices, and its spending so far. What a subscription will cover is not known before it
/// does, so a limit of what is paid could not be kept.
pub(in crate::cli) struct Purse {
    pub(super) limit: Option<Usd>,
    pub(super) spent: Spent,
}

impl Purse {
    /// A purse without a limit.
    pub(in crate::cli) fn unlimited() -> Self {
        Self { limit: None, spent: Spent::default() }
    }

    /// Checks that the limit covers a step that costs up to `most`.
    pub(super) fn check(&self, most: Option<Usd>, what: &str) -> Result<(), Error> {
        let Some(limit) = self.limit else { return Ok(()) };
        let Some((spent, most)) = self.spent.listed.zip(most) else {
            let message = format!("the cost of {what} is unknown, so the limit cannot be enforced");
            let hint = "set its price, or omit --max-cost";
            return Err(UserError::of(ErrorCategory::Configuration, message).with_hint(hint).into());
        };
        if spent + most <= limit {
            return Ok(());
        }
        let message = format!("the limit of {limit} does not cover {what}: {spent} is spent, and it may cost {most}");
        Err(UserError::input(message)
            .with_hint("all results so far are saved; continue with a higher --max-cost")
            .into())
    }

    /// Records the cost of a step.
    pub(super) fn took(&mut self, before: Spent, after: Spent) {
        self.spent += after.since(before);
    }

    pub(super) fn left(&self) -> Option<Usd> {
        let (limit, spent) = self.limit.zip(self.spent.listed)?;
        Some(limit.saturating_sub(spent))
    }
}
