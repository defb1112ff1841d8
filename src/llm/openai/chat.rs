//! Chat Completions: its request, and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::debate::ToolCall;
use crate::llm::{FinishReason, Reply, Request, Turn};

use super::fault::{ErrorField, Fault};
use super::lenient::{Arguments, Content, Usage, made_up_id, tolerant};
use super::quirks::{AnswerFormat, Manner, OutputLimit, Temperature};
use super::reading::{Reading, Unreadable};

/// The body of a request. What providers cache comes first.
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
    response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null beside tool calls: some servers refuse an empty text, others a missing field.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema,
}

#[derive(Serialize)]
struct JsonSchema {
    name: &'static str,
    schema: Value,
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Body<'a> {
    /// `request`, put in that manner.
    pub(super) fn new(request: &'a Request, manner: Manner) -> Self {
        let schema = request.answer.filter(|_| manner.format == AnswerFormat::Schema);
        let limit = |name| request.max_tokens.filter(|_| manner.limit == name);
        Self {
            model: &request.model,
            messages: messages(request),
            temperature: (manner.temperature == Temperature::Sent).then_some(request.temperature),
            max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
            max_tokens: limit(OutputLimit::MaxTokens),
            response_format: schema.map(|answer| ResponseFormat {
                kind: "json_schema",
                json_schema: JsonSchema { name: answer.name, schema: (answer.schema)(), strict: true },
            }),
            tools: request
                .tools
                .iter()
                .map(|tool| Tool {
                    kind: "function",
                    function: OfferedFunction {
                        name: &tool.name,
                        description: &tool.description,
                        parameters: &tool.parameters,
                    },
                })
                .collect(),
        }
    }
}

fn message<'a>(role: &'static str, text: &'a str) -> Message<'a> {
    Message { role, content: Some(text), tool_calls: vec![], tool_call_id: None }
}

fn messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages = Vec::with_capacity(2 + request.turns.len());
    if !request.system.is_empty() {
        messages.push(message("system", &request.system));
    }
    messages.push(message("user", &request.prompt));
    for turn in &request.turns {
        match turn {
            Turn::Assistant { text, calls } => messages.push(Message {
                role: "assistant",
                content: Some(text.as_str()).filter(|text| !text.is_empty() || calls.is_empty()),
                tool_calls: calls
                    .iter()
                    .map(|call| Call {
                        id: &call.id,
                        kind: "function",
                        function: CalledFunction { name: &call.name, arguments: &call.arguments },
                    })
                    .collect(),
                tool_call_id: None,
            }),
            Turn::ToolResults(results) => messages.extend(results.iter().map(|result| Message {
                tool_call_id: Some(&result.tool_call_id),
                ..message("tool", &result.content)
            })),
            Turn::User(text) => messages.push(message("user", text)),
        }
    }
    messages
}

/// The body of an answer: everything may be absent.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    /// OpenRouter's place for the failure of the provider behind it.
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
    #[serde(default, deserialize_with = "tolerant")]
    message: Option<Said>,
    /// Where the older Completions API has it.
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default, deserialize_with = "tolerant")]
    content: Option<Content>,
    #[serde(default, deserialize_with = "tolerant")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    tool_calls: Option<Vec<WantedCall>>,
}

#[derive(Deserialize)]
struct WantedCall {
    #[serde(default, deserialize_with = "tolerant")]
    id: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    function: Option<WantedFunction>,
}

#[derive(Deserialize)]
struct WantedFunction {
    #[serde(default, deserialize_with = "tolerant")]
    name: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    arguments: Option<Arguments>,
}

impl Answer {
    /// The error inside an answer that came with a good status.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        let inside = |field: &mut Option<ErrorField>| field.take().and_then(ErrorField::into_fault);
        inside(&mut self.error).or_else(|| inside(&mut self.choices.as_mut()?.first_mut()?.error))
    }

    /// What the model said, as answer number `turn` of the conversation.
    pub(super) fn read(self, turn: usize) -> Result<Reading, Unreadable> {
        let choices = self.choices.ok_or(Unreadable { missing: "choices" })?;
        let mut reply = Reply { served_model: self.model, ..Reply::default() };
        let mut refusal = String::new();
        if let Some(choice) = choices.into_iter().next() {
            reply.finish = match choice.finish_reason.as_deref() {
                Some("length" | "max_tokens" | "model_length") => FinishReason::Length,
                Some("content_filter") => FinishReason::Filtered,
                _ => FinishReason::Complete,
            };
            reply.text = choice.text.unwrap_or_default();
            if let Some(said) = choice.message {
                said.read(turn, &mut reply, &mut refusal);
            }
        }
        Ok(Reading { reply, refusal, usage: self.usage })
    }
}

impl Said {
    fn read(self, turn: usize, reply: &mut Reply, refusal: &mut String) {
        if let Some(content) = self.content {
            content.read(&mut reply.text, refusal);
        }
        refusal.push_str(self.refusal.as_deref().unwrap_or_default());
        for call in self.tool_calls.unwrap_or_default() {
            let Some(WantedFunction { name: Some(name), arguments }) = call.function else { continue };
            let id = call.id.filter(|id| !id.is_empty());
            reply.tool_calls.push(ToolCall {
                id: id.unwrap_or_else(|| made_up_id(turn, reply.tool_calls.len())),
                name,
                arguments: Arguments::into_text(arguments),
            });
        }
    }
}
