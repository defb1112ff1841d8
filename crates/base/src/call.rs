//! The usage of one paid model call, and tool calls.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::money::Usd;
use crate::provider::HOST;

/// Token counts as the provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Input tokens written to the provider's prompt cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// How many of the written tokens the cache keeps for an hour.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_hour_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
}

/// Whether a field has its default value and can be omitted; for serde.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The usage of one finished call; the state's `usage` sums them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one call, each under its own key")]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    pub model: String,
    pub provider: String,
    /// The model that the server reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Token counts; absent when the server reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The cost; absent if neither the provider nor the price table states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
    /// The list price of a call that a subscription covered; its cost is then zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notional_usd: Option<Usd>,
    /// Milliseconds from the first attempt to the answer, including the waits between attempts.
    pub latency_ms: u64,
    /// The number of attempts, including the successful one; 0 if the cost limit allowed none.
    pub attempts: u32,
    /// Whether the provider stated the cost; otherwise it is computed from list prices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_stated: bool,
    /// The number of the event that reserved money for the call; absent without a cost limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<u64>,
    /// Set if the answer was cut off: at the output limit, unless [`filtered`](Self::filtered) or
    /// [`interrupted`](Self::interrupted) is set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Set if a content filter cut the answer off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set if the server cut the answer off for another reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Set if the server's finish reason is unknown, so the answer may be complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown_end: bool,
    /// The server's finish reason, if the fields above do not express it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Set in a fork for calls that the original debate made and paid for; they do not count towards the fork.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl CallRecord {
    /// Whether the call may have been billed although the server reported no token counts.
    pub fn is_silent(&self) -> bool {
        self.tokens.is_none() && (self.attempts > 0 || self.cost_usd.is_none())
    }

    /// Whether the host answered; token counts are then estimates, and the cost is unknown.
    pub fn is_hosted(&self) -> bool {
        self.provider == HOST
    }

    /// How the answer was cut off, if it was.
    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered, self.interrupted)
    }
}

/// Why an answer that is used anyway is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// It reached the call's output limit.
    OutputLimit,
    /// The provider's content filter stopped it.
    ContentFilter,
    /// The server stopped it: it aborted, ran out of resources, or detected repetition.
    Interrupted,
    /// It reached the maximum length of summaries.
    MaxLength,
}

impl Cut {
    /// The cut that these flags describe.
    pub fn marked(truncated: bool, filtered: bool, interrupted: bool) -> Option<Self> {
        match (truncated, filtered, interrupted) {
            (_, true, _) => Some(Self::ContentFilter),
            (_, false, true) => Some(Self::Interrupted),
            (true, false, false) => Some(Self::OutputLimit),
            (false, false, false) => None,
        }
    }

    /// The cause, to follow "was cut off".
    pub fn how(self) -> &'static str {
        match self {
            Self::OutputLimit => "at the output limit",
            Self::ContentFilter => "by a content filter",
            Self::Interrupted => "by its server",
            Self::MaxLength => "at `maxLength`",
        }
    }
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    pub name: String,
    /// The arguments as JSON text, exactly as the model wrote them.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the [`ToolCall`] that this answers.
    pub tool_call_id: String,
    /// Always `tool`.
    pub role: String,
    /// JSON text: `{"status":"success","result":…}` or `{"status":"error","error":…}`.
    pub content: String,
}

impl ToolResult {
    pub fn error(call: &ToolCall, error: &str) -> Self {
        let content = serde_json::json!({ "status": "error", "error": error }).to_string();
        Self { tool_call_id: call.id.clone(), role: "tool".to_owned(), content }
    }
}
