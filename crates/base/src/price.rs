//! The prices of a model, and the cost of a request at these prices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Tokens;
use crate::money::Usd;

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

    /// A price that is never below `self` or `other`: the component-wise maximum, with the lower `above`.
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
        assert!(Price::FREE.is_free() && !Price::flat(0.0, None, 1.0).is_free());
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
