//! The calls that a debate may make, with their tokens and costs.

use std::collections::BTreeSet;

use serde::Serialize;

use dialectic_base::figures::counted;
use dialectic_base::money::{Amount, BudgetLimit, Usd};

use crate::ids::CallKey;

/// The calls that a debate may make, ordered by round and stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub calls: Vec<PlannedCall>,
    /// What the cost and call limits cover; absent without a limit.
    pub purchase: Option<Purchase>,
}

impl Forecast {
    /// The range from the number of certain calls to the maximum number of requests, including tool use.
    pub fn count(&self) -> Span<u64> {
        Span { low: self.certain().count() as u64, high: self.calls.iter().map(PlannedCall::requests).sum() }
    }

    /// The likely cost of the calls that are certain; `None` if a price is unknown.
    pub fn likely(&self) -> Option<Usd> {
        self.certain().map(PlannedCall::likely).sum()
    }

    /// The maximum cost of all calls; `None` if a price is unknown.
    pub fn most(&self) -> Option<Usd> {
        self.calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum()
    }

    pub fn unpriced(&self) -> BTreeSet<&str> {
        self.calls.iter().filter(|call| call.cost.is_none()).map(|call| call.model.as_str()).collect()
    }

    fn certain(&self) -> impl Iterator<Item = &PlannedCall> {
        self.calls.iter().filter(|call| call.is_certain)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    pub limit: BudgetLimit,
    /// The smallest limit that covers one round and the closing calls, at the highest prices that the provider may
    /// charge.
    pub one_round: Amount,
    /// The smallest limit that covers all rounds and optional calls at list prices.
    pub all_rounds: Amount,
    /// The likely cost of one round and the closing calls.
    pub likely_round: Usd,
    pub likely_all: Usd,
    /// The number of rounds that the limit covers at list prices.
    pub bought: u32,
    /// The optional parts that the limit does not cover, in words.
    pub left_out: Vec<String>,
    /// The configured number of rounds.
    pub rounds: u32,
    /// The output limit per answer that these figures assume, in tokens; absent if they assume none.
    pub answer_limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedCall {
    pub key: CallKey,
    /// The provider's name for the model.
    pub model: String,
    pub provider: String,
    /// Whether the debate makes this call whatever the answers are.
    #[serde(rename = "certain")]
    pub is_certain: bool,
    #[serde(rename = "inputTokens")]
    pub input: Span<u64>,
    #[serde(rename = "outputTokens")]
    pub output: Span<u64>,
    /// The maximum use of tools; absent if the call offers no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolUse>,
    /// The cost, including tool use; absent if no price is known.
    #[serde(rename = "costUsd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Span<Usd>>,
}

/// The additional requests of a call whose model uses tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    pub most_requests: u32,
    /// The tokens of all tool results together. Each request may contain all results.
    pub result_tokens: u64,
}

impl PlannedCall {
    /// The maximum number of requests, including those with tool results.
    pub fn requests(&self) -> u64 {
        1 + self.tools.map_or(0, |tools| tools.most_requests.into())
    }

    /// The maximum input and output tokens, including tool use.
    pub fn most_tokens(&self) -> (u64, u64) {
        let results = self.tools.map_or(0, |tools| u64::from(tools.most_requests) * tools.result_tokens);
        (self.input.high.saturating_mul(self.requests()) + results, self.output.high.saturating_mul(self.requests()))
    }

    /// The likely cost: the geometric mean of minimum and maximum. `None` if no price is known.
    pub fn likely(&self) -> Option<Usd> {
        self.cost.map(|cost| Usd::from_dollars((cost.low.dollars() * cost.high.dollars()).sqrt()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Span<T> {
    pub low: T,
    pub high: T,
}

impl Span<u64> {
    /// The range with a noun, for example `25 to 30 calls`.
    pub fn counted(&self, noun: &str) -> String {
        let high = counted(self.high, noun);
        if self.low == self.high { high } else { format!("{} to {high}", self.low) }
    }
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
