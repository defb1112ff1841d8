//! Chat Completions: requests and answers. Source of the format: platform.openai.com, "API reference", "Chat
//! Completions".

mod chunks;

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, FunctionCall, FunctionObject, ResponseFormat,
};
use serde_json::Value;

use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::tool_call::ToolCall;

use super::capabilities::{Capabilities, LimitField, Streaming};
use super::failure::error_field;
use super::finish::{finish, is_unfinished};
use super::lenient::{ReportedUsage, arguments, call_id, read_content, take, take_text};
use super::{ApiAnswer, as_single, strict_format};

pub(super) use chunks::Chunks;

/// Without this option the API omits the token counts of a stream.
const WITH_USAGE: ChatCompletionStreamOptions =
    ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None };

/// The request body for a model with these capabilities.
pub(super) fn body(request: &Request, capabilities: Capabilities) -> CreateChatCompletionRequest {
    let tokens = |field| request.max_tokens.filter(|_| capabilities.limit == field);
    #[expect(deprecated, reason = "other servers know the output limit only by its old name")]
    CreateChatCompletionRequest {
        model: request.model.to_string(),
        messages: messages(request),
        temperature: capabilities.takes_temperature.then(|| as_single(request.temperature)),
        max_completion_tokens: tokens(LimitField::MaxCompletionTokens),
        max_tokens: tokens(LimitField::MaxTokens),
        response_format: capabilities
            .schemas
            .of(request.answer.as_deref())
            .map(|schema| ResponseFormat::JsonSchema { json_schema: strict_format(schema) }),
        tools: (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()),
        stream: (capabilities.streaming != Streaming::Never).then_some(true),
        stream_options: (capabilities.streaming == Streaming::WithUsage).then_some(WITH_USAGE),
        ..CreateChatCompletionRequest::default()
    }
}

/// Shared parts come first: providers discount identical beginnings.
fn messages(request: &Request) -> Vec<ChatCompletionRequestMessage> {
    let system = ChatCompletionRequestSystemMessage::from(&*request.system);
    let prompt = ChatCompletionRequestUserMessage::from(&*request.prompt);
    let mut messages = vec![system.into(), prompt.into()];
    for turn in &request.turns {
        match turn {
            Turn::User(text) => messages.push(ChatCompletionRequestUserMessage::from(text.as_str()).into()),
            Turn::Assistant { text, calls } => {
                let tool_calls = (!calls.is_empty()).then(|| calls.iter().map(called).collect());
                // Some servers refuse empty text next to tool calls.
                let content = (calls.is_empty() || !text.is_empty()).then(|| text.as_str().into());
                let message = ChatCompletionRequestAssistantMessage { content, tool_calls, ..Default::default() };
                messages.push(message.into());
            }
            Turn::ToolResults(results) => messages.extend(results.iter().map(|result| {
                let (content, tool_call_id) = (result.content.as_str().into(), result.tool_call_id.clone());
                ChatCompletionRequestMessage::from(ChatCompletionRequestToolMessage { content, tool_call_id })
            })),
        }
    }
    messages
}

fn called(call: &ToolCall) -> ChatCompletionMessageToolCalls {
    let function = FunctionCall { name: call.name.clone(), arguments: call.arguments.clone() };
    ChatCompletionMessageToolCall { id: call.id.clone(), function }.into()
}

fn tool(tool: &ToolSpec) -> ChatCompletionTools {
    ChatCompletionTools::Function(ChatCompletionTool {
        function: FunctionObject {
            name: tool.name.clone(),
            description: Some(tool.description.clone()),
            parameters: Some(tool.parameters.clone()),
            strict: None,
        },
    })
}

impl ApiAnswer for Chunks {
    const PATH: &'static str = "/chat/completions";

    fn is_foreign(answer: &Value) -> bool {
        !answer["choices"].is_array()
    }

    fn is_one(answer: &Value) -> bool {
        let is_answer = |choice: &Value| !choice["finish_reason"].as_str().is_some_and(is_unfinished);
        choice(answer).is_some_and(is_answer)
    }

    /// Also OpenRouter's report of an upstream failure.
    fn error(answer: &Value) -> Option<&Value> {
        error_field(answer).or_else(|| error_field(choice(answer)?))
    }

    fn into_reply(mut answer: Value) -> (Reply, String) {
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        let tokens = ReportedUsage::of(&answer).and_then(|usage| usage.tokens());
        let mut choice = take_choice(&mut answer);
        let reason = take_text(&mut choice, "finish_reason");
        let mut message = take(&mut choice, "message");
        read_content(take(&mut message, "content"), &mut text, &mut refusal);
        refusal.push_str(&take_text(&mut message, "refusal").unwrap_or_default());
        let mut calls = take(&mut message, "tool_calls");
        for call in calls.as_array_mut().into_iter().flatten() {
            let mut function = take(call, "function");
            if let Some(name) = take_text(&mut function, "name") {
                let id = call_id([take_text(call, "id"), None], tool_calls.len());
                tool_calls.push(ToolCall { id, name, arguments: arguments(take(&mut function, "arguments")) });
            }
        }
        if text.is_empty() {
            text = take_text(&mut choice, "text").unwrap_or_default();
        }
        let (mut finish, finish_word) = finish(reason.as_deref());
        if finish == FinishReason::Complete && !refusal.is_empty() && text.is_empty() {
            finish = FinishReason::Filtered;
        }
        let served_model = take_text(&mut answer, "model");
        (Reply { text, tool_calls, finish, finish_word, served_model, tokens, ..Reply::default() }, refusal)
    }
}

/// The first choice: one answer is requested.
fn choice(answer: &Value) -> Option<&Value> {
    answer["choices"].as_array()?.iter().find(|choice| choice.is_object())
}

/// Takes the first choice; null if there is none.
fn take_choice(answer: &mut Value) -> Value {
    let choices = answer.get_mut("choices").and_then(Value::as_array_mut);
    let first = choices.into_iter().flatten().find(|choice| choice.is_object());
    first.map(Value::take).unwrap_or_default()
}
