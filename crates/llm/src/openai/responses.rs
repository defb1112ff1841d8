//! The Responses API: requests and answers. Source of the format: platform.openai.com, "API reference", "Responses".

mod events;

use async_openai::types::responses::{
    CreateResponse, EasyInputContent, EasyInputMessage, FunctionCallOutputItemParam, FunctionTool, FunctionToolCall,
    InputItem, InputParam, Item, ResponseTextParam, Role, Tool,
};
use serde::Deserialize;

use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::tool_call::ToolCall;

use super::capabilities::{Capabilities, Streaming};
use super::failure::ErrorField;
use super::finish::{finish, is_unfinished};
use super::lenient::{Arguments, MessageContent, ReportedUsage, call_id, tolerant, tolerant_list};
use super::{ApiAnswer, as_single, strict_format};
pub(super) use events::Events;

/// The request body for a model with these capabilities.
pub(super) fn body(request: &Request, capabilities: Capabilities) -> CreateResponse {
    CreateResponse {
        model: Some(request.model.to_string()),
        instructions: Some(request.system.to_string()),
        input: input(request),
        temperature: capabilities.takes_temperature.then(|| as_single(request.temperature)),
        max_output_tokens: request.max_tokens,
        text: capabilities
            .schemas
            .of(request.answer.as_deref())
            .map(|schema| ResponseTextParam::from(strict_format(schema))),
        tools: (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()),
        store: Some(false),
        stream: (capabilities.streaming != Streaming::Never).then_some(true),
        ..CreateResponse::default()
    }
}

/// Shared parts come first: providers discount identical beginnings.
fn input(request: &Request) -> InputParam {
    if request.turns.is_empty() {
        return InputParam::from(&*request.prompt);
    }
    let mut items = vec![message(Role::User, &request.prompt)];
    for turn in &request.turns {
        match turn {
            Turn::User(text) => items.push(message(Role::User, text)),
            Turn::Assistant { text, calls } => {
                if !text.is_empty() {
                    items.push(message(Role::Assistant, text));
                }
                items.extend(calls.iter().map(called));
            }
            Turn::ToolResults(results) => items.extend(results.iter().map(|result| {
                InputItem::from(Item::from(FunctionCallOutputItemParam {
                    call_id: Some(result.tool_call_id.clone()),
                    output: result.content.as_str().into(),
                    id: None,
                    status: None,
                    name: None,
                    namespace: None,
                    caller: None,
                }))
            })),
        }
    }
    InputParam::Items(items)
}

/// A message with an explicit type: OpenAI does not need it, but other servers do (llama.cpp: "Cannot determine type of
/// 'item'").
fn message(role: Role, text: &str) -> InputItem {
    EasyInputMessage { role, content: EasyInputContent::Text(text.to_owned()), ..Default::default() }.into()
}

fn called(call: &ToolCall) -> InputItem {
    let (call_id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
    Item::from(FunctionToolCall { call_id, name, arguments, ..Default::default() }).into()
}

fn tool(tool: &ToolSpec) -> Tool {
    Tool::from(FunctionTool {
        name: tool.name.clone(),
        description: Some(tool.description.clone()),
        parameters: Some(tool.parameters.clone()),
        strict: Some(false),
        ..FunctionTool::default()
    })
}

/// An answer; all fields are optional.
#[derive(Default, Deserialize)]
pub(super) struct ResponsesAnswer {
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
    usage: Option<ReportedUsage>,
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
    content: Option<MessageContent>,
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
    /// Some servers omit the type of an item; only a call has a name.
    fn is_call(&self) -> bool {
        self.name.is_some() && matches!(self.kind.as_deref(), Some("function_call") | None)
    }
}

/// The statuses of a response.
const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"];

impl ApiAnswer for ResponsesAnswer {
    const PATH: &'static str = "/responses";

    fn is_foreign(&self) -> bool {
        // Other JSON has a status, too: `ok`, 200.
        let is_known = |status: &str| STATUSES.contains(&status);
        self.output.is_none() && self.output_text.is_none() && !self.status.as_deref().is_some_and(is_known)
    }

    fn is_one(&self) -> bool {
        self.bad_end().is_none() && (self.output.is_some() || self.output_text.is_some())
    }

    fn bad_end(&self) -> Option<String> {
        let status = self.status.as_deref().filter(|status| is_unfinished(status))?;
        let reason = self.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        Some(format!("its status is `{status}`{reason}"))
    }

    fn take_error(&mut self) -> Option<ErrorField> {
        self.error.take()
    }

    fn usage(&self) -> Option<&ReportedUsage> {
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
                // Reasoning, server-side searches, and future types.
                (Some(_), _) => {}
            }
        }
        if text.is_empty() {
            text = self.output_text.unwrap_or_default();
        }
        let reason = self.incomplete_details.and_then(|details| details.reason);
        let is_incomplete = self.status.as_deref() == Some("incomplete");
        let (mut finish, mut finish_word) = match (is_incomplete, &reason) {
            (true, None) => (FinishReason::Length, None),
            (_, Some(reason)) => finish(Some(reason)),
            (false, None) => finish(self.status.as_deref()),
        };
        if finish == FinishReason::Complete {
            if is_incomplete {
                // The answer was cut for some reason.
                (finish, finish_word) = (FinishReason::Interrupted, finish_word.or(reason));
            } else if !refusal.is_empty() && text.is_empty() {
                finish = FinishReason::Filtered;
            }
        }
        let tokens = self.usage.as_ref().and_then(ReportedUsage::tokens);
        (Reply { text, tool_calls, finish, finish_word, served_model: self.model, tokens, ..Reply::default() }, refusal)
    }
}
