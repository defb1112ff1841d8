//! What a debate would take before it is begun.

use std::collections::BTreeSet;

use dialectic_base::money::{Amount, BudgetLimit, Usd};

use super::CallKey;

/// The calls that a debate would make, in the order of rounds and stages, and how much each would take.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The calls.
    pub calls: Vec<PlannedCall>,
    /// Whose results decide how many of them are made, in words.
    pub deciders: Vec<String>,
    /// What the figures assume, a sentence each.
    pub assumptions: Vec<String>,
    /// What the limit of cost or calls buys; absent without one.
    pub purchase: Option<Purchase>,
}

impl Forecast {
    /// How many calls are made at least and at most.
    pub fn count(&self) -> Span<usize> {
        Span { low: self.certain().count(), high: self.calls.len() }
    }

    /// What the calls that are made in any case are likely to cost: each lies between its least and its most by as many
    /// times as the one is of the other. Unknown where one price is.
    pub fn likely(&self) -> Option<Usd> {
        let between = |cost: Span<Usd>| Usd::from_dollars((cost.low.dollars() * cost.high.dollars()).sqrt());
        self.certain().map(|call| call.cost.map(between)).sum()
    }

    /// What all calls cost at most, as long as no tool is called. Unknown where one price is.
    pub fn most(&self) -> Option<Usd> {
        self.calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum()
    }

    /// The models that no price is known for.
    pub fn unpriced(&self) -> BTreeSet<&str> {
        self.calls.iter().filter(|call| call.cost.is_none()).map(|call| call.model.as_str()).collect()
    }

    fn certain(&self) -> impl Iterator<Item = &PlannedCall> {
        self.calls.iter().filter(|call| call.made == Made::Always)
    }
}

/// What a limit of cost or calls buys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// The limit.
    pub limit: BudgetLimit,
    /// The least limit that buys one complete round and the closing, whatever the provider asks within the bounds.
    pub one_round: Amount,
    /// The least limit that buys all rounds at list prices, with all that the debate could do without.
    pub all_rounds: Amount,
    /// What one round and the closing are likely to cost.
    pub likely_round: Usd,
    /// What all rounds are likely to cost.
    pub likely_all: Usd,
    /// How many rounds it buys at list prices.
    pub bought: u32,
    /// What the debate can do without and the limit does not buy, in words.
    pub left_out: Vec<String>,
    /// How many there are to be.
    pub rounds: u32,
    /// The output limit that this needs, in tokens; absent when they are not.
    pub answer_limit: Option<u32>,
}

/// A call that a debate would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// Which call.
    pub key: CallKey,
    /// The model, as its provider names it.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// When it is made.
    pub made: Made,
    /// Input tokens.
    pub input: Span<u64>,
    /// Output tokens.
    pub output: Span<u64>,
    /// What it costs; absent when no price is known.
    pub cost: Option<Span<Usd>>,
}

/// When a call of a forecast is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// In every debate.
    Always,
    /// Where answers are long: a summary.
    ByLength,
    /// If an unforeseen result asks for more: a rewrite, another round.
    ByChoice,
}

/// From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span<T> {
    /// The least.
    pub low: T,
    /// The most.
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
