//! Exact amounts of money, whose sums do not depend on the order in which calls finish.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of US dollars in whole picodollars (1e-12 USD), which makes addition exact and commutative. Serialized as
/// a JSON number of dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(u64);

const PICO_PER_DOLLAR: f64 = 1e12;
/// Amounts are displayed to a hundredth of a cent.
const PICO_PER_SHOWN_DIGIT: u64 = 100_000_000;

impl Usd {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    /// Converts from dollars. Negative amounts and NaN become zero; amounts over 18 million saturate.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, as documented"
    )]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * PICO_PER_DOLLAR).round() as u64)
    }

    #[expect(clippy::cast_precision_loss, reason = "the lost precision is far below the displayed digits")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO_PER_DOLLAR
    }

    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn for_tokens(tokens: u64, per_million: f64) -> Self {
        Self::from_dollars(tokens as f64 * per_million / 1e6)
    }

    pub fn times(self, factor: f64) -> Self {
        Self::from_dollars(self.dollars() * factor)
    }

    pub fn rounded_up(self) -> Self {
        Self(self.0.div_ceil(PICO_PER_SHOWN_DIGIT).saturating_mul(PICO_PER_SHOWN_DIGIT))
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.dollars())
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_dollars)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BudgetLimit {
    #[serde(rename = "maxCostUsd", default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<Usd>,
    /// Counts requests to models, including retries.
    #[serde(rename = "maxCalls", default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

impl BudgetLimit {
    pub fn whole(self) -> Amount {
        Amount { usd: self.usd.unwrap_or(Usd::MAX), requests: self.calls.unwrap_or(u32::MAX) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    pub usd: Usd,
    pub requests: u32,
}

impl Amount {
    pub const ZERO: Self = Self { usd: Usd::ZERO, requests: 0 };

    pub const fn request(usd: Usd) -> Self {
        Self { usd, requests: 1 }
    }

    pub fn fits(self, room: Self) -> bool {
        self.usd <= room.usd && self.requests <= room.requests
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self { usd: self.usd.saturating_sub(other.usd), requests: self.requests.saturating_sub(other.requests) }
    }

    pub fn max(self, other: Self) -> Self {
        Self { usd: self.usd.max(other.usd), requests: self.requests.max(other.requests) }
    }

    pub fn times(self, count: u32) -> Self {
        Self { usd: self.usd.times(f64::from(count)), requests: self.requests.saturating_mul(count) }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { usd: self.usd + other.usd, requests: self.requests.saturating_add(other.requests) }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_order() {
        let amounts = [0.1, 0.2, 0.3, 1e-7, 12.5e-9].map(Usd::from_dollars);
        let forward: Usd = amounts.iter().copied().sum();
        let backward: Usd = amounts.iter().rev().copied().sum();
        assert_eq!(forward, backward);
        assert_eq!(Usd::from_dollars(0.6).dollars().to_string(), "0.6");
    }

    #[test]
    fn a_million_tokens_cost_the_price_and_bad_amounts_are_nothing() {
        assert_eq!(Usd::for_tokens(1_000_000, 2.5), Usd::from_dollars(2.5));
        assert_eq!(Usd::from_dollars(-1.0), Usd::ZERO);
        assert_eq!(Usd::from_dollars(f64::NAN), Usd::ZERO);
    }

    #[test]
    fn the_wire_form_survives_a_round_trip() {
        let amount = Usd::for_tokens(12_345, 0.0125);
        assert_eq!(serde_json::from_str::<Usd>(&serde_json::to_string(&amount).unwrap()).unwrap(), amount);
    }
}
