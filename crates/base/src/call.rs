//! The tokens and cost of a model call, and the tool calls that a model makes.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::money::Usd;
use crate::provider::HOST;

/// Token counts. They are reported by the provider, or estimated if the host answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Includes cached tokens and tokens written to the cache.
    pub input_tokens: u64,
    #[serde(default)]
    pub cached_input_tokens: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// The part of `cache_write_tokens` that is kept for an hour, which costs more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_hour_tokens: u64,
    /// Includes reasoning tokens.
    pub output_tokens: u64,
}

/// For serde's `skip_serializing_if`.
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

/// The record of one model call. The `usage` in the state file adds these records up by model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one call, each under its own key")]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    pub model: String,
    pub provider: String,
    /// The model that answered, according to the server. It may differ from `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Absent if the server reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Absent if neither the provider nor the price table states a cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
    /// The list price of a call that a subscription covered; `cost_usd` is then zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notional_usd: Option<Usd>,
    /// Milliseconds from the first attempt to the answer, including the waits between attempts.
    pub latency_ms: u64,
    /// The number of attempts, including the successful one; 0 if a cost or call limit allowed none.
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_stated: bool,
    /// The number of the event that reserved money for the call; absent without a cost or call limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<u64>,
    /// Set if the answer was cut off for any reason. If neither [`filtered`](Self::filtered) nor
    /// [`interrupted`](Self::interrupted) is set, it reached the output limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set if the server stopped early, e.g. because it aborted or detected repetition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Set if the server's finish reason is unknown. The answer may have been cut off, although `truncated` is not set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown_end: bool,
    /// The server's finish reason, if no other field expresses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Set on calls copied into a fork. The original debate paid for them, so they do not count towards the fork's
    /// cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl CallRecord {
    /// Whether the call may have been billed although the server reported no token counts.
    pub fn is_silent(&self) -> bool {
        self.tokens.is_none() && (self.attempts > 0 || self.cost_usd.is_none())
    }

    /// Whether the host answered the call. If so, the token counts are estimates.
    pub fn is_hosted(&self) -> bool {
        self.provider == HOST
    }

    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered, self.interrupted)
    }
}

/// Why an answer was cut off. The answer is used nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    OutputLimit,
    ContentFilter,
    /// The server aborted, ran out of resources, or detected repetition.
    Interrupted,
    /// A summary exceeded `maxLength`.
    MaxLength,
}

impl Cut {
    pub fn marked(truncated: bool, filtered: bool, interrupted: bool) -> Option<Self> {
        match (truncated, filtered, interrupted) {
            (_, true, _) => Some(Self::ContentFilter),
            (_, false, true) => Some(Self::Interrupted),
            (true, false, false) => Some(Self::OutputLimit),
            (false, false, false) => None,
        }
    }

    /// Completes the phrase "was cut off".
    pub fn how(self) -> &'static str {
        match self {
            Self::OutputLimit => "at the output limit",
            Self::ContentFilter => "by a content filter",
            Self::Interrupted => "by its server",
            Self::MaxLength => "at `maxLength`",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Assigned by the provider.
    pub id: String,
    pub name: String,
    /// JSON text, exactly as the model wrote it.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
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
