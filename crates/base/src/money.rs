//! Exact money: sums do not depend on the order in which calls finish.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::call::Tokens;
use crate::figures::counted;

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

    /// Converts from dollars. Negative and non-finite amounts become zero; amounts over 18 million saturate.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, as documented"
    )]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * PICO_PER_DOLLAR).round() as u64)
    }

    #[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 picodollars times the shown digits")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO_PER_DOLLAR
    }

    /// The price of `tokens` at `per_million` dollars per million tokens.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn for_tokens(tokens: u64, per_million: f64) -> Self {
        Self::from_dollars(tokens as f64 * per_million / 1e6)
    }

    pub fn times(self, factor: f64) -> Self {
        Self::from_dollars(self.dollars() * factor)
    }

    /// Rounds up to a hundredth of a cent, the displayed precision.
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

/// A debate's limit, in dollars, calls or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetLimit {
    pub usd: Option<Usd>,
    /// The maximum number of requests to models.
    pub calls: Option<u32>,
}

impl BudgetLimit {
    /// The limit as an amount; parts without a limit have the maximum value.
    pub fn whole(self) -> Amount {
        Amount { usd: self.usd.unwrap_or(Usd::MAX), requests: self.calls.unwrap_or(u32::MAX) }
    }
}

/// Dollars and requests to models, as counted against a limit.
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

    /// The larger value of each part.
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

/// Omits the article: `cost limit of $0.0500`, `limit of 30 calls`, `limit of $0.0500 and 30 calls`.
impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.usd, self.calls.map(|calls| counted(calls.into(), "call"))) {
            (Some(usd), None) => write!(f, "cost limit of {usd}"),
            (Some(usd), Some(calls)) => write!(f, "limit of {usd} and {calls}"),
            (None, Some(calls)) => write!(f, "limit of {calls}"),
            (None, None) => f.write_str("limit"),
        }
    }
}

/// The price of a one-hour cache write relative to a five-minute one: Anthropic charges 2 and 1.25 times the input
/// price (see "Prompt caching" in its documentation).
const HOUR: f64 = 2.0 / 1.25;

/// A model's prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// The price of input.
    #[schemars(range(min = 0))]
    pub input_per_m_tok: f64,
    /// The price of input read from the provider's cache. Default: the price of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cached_input_per_m_tok: Option<f64>,
    /// The price of input written to the provider's cache. Default: the price of other input, or 1.25 times that for
    /// Claude models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub cache_write_per_m_tok: Option<f64>,
    /// The price of output.
    #[schemars(range(min = 0))]
    pub output_per_m_tok: f64,
    /// The prices for the whole request if its prompt is long. Only list prices have them; configured prices do not.
    #[serde(skip)]
    pub long: Option<LongPrice>,
}

/// The prices, in dollars per million tokens, of a request whose prompt exceeds `above` tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongPrice {
    pub above: u64,
    pub input_per_m_tok: f64,
    /// Defaults to `input_per_m_tok`.
    pub cached_input_per_m_tok: Option<f64>,
    /// Defaults to `input_per_m_tok`.
    pub cache_write_per_m_tok: Option<f64>,
    pub output_per_m_tok: f64,
}

impl Price {
    pub const FREE: Self = Self::flat(0.0, None, 0.0);

    /// Prices that do not depend on the length of the prompt.
    pub const fn flat(input_per_m_tok: f64, cached_input_per_m_tok: Option<f64>, output_per_m_tok: f64) -> Self {
        Self { input_per_m_tok, cached_input_per_m_tok, cache_write_per_m_tok: None, output_per_m_tok, long: None }
    }

    /// Prices cache writes at `factor` times the input price, unless they already have a price.
    pub fn with_writes(self, factor: f64) -> Self {
        let of = |given: Option<f64>, input: f64| given.or(Some(input * factor));
        Self {
            cache_write_per_m_tok: of(self.cache_write_per_m_tok, self.input_per_m_tok),
            long: self.long.map(|long| LongPrice {
                cache_write_per_m_tok: of(long.cache_write_per_m_tok, long.input_per_m_tok),
                ..long
            }),
            ..self
        }
    }

    /// The larger value of each component.
    pub fn at_least(self, other: Self) -> Self {
        let above = [self, other].into_iter().filter_map(|price| Some(price.long?.above)).min();
        let higher = |one: Self, two: Self| {
            let writes = one.cache_write_per_m_tok.or(two.cache_write_per_m_tok);
            Self {
                cache_write_per_m_tok: writes.map(|_| one.cache_write().max(two.cache_write())),
                ..Self::flat(
                    one.input_per_m_tok.max(two.input_per_m_tok),
                    Some(one.cached_input().max(two.cached_input())),
                    one.output_per_m_tok.max(two.output_per_m_tok),
                )
            }
        };
        let long = above.map(|above| {
            let long = higher(self.at(u64::MAX), other.at(u64::MAX));
            LongPrice {
                above,
                input_per_m_tok: long.input_per_m_tok,
                cached_input_per_m_tok: long.cached_input_per_m_tok,
                cache_write_per_m_tok: long.cache_write_per_m_tok,
                output_per_m_tok: long.output_per_m_tok,
            }
        });
        Self { long, ..higher(self, other) }
    }

    fn cached_input(self) -> f64 {
        self.cached_input_per_m_tok.unwrap_or(self.input_per_m_tok)
    }

    fn cache_write(self) -> f64 {
        self.cache_write_per_m_tok.unwrap_or(self.input_per_m_tok)
    }

    /// The price that applies to a request with this many input tokens.
    pub fn at(self, input_tokens: u64) -> Self {
        match self.long.filter(|long| input_tokens > long.above) {
            Some(long) => Self {
                cache_write_per_m_tok: long.cache_write_per_m_tok,
                ..Self::flat(long.input_per_m_tok, long.cached_input_per_m_tok, long.output_per_m_tok)
            },
            None => Self { long: None, ..self },
        }
    }

    pub fn is_free(self) -> bool {
        self.input_per_m_tok <= 0.0 && self.output_per_m_tok <= 0.0 && self.cache_write() <= 0.0
    }

    /// The cost of `tokens` used in one request.
    pub fn cost(self, tokens: Tokens) -> Usd {
        let price = self.at(tokens.input_tokens);
        let read = tokens.cached_input_tokens;
        let written = tokens.cache_write_tokens.min(tokens.input_tokens.saturating_sub(read));
        let hour = tokens.cache_write_hour_tokens.min(written);
        let fresh = tokens.input_tokens.saturating_sub(read).saturating_sub(written);
        Usd::for_tokens(fresh, price.input_per_m_tok)
            + Usd::for_tokens(read, price.cached_input())
            + Usd::for_tokens(written - hour, price.cache_write())
            + Usd::for_tokens(hour, price.cache_write() * HOUR)
            + Usd::for_tokens(tokens.output_tokens, price.output_per_m_tok)
    }

    /// The maximum cost of a request, even if all input is written to the cache. If `for_an_hour` is set, the server
    /// may keep the input for an hour, which costs more.
    pub fn most(self, input_tokens: u64, output_tokens: u64, for_an_hour: bool) -> Usd {
        let none = Tokens { input_tokens, output_tokens, ..Tokens::default() };
        let written = Tokens { cache_write_tokens: input_tokens, ..none };
        let hour = Tokens { cache_write_hour_tokens: input_tokens, ..written };
        self.cost(none).max(self.cost(if for_an_hour { hour } else { written }))
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
        assert!(Price::FREE.is_free() && !Price::flat(0.0, None, 1.0).is_free());
    }

    #[test]
    fn the_wire_form_survives_a_round_trip() {
        let amount = Usd::for_tokens(12_345, 0.0125);
        let wire = serde_json::to_string(&amount).unwrap();
        assert_eq!(serde_json::from_str::<Usd>(&wire).unwrap(), amount);
    }

    #[test]
    fn what_is_written_to_a_cache_has_a_price_of_its_own() {
        let cost = |price: Price, tokens| price.cost(tokens).dollars();
        let listed = Price::flat(4.0, Some(0.4), 20.0);
        let claude = listed.with_writes(1.25);
        let tokens = Tokens {
            input_tokens: 1_000_000,
            cached_input_tokens: 200_000,
            cache_write_tokens: 500_000,
            cache_write_hour_tokens: 100_000,
            output_tokens: 0,
        };
        // 0.3 M input tokens, 0.2 M read from the cache, 0.4 M written for five minutes and 0.1 M for an hour.
        assert!((cost(claude, tokens) - (0.3 * 4.0 + 0.2 * 0.4 + 0.4 * 5.0 + 0.1 * 8.0)).abs() < 1e-9);
        let none = Tokens { cache_write_hour_tokens: 0, ..tokens };
        assert!((cost(listed, none) - (0.8 * 4.0 + 0.2 * 0.4)).abs() < 1e-9, "like other input");
        // Keeps an existing price.
        let given = Price { cache_write_per_m_tok: Some(0.0), ..listed };
        assert_eq!(given.with_writes(1.25), given);
        let long = LongPrice {
            above: 10,
            input_per_m_tok: 8.0,
            cached_input_per_m_tok: None,
            cache_write_per_m_tok: None,
            output_per_m_tok: 20.0,
        };
        let long = Price { long: Some(long), ..listed }.with_writes(1.25);
        assert_eq!(long.at(11).cache_write_per_m_tok, Some(10.0));
        assert_eq!(listed.at_least(long).at(11).cache_write_per_m_tok, Some(10.0));
        let (written, dear) = (Tokens { output_tokens: 1_000_000, ..Tokens::default() }, Price::flat(1.0, None, 30.0));
        assert_eq!(listed.at_least(dear).cost(written), Usd::from_dollars(30.0));
    }

    #[test]
    fn the_most_that_a_request_can_cost_has_all_of_its_input_written_to_the_cache() {
        let price = Price::flat(4.0, None, 20.0);
        let most = |price: Price, hour| price.most(1_000_000, 1_000_000, hour);
        let free = Price { cache_write_per_m_tok: Some(0.0), ..price };
        for (price, for_an_hour, dollars) in [
            (price, false, 24.0),
            (price.with_writes(1.25), false, 25.0),
            (price.with_writes(1.25), true, 28.0),
            // Input without caching.
            (free, false, 24.0),
        ] {
            assert_eq!(most(price, for_an_hour), Usd::from_dollars(dollars), "{price:?}");
        }
    }
}
