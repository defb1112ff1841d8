//! Chat Completions: what is sent, and what comes back.
//! Source of the format: platform.openai.com, "API reference", "Chat Completions".

mod chunks;

use std::borrow::Cow;

use async_openai::types::chat::ChatCompletionStreamOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::debate::ToolCall;
use crate::llm::{FinishReason, Reply, Request, Turn};

use super::ApiAnswer;
use super::failure::ErrorField;
use super::lenient::{Arguments, Content, Usage, call_id, tolerant, tolerant_list};
use super::quirks::{LimitField, Quirks, Streaming};

pub(super) use chunks::Chunks;

/// A request. What all calls of a debate share comes first: providers bill an equal beginning at a fraction.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<ChatCompletionStreamOptions>,
}

/// Without it the API keeps the token counts of a stream to itself.
const WITH_USAGE: ChatCompletionStreamOptions =
    ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None };

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null where a message only calls tools: as text, empty is refused by some.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: AnswerForm<'a>,
}

#[derive(Serialize)]
struct AnswerForm<'a> {
    name: &'a str,
    schema: Cow<'a, Value>,
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None }
    }
}

impl<'a> Body<'a> {
    pub(super) fn new(request: &'a Request, quirks: Quirks) -> Self {
        let mut messages = vec![Message::new("system", &request.system), Message::new("user", &request.prompt)];
        for turn in &request.turns {
            match turn {
                Turn::User(text) => messages.push(Message::new("user", text)),
                Turn::Assistant { text, calls } => {
                    let call = |call: &'a ToolCall| Call {
                        id: &call.id,
                        r#type: "function",
                        function: CalledFunction { name: &call.name, arguments: &call.arguments },
                    };
                    let tool_calls: Vec<_> = calls.iter().map(call).collect();
                    let content = Some(text.as_str()).filter(|text| tool_calls.is_empty() || !text.is_empty());
                    messages.push(Message { content, tool_calls, ..Message::new("assistant", text) });
                }
                Turn::ToolResults(results) => messages.extend(results.iter().map(|result| Message {
                    tool_call_id: Some(&result.tool_call_id),
                    ..Message::new("tool", &result.content)
                })),
            }
        }
        let tool = |tool: &'a crate::llm::ToolSpec| Tool {
            r#type: "function",
            function: Function { name: &tool.name, description: &tool.description, parameters: &tool.parameters },
        };
        let schema = quirks.schemas.of(request.answer.as_deref());
        let tokens = |field| request.max_tokens.filter(|_| quirks.limit == field);
        Self {
            model: &request.model,
            messages,
            temperature: quirks.takes_temperature.then_some(request.temperature),
            max_completion_tokens: tokens(LimitField::MaxCompletionTokens),
            max_tokens: tokens(LimitField::MaxTokens),
            response_format: schema.map(|(name, schema)| ResponseFormat {
                r#type: "json_schema",
                json_schema: AnswerForm { name, schema, strict: true },
            }),
            tools: request.tools.iter().map(tool).collect(),
            stream: (quirks.streaming != Streaming::Never).then_some(true),
            stream_options: (quirks.streaming == Streaming::WithUsage).then_some(WITH_USAGE),
        }
    }
}

/// An answer; whatever may be absent is.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "tolerant_list")]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<Usage>,
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "tolerant")]
    message: Option<AnswerMessage>,
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    finish_reason: Option<String>,
    /// Where OpenRouter says that the model's own provider failed midway.
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    #[serde(default, deserialize_with = "tolerant")]
    content: Option<Content>,
    #[serde(default, deserialize_with = "tolerant")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "tolerant_list")]
    tool_calls: Option<Vec<AnswerCall>>,
}

#[derive(Deserialize)]
struct AnswerCall {
    #[serde(default, deserialize_with = "tolerant")]
    id: Option<String>,
    function: AnswerFunction,
}

#[derive(Deserialize)]
struct AnswerFunction {
    name: String,
    #[serde(default, deserialize_with = "tolerant")]
    arguments: Option<Arguments>,
}

impl ApiAnswer for Answer {
    const PATH: &'static str = "/chat/completions";

    fn is_foreign(&self) -> bool {
        self.choices.is_none()
    }

    fn is_one(&self) -> bool {
        let first = self.choices.as_ref().and_then(|choices| choices.first());
        first.is_some_and(|choice| choice.finish_reason.as_deref() != Some("error"))
    }

    fn take_error(&mut self) -> Option<ErrorField> {
        self.error.take().or_else(|| self.choices.as_mut()?.first_mut()?.error.take())
    }

    fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    fn into_reply(self) -> (Reply, String) {
        let (mut text, mut refusal, mut tool_calls, mut reason) = (String::new(), String::new(), Vec::new(), None);
        if let Some(choice) = self.choices.and_then(|choices| choices.into_iter().next()) {
            reason = choice.finish_reason;
            if let Some(message) = choice.message {
                if let Some(content) = message.content {
                    content.read(&mut text, &mut refusal);
                }
                refusal.push_str(&message.refusal.unwrap_or_default());
                for call in message.tool_calls.unwrap_or_default() {
                    tool_calls.push(ToolCall {
                        id: call_id([call.id, None], tool_calls.len()),
                        name: call.function.name,
                        arguments: Arguments::into_text(call.function.arguments),
                    });
                }
            }
            if text.is_empty() {
                text = choice.text.unwrap_or_default();
            }
        }
        let finish = match reason.as_deref() {
            Some("length" | "max_tokens") => FinishReason::Length,
            Some("content_filter" | "refusal") => FinishReason::Filtered,
            _ if !refusal.is_empty() && text.is_empty() => FinishReason::Filtered,
            _ => FinishReason::Complete,
        };
        let tokens = self.usage.as_ref().and_then(Usage::tokens);
        (Reply { text, tool_calls, finish, served_model: self.model, tokens, stated_cost: None }, refusal)
    }
}
