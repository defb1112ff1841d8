//! The agents' contributions to a round.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::call::{CallRecord, Cut, ToolCall, ToolResult};

use super::{AgentId, Lens, ParsedAnswer, StageId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contribution {
    pub agent_id: AgentId,
    pub agent_role: Arc<str>,
    #[serde(rename = "type")]
    pub stage: StageId,
    /// The text, Markdown.
    pub content: Arc<str>,
    /// How it was made.
    #[serde(default)]
    pub metadata: Metadata,
    /// The author of the criticised proposal (critiques only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
    /// The objections read from it when it was recorded; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Box<ParsedAnswer>>,
}

impl Contribution {
    /// The number of its points beyond the limit.
    pub fn unread_points(&self) -> usize {
        self.reading.as_ref().map_or(0, |reading| reading.unread)
    }

    /// Whether its points are unreadable: none were parsed, and it does not claim to have none.
    pub fn is_unread(&self) -> bool {
        self.reading.as_ref().is_none_or(|reading| reading.points.is_none())
    }
}

/// Facts about how a contribution was made. All fields are optional, since files of the older program lack most of
/// them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one text, each under its own key")]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The input and output tokens of all its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Milliseconds from the first attempt to the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The model as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that the server reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Input tokens, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Input tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Attempts over all its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Set on a proposal that repeats its author's last text: it cost nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub carried_over: bool,
    /// The voter's confidence, 0 to 100 (ballots only).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::wire::serialize_optional_number")]
    pub confidence: Option<f64>,
    /// Set when the text was cut: at the output limit, unless it was [`filtered`](Self::filtered) or
    /// [`interrupted`](Self::interrupted).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Set when a content filter cut the text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set when the server broke the text off for its own reasons.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lens: Option<Lens>,
    /// Set if the author abandoned the draft's approach; the text is then another draft.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rethought: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// The number of further calls with tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_iterations: Option<u32>,
}

impl Metadata {
    /// How the text was cut, if it was.
    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered, self.interrupted)
    }

    /// The metadata of a proposal that repeats its author's last text.
    pub fn carried_over(model: &str) -> Self {
        let model = Some(model.to_owned());
        Self { tokens_used: Some(0), latency_ms: Some(0), model, carried_over: true, ..Self::default() }
    }

    /// The metadata of a contribution made by `calls`, in their order; without tool details.
    pub fn of_calls<'a>(calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut metadata = Self::default();
        for call in calls {
            metadata.model = Some(call.model.clone());
            metadata.served_model.clone_from(&call.served_model);
            metadata.latency_ms = Some(metadata.latency_ms.unwrap_or(0) + call.latency_ms);
            metadata.attempts = Some(metadata.attempts.unwrap_or(0) + call.attempts);
            (metadata.truncated, metadata.filtered) = (call.truncated, call.filtered);
            metadata.interrupted = call.interrupted;
            if let Some(tokens) = call.tokens {
                let add = |sum: &mut Option<u64>, more: u64| *sum = Some(sum.unwrap_or(0) + more);
                add(&mut metadata.tokens_used, tokens.total());
                add(&mut metadata.input_tokens, tokens.input_tokens);
                add(&mut metadata.cached_input_tokens, tokens.cached_input_tokens);
                add(&mut metadata.output_tokens, tokens.output_tokens);
            }
        }
        metadata
    }
}
