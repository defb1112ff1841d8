//! What a debate would take before it is begun.

use super::{CallKey, Usd};

/// The calls that a debate would make, in the order of rounds and phases, and how much each would take.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The calls.
    pub calls: Vec<PlannedCall>,
    /// What the figures assume, a sentence each.
    pub assumptions: Vec<String>,
    /// The least that an answer of the judge alone could cost; absent when its price is not known.
    pub least_closing: Option<Usd>,
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
    /// Whether it is made with short answers too, or with long ones only, as summaries are.
    pub certain: bool,
    /// Input tokens.
    pub input: Span<u64>,
    /// Output tokens.
    pub output: Span<u64>,
    /// What it costs; absent when no price is known.
    pub cost: Option<Span<Usd>>,
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
