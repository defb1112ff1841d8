//! The Responses API: its request, and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::debate::ToolCall;
use crate::llm::{FinishReason, Reply, Request, Turn};

use super::fault::{ErrorField, Fault};
use super::lenient::{Arguments, Content, Usage, made_up_id, tolerant};
use super::quirks::{AnswerFormat, Manner, Temperature};
use super::reading::{Reading, Unreadable};

/// The body of a request. What providers cache comes first.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Input<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    store: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Prompt(&'a str),
    Items(Vec<Item<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        role: &'static str,
        content: &'a str,
    },
    // Without the ids of items: the server keeps nothing that they could refer to.
    FunctionCall {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        output: &'a str,
    },
}

#[derive(Serialize)]
struct TextOptions {
    format: Format,
}

#[derive(Serialize)]
struct Format {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    schema: Value,
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

impl<'a> Body<'a> {
    /// `request`, put in that manner.
    pub(super) fn new(request: &'a Request, manner: Manner) -> Self {
        let schema = request.answer.filter(|_| manner.format == AnswerFormat::Schema);
        Self {
            model: &request.model,
            instructions: &request.system,
            input: if request.turns.is_empty() { Input::Prompt(&request.prompt) } else { Input::Items(items(request)) },
            temperature: (manner.temperature == Temperature::Sent).then_some(request.temperature),
            max_output_tokens: request.max_tokens,
            text: schema.map(|answer| TextOptions {
                format: Format { kind: "json_schema", name: answer.name, schema: (answer.schema)(), strict: true },
            }),
            tools: request
                .tools
                .iter()
                .map(|tool| Tool {
                    kind: "function",
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.parameters,
                    strict: false,
                })
                .collect(),
            store: false,
        }
    }
}

fn items(request: &Request) -> Vec<Item<'_>> {
    let mut items = vec![Item::Message { role: "user", content: &request.prompt }];
    for turn in &request.turns {
        match turn {
            Turn::Assistant { text, calls } => {
                if !text.is_empty() {
                    items.push(Item::Message { role: "assistant", content: text });
                }
                items.extend(calls.iter().map(|call| Item::FunctionCall {
                    kind: "function_call",
                    call_id: &call.id,
                    name: &call.name,
                    arguments: &call.arguments,
                }));
            }
            Turn::ToolResults(results) => items.extend(results.iter().map(|result| Item::FunctionCallOutput {
                kind: "function_call_output",
                call_id: &result.tool_call_id,
                output: &result.content,
            })),
            Turn::User(text) => items.push(Item::Message { role: "user", content: text }),
        }
    }
    items
}

/// The body of an answer: everything may be absent.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
    #[serde(default, deserialize_with = "tolerant")]
    status: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    output: Option<Output>,
    /// What SDKs add and some servers send.
    #[serde(default, deserialize_with = "tolerant")]
    output_text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default, deserialize_with = "tolerant")]
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Output {
    Items(Vec<OutputItem>),
    Text(String),
}

#[derive(Deserialize)]
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

impl Answer {
    /// The error inside an answer that came with a good status.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        let failed = self.status.as_deref() == Some("failed");
        self.error.take().and_then(ErrorField::into_fault).or_else(|| failed.then(Fault::default))
    }

    /// What the model said, as answer number `turn` of the conversation.
    pub(super) fn read(self, turn: usize) -> Result<Reading, Unreadable> {
        let mut reply = Reply { served_model: self.model, ..Reply::default() };
        let mut refusal = String::new();
        match (self.output, self.output_text) {
            (None, None) => return Err(Unreadable { missing: "output" }),
            (None, Some(text)) | (Some(Output::Text(text)), _) => reply.text = text,
            (Some(Output::Items(items)), text) => {
                for item in items {
                    item.read(turn, &mut reply, &mut refusal);
                }
                if reply.text.is_empty() {
                    reply.text = text.unwrap_or_default();
                }
            }
        }
        reply.finish = match self.incomplete_details.and_then(|details| details.reason).as_deref() {
            Some("max_output_tokens" | "max_tokens" | "length") => FinishReason::Length,
            Some("content_filter") => FinishReason::Filtered,
            _ => FinishReason::Complete,
        };
        Ok(Reading { reply, refusal, usage: self.usage })
    }
}

impl OutputItem {
    fn read(self, turn: usize, reply: &mut Reply, refusal: &mut String) {
        match (self.kind.as_deref(), self.name) {
            (Some("function_call") | None, Some(name)) => reply.tool_calls.push(ToolCall {
                id: self.call_id.or(self.id).unwrap_or_else(|| made_up_id(turn, reply.tool_calls.len())),
                name,
                arguments: Arguments::into_text(self.arguments),
            }),
            (Some("message") | None, _) => {
                let Some(content) = self.content else { return };
                let mut said = String::new();
                content.read(&mut said, refusal);
                if reply.text.is_empty() {
                    reply.text = said;
                } else if !said.is_empty() {
                    // Messages of their own: the end of one is not the beginning of a word.
                    reply.text.push_str("\n\n");
                    reply.text.push_str(&said);
                }
            }
            // What a model thinks, and what other tools did, is not what it says.
            _ => {}
        }
    }
}
