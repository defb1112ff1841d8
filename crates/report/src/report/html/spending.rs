//! Calls, tokens and cost by participant and period.

use std::collections::BTreeMap;

use crate::report::View;
use crate::report::stages::Period;
use dialectic_base::call::CallRecord;
use dialectic_base::figures::thousands;
use dialectic_base::money::Usd;
use dialectic_record::debate::AgentId;

use super::calls::CallEntry;
use super::participants::Participants;

/// The usage of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amounts {
    /// The number of calls; `None` if not recorded.
    pub(super) calls: Option<u64>,
    /// The known tokens.
    pub(super) known_tokens: u64,
    /// Whether calls with unknown tokens are missing.
    pub(super) is_more: bool,
    /// The cost; `None` if any is unknown.
    pub(super) cost: Option<Usd>,
}

/// The usage of each agent and the judge by period.
pub(super) struct Spending {
    entries: Vec<(usize, Period, Amounts)>,
}

impl Amounts {
    /// The usage without a call.
    pub(super) const NOTHING: Self = Self { calls: Some(0), known_tokens: 0, is_more: false, cost: Some(Usd::ZERO) };

    fn of_call(record: Option<&CallRecord>) -> Self {
        // A failed call without a record was not billed.
        let Some(record) = record else { return Self { calls: Some(1), ..Self::NOTHING } };
        let tokens = record.tokens.map(|tokens| tokens.input_tokens.saturating_add(tokens.output_tokens));
        Self { calls: Some(1), known_tokens: tokens.unwrap_or(0), is_more: tokens.is_none(), cost: record.cost_usd }
    }

    /// The usage of a result known only from the state, which contains no cost; without a call it is zero.
    fn of_result(tokens: Option<u64>) -> Self {
        let cost = (tokens == Some(0)).then_some(Usd::ZERO);
        Self { calls: None, known_tokens: tokens.unwrap_or(0), is_more: tokens.is_none(), cost }
    }

    /// The usage of the whole debate: the state's usage, or else the sum of calls or results.
    pub(super) fn of_debate(view: &View<'_>, calls: &[CallEntry<'_>]) -> Self {
        let usage = view.debate.usage.values().map(|usage| Self {
            calls: Some(usage.requests),
            known_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            is_more: usage.silent_calls > 0,
            cost: usage.cost_usd,
        });
        // The usage counts such calls as zero.
        let is_more = calls.iter().any(|call| call.record.is_some_and(|record| record.tokens.is_none()));
        if view.debate.usage.is_empty() {
            Spending::of(view, &Participants::of(view), calls).sum(|_, _| true)
        } else {
            usage.fold(Self { is_more, ..Self::NOTHING }, Self::and)
        }
    }

    /// The sum.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls.zip(other.calls).map(|(one, other)| one.saturating_add(other)),
            known_tokens: self.known_tokens.saturating_add(other.known_tokens),
            is_more: self.is_more || other.is_more,
            cost: self.cost.zip(other.cost).map(|(one, other)| one + other),
        }
    }

    /// The tokens as text: `12,345`, `at least 12,345`, `unknown`.
    pub(super) fn tokens(&self) -> String {
        match (self.is_more, self.known_tokens) {
            (true, 0) => "unknown".to_owned(),
            (true, known) => format!("at least {}", thousands(known)),
            (false, tokens) => thousands(tokens),
        }
    }
}

impl Spending {
    /// The usage from the journal's calls, or else from the results' figures.
    pub(super) fn of(view: &View<'_>, participants: &Participants<'_>, calls: &[CallEntry<'_>]) -> Self {
        let debate = view.debate;
        let mut spending = Self { entries: Vec::new() };
        let mut add = |who: &AgentId, period: Period, amounts: Amounts| {
            let Some(place) = participants.place(who) else { return };
            match spending.entries.iter_mut().find(|(have, at, _)| (*have, *at) == (place, period)) {
                Some((_, _, sum)) => *sum = sum.and(amounts),
                None => spending.entries.push((place, period, amounts)),
            }
        };
        for call in calls {
            add(call.agent, Period::of(debate, call.stage, call.round), Amounts::of_call(call.record));
        }
        if !calls.is_empty() {
            return spending;
        }
        let mut result = |who, period, tokens| add(who, period, Amounts::of_result(tokens));
        for round in &debate.rounds {
            let period = Period::Round(round.round_number);
            for summary in round.summaries.iter().flat_map(BTreeMap::values) {
                result(&summary.agent_id, period, summary.metadata.tokens_used);
            }
            for one in &round.contributions {
                result(&one.agent_id, period, one.metadata.tokens_used);
            }
        }
        for one in &debate.checks {
            result(&one.agent_id, Period::Closing, one.metadata.tokens_used);
        }
        if let Some(summary) = &debate.judge_summary {
            result(&summary.agent_id, Period::Closing, summary.metadata.tokens_used);
        }
        spending
    }

    /// The sum over members and periods that `fits` accepts.
    pub(super) fn sum(&self, fits: impl Fn(usize, Period) -> bool) -> Amounts {
        let fitting = self.entries.iter().filter(|(place, period, _)| fits(*place, *period));
        fitting.fold(Amounts::NOTHING, |sum, (_, _, amounts)| sum.and(*amounts))
    }

    /// The usage of a participant in a period; `None` if there was none.
    pub(super) fn at(&self, place: usize, period: Period) -> Option<Amounts> {
        let found = self.entries.iter().find(|(have, at, _)| (*have, *at) == (place, period));
        found.map(|(_, _, amounts)| *amounts)
    }

    /// The periods in order.
    pub(super) fn periods(&self) -> Vec<Period> {
        let mut periods: Vec<Period> = self.entries.iter().map(|(_, period, _)| *period).collect();
        periods.sort_unstable();
        periods.dedup();
        periods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(tokens: u64, is_more: bool, cost: Option<f64>) -> Amounts {
        Amounts { calls: Some(1), known_tokens: tokens, is_more, cost: cost.map(Usd::from_dollars) }
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        let sum = amounts(5, false, Some(0.5)).and(amounts(0, true, None));
        assert_eq!((sum.calls, sum.tokens().as_str(), sum.cost), (Some(2), "at least 5", None));
        assert_eq!(amounts(0, true, None).tokens(), "unknown");
        assert_eq!(Amounts::of_result(None).and(Amounts::NOTHING).tokens(), "unknown");
        assert_eq!(Amounts::of_result(Some(0)).cost, Some(Usd::ZERO));
        assert_eq!(Amounts::of_result(Some(7)).cost, None);
    }
}
