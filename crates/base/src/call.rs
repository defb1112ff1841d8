//! One paid call of a model: what it took.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::money::Usd;

/// Token counts as the provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Those of the input that were read from the provider's prompt cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Those of the input that were written to the provider's prompt cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Those of the writes that the cache keeps for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_hour_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            cached_input_tokens: self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            cache_write_hour_tokens: self.cache_write_hour_tokens + other.cache_write_hour_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
        }
    }
}

impl Tokens {
    /// Input and output together.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What one finished call took. Folded into the state's `usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts about one call, each a key of its own in the journal")]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The model as configured.
    pub model: String,
    /// The configured provider.
    pub provider: String,
    /// The model that the server says it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Token counts; absent when the server reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost; absent when neither the provider nor the price table says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
    /// What it would have cost at list price, where it was part of a subscription: it then cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notional_usd: Option<Usd>,
    /// From the first attempt to the answer, waiting between attempts included, in milliseconds.
    pub latency_ms: u64,
    /// Attempts made, the successful one included; 0 when the cost limit had no room for any.
    pub attempts: u32,
    /// Whether the provider stated the cost itself; else it is the list price of the tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_stated: bool,
    /// The number of the event that set money aside for it; absent without a cost limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<u64>,
    /// Set when the answer was cut: at the output limit, unless it was [`filtered`](Self::filtered) or
    /// [`interrupted`](Self::interrupted).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Set when it was a content filter that cut the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set when the server broke the answer off for a reason of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The server's word for why the answer ended, where it is none of those above and of a complete answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Set in a debate that branched off another one, where that one made the call and paid for it: it counts for
    /// nothing here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl CallRecord {
    /// Whether it used an unknown number of tokens: it was made, or may be billed, but no figures came.
    pub fn is_silent(&self) -> bool {
        self.tokens.is_none() && (self.attempts > 0 || self.cost_usd.is_none())
    }

    /// How its answer was cut, if it was.
    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered, self.interrupted)
    }
}

/// How an answer was cut that stands all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// At the output limit of the call.
    OutputLimit,
    /// By the provider's content filter.
    ContentFilter,
    /// By the server, for a reason of its own: aborted, short of resources, repeating itself.
    Interrupted,
    /// At the length that summaries may have.
    MaxLength,
}

impl Cut {
    /// Of an answer with these marks.
    pub fn marked(truncated: bool, filtered: bool, interrupted: bool) -> Option<Self> {
        match (truncated, filtered, interrupted) {
            (_, true, _) => Some(Self::ContentFilter),
            (_, false, true) => Some(Self::Interrupted),
            (true, false, false) => Some(Self::OutputLimit),
            (false, false, false) => None,
        }
    }

    /// What cut it, as a phrase after "was cut".
    pub fn how(self) -> &'static str {
        match self {
            Self::OutputLimit => "at the output limit",
            Self::ContentFilter => "by a content filter",
            Self::Interrupted => "by its server",
            Self::MaxLength => "at `maxLength`",
        }
    }
}
