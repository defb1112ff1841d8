//! The Responses API: requests and answers. Source of the format: platform.openai.com, "API reference", "Responses".

mod events;

use async_openai::types::responses::{
    CreateResponse, EasyInputContent, EasyInputMessage, FunctionCallOutputItemParam, FunctionTool, FunctionToolCall,
    InputItem, InputParam, Item, ResponseTextParam, Role, Tool,
};
use serde_json::Value;

use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::tool_call::ToolCall;

use super::capabilities::{Capabilities, Streaming};
use super::finish::{finish, is_unfinished};
use super::lenient::{ReportedUsage, arguments, call_id, read_content, take, take_text};
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

/// Whether an output item is a call. Some servers omit the type of an item; only a call has a name.
fn is_call(item: &Value) -> bool {
    item["name"].is_string() && matches!(item["type"].as_str(), Some("function_call") | None)
}

/// The statuses of a response.
const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"];

impl ApiAnswer for Events {
    const PATH: &'static str = "/responses";

    fn is_foreign(answer: &Value) -> bool {
        // Other JSON has a status, too: `ok`, 200.
        let is_known = answer["status"].as_str().is_some_and(|status| STATUSES.contains(&status));
        !has_output(answer) && !is_known
    }

    fn is_one(answer: &Value) -> bool {
        Self::bad_end(answer).is_none() && has_output(answer)
    }

    fn bad_end(answer: &Value) -> Option<String> {
        let status = answer["status"].as_str().filter(|status| is_unfinished(status))?;
        let reason = answer["incomplete_details"]["reason"].as_str();
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        Some(format!("its status is `{status}`{reason}"))
    }

    fn into_reply(mut answer: Value) -> (Reply, String) {
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        let tokens = ReportedUsage::of(&answer).and_then(|usage| usage.tokens());
        let mut output = take(&mut answer, "output");
        for item in output.as_array_mut().into_iter().flatten() {
            if is_call(item) {
                let id = call_id([take_text(item, "call_id"), take_text(item, "id")], tool_calls.len());
                let name = take_text(item, "name").unwrap_or_default();
                tool_calls.push(ToolCall { id, name, arguments: arguments(take(item, "arguments")) });
            } else if matches!(item["type"].as_str(), Some("message") | None) {
                // Others are reasoning, server-side searches, and future types.
                read_content(take(item, "content"), &mut text, &mut refusal);
            }
        }
        if text.is_empty() {
            text = take_text(&mut answer, "output_text").unwrap_or_default();
        }
        let reason = take_text(&mut take(&mut answer, "incomplete_details"), "reason");
        let status = take_text(&mut answer, "status");
        let is_incomplete = status.as_deref() == Some("incomplete");
        let (mut finish, mut finish_word) = match (is_incomplete, &reason) {
            (true, None) => (FinishReason::Length, None),
            (_, Some(reason)) => finish(Some(reason)),
            (false, None) => finish(status.as_deref()),
        };
        if finish == FinishReason::Complete {
            if is_incomplete {
                // The answer was cut for some reason.
                (finish, finish_word) = (FinishReason::Interrupted, finish_word.or(reason));
            } else if !refusal.is_empty() && text.is_empty() {
                finish = FinishReason::Filtered;
            }
        }
        let served_model = take_text(&mut answer, "model");
        (Reply { text, tool_calls, finish, finish_word, served_model, tokens, ..Reply::default() }, refusal)
    }
}

fn has_output(answer: &Value) -> bool {
    answer["output"].is_array() || answer["output_text"].is_string()
}
