//! Chat Completions: requests and answers. Source of the format: platform.openai.com, "API reference", "Chat
//! Completions".

mod chunks;

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, FunctionCall, FunctionObject, ResponseFormat,
};
use serde::Deserialize;

use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::tool_call::ToolCall;

use super::capabilities::{Capabilities, LimitField, Streaming};
use super::failure::ErrorField;
use super::finish::{finish, is_unfinished};
use super::lenient::{Arguments, MessageContent, ReportedUsage, call_id, tolerant, tolerant_list};
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

/// An answer; all fields are optional.
#[derive(Deserialize)]
pub(super) struct ChatAnswer {
    #[serde(default, deserialize_with = "tolerant_list")]
    choices: Option<Vec<ChatChoice>>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<ReportedUsage>,
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct ChatChoice {
    #[serde(default, deserialize_with = "tolerant")]
    message: Option<AnswerMessage>,
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    finish_reason: Option<String>,
    /// OpenRouter's report of an upstream failure.
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    #[serde(default, deserialize_with = "tolerant")]
    content: Option<MessageContent>,
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

impl ApiAnswer for ChatAnswer {
    const PATH: &'static str = "/chat/completions";

    fn is_foreign(&self) -> bool {
        self.choices.is_none()
    }

    fn is_one(&self) -> bool {
        let first = self.choices.as_ref().and_then(|choices| choices.first());
        first.is_some_and(|choice| !choice.finish_reason.as_deref().is_some_and(is_unfinished))
    }

    fn take_error(&mut self) -> Option<ErrorField> {
        self.error.take().or_else(|| self.choices.as_mut()?.first_mut()?.error.take())
    }

    fn usage(&self) -> Option<&ReportedUsage> {
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
        let (mut finish, finish_word) = finish(reason.as_deref());
        if finish == FinishReason::Complete && !refusal.is_empty() && text.is_empty() {
            finish = FinishReason::Filtered;
        }
        let tokens = self.usage.as_ref().and_then(ReportedUsage::tokens);
        (Reply { text, tool_calls, finish, finish_word, served_model: self.model, tokens, ..Reply::default() }, refusal)
    }
}
