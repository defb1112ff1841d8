//! The forecast of a debate.

use std::collections::BTreeSet;

use dialectic_base::money::{Amount, BudgetLimit, Usd};

use super::CallKey;

/// The calls of a debate in the order of rounds and stages, with the usage of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub calls: Vec<PlannedCall>,
    /// The results that decide the number of calls, as text.
    pub deciders: Vec<String>,
    /// The assumptions that the figures rest on, one sentence each.
    pub assumptions: Vec<String>,
    /// What a limit of cost or calls covers; absent without one.
    pub purchase: Option<Purchase>,
}

impl Forecast {
    /// The minimum and maximum number of calls.
    pub fn count(&self) -> Span<usize> {
        Span { low: self.certain().count(), high: self.calls.len() }
    }

    /// The likely cost of the certain calls: the geometric mean of each one's minimum and maximum. `None` if a price is
    /// unknown.
    pub fn likely(&self) -> Option<Usd> {
        let between = |cost: Span<Usd>| Usd::from_dollars((cost.low.dollars() * cost.high.dollars()).sqrt());
        self.certain().map(|call| call.cost.map(between)).sum()
    }

    /// The maximum cost of all calls without tool use. `None` if a price is unknown.
    pub fn most(&self) -> Option<Usd> {
        self.calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum()
    }

    /// The models without a known price.
    pub fn unpriced(&self) -> BTreeSet<&str> {
        self.calls.iter().filter(|call| call.cost.is_none()).map(|call| call.model.as_str()).collect()
    }

    fn certain(&self) -> impl Iterator<Item = &PlannedCall> {
        self.calls.iter().filter(|call| call.made == Made::Always)
    }
}

/// What a limit of cost or calls covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    pub limit: BudgetLimit,
    /// The minimum limit for one complete round and the closing, at the provider's highest permitted prices.
    pub one_round: Amount,
    /// The minimum limit for all rounds at list prices, including dispensable calls.
    pub all_rounds: Amount,
    /// The likely cost of one round and the closing.
    pub likely_round: Usd,
    /// The likely cost of all rounds.
    pub likely_all: Usd,
    /// The number of rounds that it covers at list prices.
    pub bought: u32,
    /// The dispensable parts that the limit does not cover, as text.
    pub left_out: Vec<String>,
    /// The configured number of rounds.
    pub rounds: u32,
    /// The output limit in tokens that this requires, if any.
    pub answer_limit: Option<u32>,
}

/// A future call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    pub key: CallKey,
    /// The model, as its provider names it.
    pub model: String,
    pub provider: String,
    /// When it is made.
    pub made: Made,
    /// Input tokens.
    pub input: Span<u64>,
    /// Output tokens.
    pub output: Span<u64>,
    /// The cost; absent if no price is known.
    pub cost: Option<Span<Usd>>,
}

/// The condition for a call of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// In every debate.
    Always,
    /// With long answers: a summary.
    ByLength,
    /// After an unforeseen result: a rewrite, another round.
    ByChoice,
}

/// A range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span<T> {
    /// The minimum.
    pub low: T,
    /// The maximum.
    pub high: T,
}

impl<T: std::ops::Add<Output = T>> std::ops::Add for Span<T> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

impl<T: std::ops::Add<Output = T> + Default> std::iter::Sum for Span<T> {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::default(), std::ops::Add::add)
    }
}
