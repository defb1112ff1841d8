//! The Responses API: what is sent, and what comes back.
//! Source of the format: platform.openai.com, "API reference", "Responses".

mod events;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::debate::ToolCall;
use crate::llm::{FinishReason, Reply, Request, Turn};

use super::ApiAnswer;
use super::failure::ErrorField;
use super::lenient::{Arguments, Content, Usage, call_id, tolerant, tolerant_list};
use super::quirks::{Quirks, Streaming};

pub(super) use events::Events;

/// A request. What all calls of a debate share comes first: providers bill an equal beginning at a fraction.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    instructions: &'a str,
    input: Input<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Prompt(&'a str),
    Items(Vec<Item<'a>>),
}

/// Each says what it is: OpenAI would know a message without, other servers refuse it (llama.cpp: "Cannot determine type
/// of 'item'").
#[derive(Serialize)]
#[serde(tag = "type")]
enum Item<'a> {
    #[serde(rename = "message")]
    Message { role: &'static str, content: &'a str },
    #[serde(rename = "function_call")]
    Call { call_id: &'a str, name: &'a str, arguments: &'a str },
    #[serde(rename = "function_call_output")]
    Output { call_id: &'a str, output: &'a str },
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    name: &'a str,
    schema: Cow<'a, Value>,
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(request: &'a Request, quirks: Quirks) -> Self {
        let schema = quirks.schemas.of(request.answer.as_deref());
        let tool = |tool: &'a crate::llm::ToolSpec| Tool {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        };
        Self {
            model: &request.model,
            instructions: &request.system,
            input: input(request),
            temperature: quirks.takes_temperature.then_some(request.temperature),
            max_output_tokens: request.max_tokens,
            text: schema
                .map(|(name, schema)| Text { format: Format { r#type: "json_schema", name, schema, strict: true } }),
            tools: request.tools.iter().map(tool).collect(),
            store: false,
            stream: (quirks.streaming != Streaming::Never).then_some(true),
        }
    }
}

fn input(request: &Request) -> Input<'_> {
    if request.turns.is_empty() {
        return Input::Prompt(&request.prompt);
    }
    let mut items = vec![Item::Message { role: "user", content: &request.prompt }];
    for turn in &request.turns {
        match turn {
            Turn::User(text) => items.push(Item::Message { role: "user", content: text }),
            Turn::Assistant { text, calls } => {
                if !text.is_empty() {
                    items.push(Item::Message { role: "assistant", content: text });
                }
                items.extend(calls.iter().map(|call| Item::Call {
                    call_id: &call.id,
                    name: &call.name,
                    arguments: &call.arguments,
                }));
            }
            Turn::ToolResults(results) => items.extend(
                results.iter().map(|result| Item::Output { call_id: &result.tool_call_id, output: &result.content }),
            ),
        }
    }
    Input::Items(items)
}

/// An answer; whatever may be absent is.
#[derive(Default, Deserialize)]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "tolerant_list")]
    output: Option<Vec<OutputItem>>,
    #[serde(default, deserialize_with = "tolerant")]
    output_text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    status: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    incomplete_details: Option<Incomplete>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<Usage>,
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default, deserialize_with = "tolerant")]
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct OutputItem {
    #[serde(default, rename = "type", deserialize_with = "tolerant")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    content: Option<Content>,
    #[serde(default, deserialize_with = "tolerant")]
    call_id: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    id: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    name: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    arguments: Option<Arguments>,
}

impl OutputItem {
    /// Some servers leave out what an item is; only a call has a name.
    fn is_call(&self) -> bool {
        self.name.is_some() && matches!(self.kind.as_deref(), Some("function_call") | None)
    }
}

/// What a response can be.
const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"];

impl ApiAnswer for Answer {
    const PATH: &'static str = "/responses";

    fn is_foreign(&self) -> bool {
        // Other JSON has a status, too: `ok`, 200.
        let is_known = |status: &str| STATUSES.contains(&status);
        self.output.is_none() && self.output_text.is_none() && !self.status.as_deref().is_some_and(is_known)
    }

    fn is_one(&self) -> bool {
        let ended_badly = matches!(self.status.as_deref(), Some("failed" | "cancelled"));
        !ended_badly && (self.output.is_some() || self.output_text.is_some())
    }

    fn take_error(&mut self) -> Option<ErrorField> {
        self.error.take()
    }

    fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    fn into_reply(self) -> (Reply, String) {
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        for item in self.output.unwrap_or_default() {
            match (item.kind.as_deref(), item.name) {
                (Some("function_call") | None, Some(name)) => tool_calls.push(ToolCall {
                    id: call_id([item.call_id, item.id], tool_calls.len()),
                    name,
                    arguments: Arguments::into_text(item.arguments),
                }),
                (None | Some("message"), _) => {
                    if let Some(content) = item.content {
                        content.read(&mut text, &mut refusal);
                    }
                }
                // Reasoning, searches of the server's own, and whatever comes to be.
                (Some(_), _) => {}
            }
        }
        if text.is_empty() {
            text = self.output_text.unwrap_or_default();
        }
        let reason = self.incomplete_details.and_then(|details| details.reason);
        let finish = match (self.status.as_deref(), reason.as_deref()) {
            (_, Some("content_filter")) => FinishReason::Filtered,
            (_, Some("max_output_tokens" | "max_tokens" | "length")) | (Some("incomplete"), _) => FinishReason::Length,
            _ if !refusal.is_empty() && text.is_empty() => FinishReason::Filtered,
            _ => FinishReason::Complete,
        };
        let tokens = self.usage.as_ref().and_then(Usage::tokens);
        (Reply { text, tool_calls, finish, served_model: self.model, tokens, stated_cost: None }, refusal)
    }
}
