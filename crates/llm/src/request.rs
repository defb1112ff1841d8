//! Requests to models, the schemas of their answers, and replies with finish reasons.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use FinishReason::{Complete, Filtered, Interrupted, Length};
use dialectic_base::call::{CallRecord, Tokens, ToolCall, ToolResult};
use dialectic_base::markdown::truncate;
use dialectic_base::money::Usd;

use super::{FailedAttempt, Live, ModelError, StatedUsage};

/// The default output limit in tokens under a cost limit, which requires a maximum price for each call.
pub const ANSWER_LIMIT: u32 = 4096;

/// Implementations make single attempts; the [`Caller`](super::Caller) handles retries, the time limit for the first
/// token, and concurrency.
pub trait ChatModel: Send + Sync {
    /// Makes one attempt. The answer is always streamed if the model supports it, so that cost and result do not depend
    /// on whether anyone watches.
    ///
    /// # Errors
    ///
    /// Returns the usage of the failed attempt, and an error that tells whether another attempt may help.
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>>;

    /// Whether the server cannot bill anyone, because it is local or receives no key.
    fn is_local(&self) -> bool {
        false
    }

    /// Whether a subscription covers the calls. If so, nothing is billed, and costs are list prices.
    fn is_notional(&self) -> bool {
        false
    }

    /// The name and the maximum of a concurrency limit. All models of this process that return the same name share the
    /// limit. `None` if only the debate's own limit applies.
    fn shared_bound(&self) -> Option<(&Arc<str>, usize)> {
        None
    }

    /// Checks whether the server can be reached, without calling a model.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached.
    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }
}

#[derive(Debug, Clone)]
pub struct Request {
    pub model: Arc<str>,
    /// From 0.0 to 2.0.
    pub temperature: f64,
    /// The maximum length of the answer; `None` for no limit.
    pub max_tokens: Option<u32>,
    /// The system text. It is the same in all calls of a debate, except for agents with a system text of their own, so
    /// that providers can cache it.
    pub system: Arc<str>,
    /// The user's text. It starts with shared material and ends with the parts specific to the role and phase.
    pub prompt: Arc<str>,
    /// Continues the conversation after `prompt`.
    pub turns: Vec<Turn>,
    /// `None` for free text.
    pub answer: Option<Arc<AnswerSchema>>,
    pub tools: Arc<[ToolSpec]>,
    /// Whether a model that rejects tools may answer without them; otherwise its refusal is final.
    pub tools_are_optional: bool,
}

pub fn request_bytes(request: &Request) -> usize {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::Assistant { message: Some(message), .. } => message.to_string().len(),
        Turn::Assistant { text, calls, message: None } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
        Turn::ToolResults(results) => results.iter().map(|result| result.content.len()).sum(),
        Turn::User(text) => text.len(),
    });
    let tools =
        request.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let schema = request.answer.as_ref().map_or(0, |answer| answer.schema.to_string().len());
    request.system.len() + request.prompt.len() + turns.sum::<usize>() + tools.sum::<usize>() + schema
}

#[derive(Debug, Clone)]
pub enum Turn {
    Assistant {
        /// May be empty.
        text: String,
        calls: Vec<ToolCall>,
        /// The original message, if it contains more than text and calls.
        message: Option<Value>,
    },
    ToolResults(Vec<ToolResult>),
    User(String),
}

impl Turn {
    /// Whether the turn contains the model's original message, which is sent back if the model accepts it.
    pub(crate) fn is_as_it_came(&self) -> bool {
        matches!(self, Self::Assistant { message: Some(_), .. })
    }

    pub(crate) fn has_calls(&self) -> bool {
        match self {
            Self::Assistant { calls, .. } => !calls.is_empty(),
            Self::ToolResults(_) | Self::User(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// May be empty if there are tool calls.
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
    /// The original message, including unknown fields, if it contains more than text and calls. It is sent back when
    /// the conversation continues.
    pub message: Option<Value>,
    pub finish: FinishReason,
    /// The server's finish reason, if `finish` does not express it.
    pub finish_word: Option<String>,
    /// The model that answered, according to the server. It may differ from the requested model.
    pub served_model: Option<String>,
    pub tokens: Option<Tokens>,
    /// The cost stated by the server, which takes precedence over the price table.
    pub stated_cost: Option<Usd>,
    /// The record of the whole call, which the [`Caller`](super::Caller) adds.
    pub record: CallRecord,
}

impl Reply {
    pub fn usage(&self) -> StatedUsage {
        StatedUsage { tokens: self.tokens, cost: self.stated_cost }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishReason {
    /// The answer is complete, or the server did not say otherwise.
    #[default]
    Complete,
    Length,
    /// The provider's filter or the model itself refused.
    Filtered,
    /// The server stopped the answer early, e.g. because it ran out of resources.
    Interrupted,
    /// The server's finish reason is unknown. The answer may have been cut off.
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// The name that APIs require: letters, digits, `_` and `-`.
    pub name: &'static str,
    /// The strict schema: all properties are required, and no others are allowed.
    pub schema: Value,
}

/// Schema keywords that do not constrain an answer. Descriptions come from doc comments, which are written for readers
/// of the code.
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "format"];

impl AnswerSchema {
    /// The schema of `T` for strict structured output: properties in field order, all required, no others allowed,
    /// definitions inlined, bounds kept, annotations removed. Fields that are optional when parsed (`Option`,
    /// `#[serde(default)]`) are still required.
    ///
    /// Recursive types are not supported.
    pub fn of<T: JsonSchema>(name: &'static str) -> Self {
        Self::with_root(name, SchemaGenerator::into_root_schema_for::<T>)
    }

    pub fn with_root(name: &'static str, root: fn(SchemaGenerator) -> Schema) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let generator = settings.with_transform(RecursiveTransform(make_strict)).into_generator();
        Self { name, schema: root(generator).to_value() }
    }
}

pub fn strict_object(properties: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn make_strict(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
    let names = object.get("properties").and_then(Value::as_object);
    if let Some(names) = names.map(|properties| properties.keys().cloned().collect::<Vec<_>>()) {
        object.insert("required".to_owned(), json!(names));
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    // `schemars` turns documented enum variants into `oneOf`, which strict output does not support.
    let variants = object.get("oneOf").and_then(Value::as_array);
    let names = variants.and_then(|variants| variants.iter().map(|variant| variant.get("const").cloned()).collect());
    if let Some(names) = names {
        let names: Vec<Value> = names;
        object.remove("oneOf");
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(names));
    }
}

/// The maximum length of a finish reason in the record, in characters.
const KEPT: usize = 64;

/// Known finish reasons in lower case; `None` means that the answer is unfinished or failed.
#[rustfmt::skip]
const ENDS: &[(Option<FinishReason>, &[&str])] = &[
    (Some(Complete), &["", "stop", "tool_calls", "function_call", "completed"]), // OpenAI; empty: Ollama, gateways
    (Some(Complete), &["end_turn", "stop_sequence", "tool_use"]), // Anthropic, Bedrock
    (Some(Complete), &["complete", "tool_call"]), // Cohere
    (Some(Complete), &["eos", "eos_token"]), // Together, Text Generation Inference, watsonx
    (Some(Complete), &["finish", "finished", "endoftext"]), // Bedrock: Titan, AI21
    (Some(Complete), &["normal"]), // Baidu
    (Some(Length), &["length"]), // OpenAI
    (Some(Length), &["max_tokens", "model_context_window_exceeded", "compaction"]), // Anthropic, Google
    (Some(Length), &["max_output_tokens", "max_completion_tokens"]), // OpenAI's Responses API, LiteLLM
    (Some(Length), &["model_length"]), // Mistral
    (Some(Length), &["token_limit", "max_new_tokens", "max_length"]), // watsonx, Text Generation Inference
    (Some(Length), &["context_length", "context_length_exceeded", "length_limit"]), // gateways
    (Some(Filtered), &["content_filter", "content-filter"]), // OpenAI, with Google's reason after a colon
    (Some(Filtered), &["refusal", "content_filtered"]), // Anthropic, Titan
    (Some(Filtered), &["safety", "recitation", "blocklist", "prohibited_content", "spii"]), // Google
    (Some(Filtered), &["image_safety", "image_prohibited_content", "model_armor"]), // Google's Vertex AI
    (Some(Filtered), &["error_toxic"]), // Cohere
    (Some(Filtered), &["guardrail_intervened"]), // Bedrock
    (Some(Filtered), &["sensitive", "output_sensitive"]), // Zhipu, MiniMax
    (Some(Filtered), &["moderation", "flagged", "blocked", "policy_violation"]), // gateways
    (Some(Interrupted), &["language", "other", "malformed_function_call", "malformed_response"]), // Google
    (Some(Interrupted), &["unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature"]), // Google
    (Some(Interrupted), &["image_recitation", "image_other", "no_image", "escalation"]), // Google
    (Some(Interrupted), &["pause_turn"]), // Anthropic
    (Some(Interrupted), &["max_tool_calls"]), // OpenAI's Responses API
    (Some(Interrupted), &["error_limit", "user_cancel"]), // Cohere
    (Some(Interrupted), &["abort", "aborted", "repetition"]), // vLLM, SGLang
    (Some(Interrupted), &["insufficient_system_resource", "repetition_truncation"]), // DeepSeek
    (Some(Interrupted), &["network_error"]), // Zhipu
    (Some(Interrupted), &["time_limit", "not_finished"]), // watsonx
    (Some(Interrupted), &["load", "unload"]), // Ollama
    (Some(Interrupted), &["timeout"]), // gateways
    (None, &["queued", "in_progress", "failed", "cancelled"]), // OpenAI's Responses API
    (None, &["error"]), // OpenRouter, vLLM
];

/// Looks up a finish reason. Ignores the part after a colon, in which Google's compatible API states its own reason.
fn meaning(word: &str) -> Option<&'static Option<FinishReason>> {
    let word = word.split(':').next().unwrap_or_default().trim();
    let is_it = |known: &&str| known.eq_ignore_ascii_case(word);
    ENDS.iter().find(|(_, words)| words.iter().any(is_it)).map(|(end, _)| end)
}

/// Parses the server's finish reason; also returns the word if [`FinishReason`] does not express it.
pub(crate) fn finish(word: Option<&str>) -> (FinishReason, Option<String>) {
    let word = word.unwrap_or_default().trim();
    let kept = || Some(truncate(word, KEPT).to_owned());
    match meaning(word) {
        Some(&Some(end @ (Complete | Length | Filtered))) if !word.contains(':') => (end, None),
        Some(&Some(end)) => (end, kept()),
        Some(None) | None => (FinishReason::Unknown, kept()),
    }
}

pub(crate) fn is_unfinished(word: &str) -> bool {
    meaning(word) == Some(&None)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the schema matters")]
    struct SampleAnswer {
        #[serde(default)]
        #[schemars(length(max = 12), inner(length(max = 600)))]
        open_questions: Vec<String>,
        /// The parts.
        #[schemars(length(max = 20))]
        parts: Vec<Part>,
        first: Part,
        winner: SampleSide,
        #[schemars(with = "f64", range(min = 0, max = 100))]
        confidence: Option<f64>,
        #[schemars(range(min = 1))]
        count: u32,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema matters")]
    struct Part {
        #[serde(alias = "question")]
        #[schemars(length(max = 20))]
        text: String,
        #[serde(default)]
        is_new: bool,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum SampleSide {
        /// In favour.
        Proposition,
        /// Against.
        Opposition,
    }

    #[test]
    fn a_derived_schema_is_strict_and_keeps_order_and_bounds() {
        let part = strict_object([
            ("text", json!({ "type": "string", "maxLength": 20 })),
            ("is_new", json!({ "type": "boolean" })),
        ]);
        let expected = strict_object([
            (
                "openQuestions",
                json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 }),
            ),
            ("parts", json!({ "type": "array", "items": part, "maxItems": 20 })),
            ("first", part),
            ("winner", json!({ "type": "string", "enum": ["proposition", "opposition"] })),
            ("confidence", json!({ "type": "number", "minimum": 0, "maximum": 100 })),
            ("count", json!({ "type": "integer", "minimum": 1 })),
        ]);
        let AnswerSchema { name, schema } = AnswerSchema::of::<SampleAnswer>("answer");
        assert_eq!((name, &schema), ("answer", &expected));
        let names = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&schema), names(&expected));
    }

    #[test]
    fn a_word_is_known_in_any_case() {
        use FinishReason::Unknown;
        for (words, reason, is_kept) in [
            (&["stop", "STOP", "end_turn", "COMPLETE", "tool_calls", "", " "][..], Complete, false),
            (&["length", "model_length", "MAX_TOKENS", "max_tokens", "max_output_tokens"], Length, false),
            (&["content_filter", "SAFETY", "safety", "RECITATION", "refusal", "sensitive"], Filtered, false),
            (&["content_filter: RECITATION", "Content_Filter:SPII"], Filtered, true),
            (&["abort", "ABORT", "OTHER", "language", "MALFORMED_FUNCTION_CALL", "network_error"], Interrupted, true),
            (&["eos_in_some_dialect", "stop it", "error"], Unknown, true),
        ] {
            for word in words {
                assert_eq!(finish(Some(word)), (reason, is_kept.then(|| (*word).to_owned())), "{word}");
            }
        }
        assert_eq!(finish(None), (Complete, None));
        assert!(["queued", "in_progress", "IN_PROGRESS", "error"].iter().all(|word| is_unfinished(word)));
        assert!(!is_unfinished("stop") && !is_unfinished("because"));
    }
}
