//! The Responses API: requests and answers. The format is documented at platform.openai.com, "API reference",
//! "Responses".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::request::{finish, is_unfinished};
use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::call::ToolCall;

use super::capabilities::{Capabilities, Streaming, texts};
use super::failure::error_in;
use super::lenient::{Borrowed, ReportedUsage, arguments, call_id, object, read_content, take, take_text, take_word};
use super::reasoning::TextSink;
use super::sse::{DONE, ServerSentEvent};
use super::streaming::{ApiAnswer, Completeness, Deltas, ReplyNotes};

/// Builds the input, starting with the parts that calls share, because providers discount identical prefixes.
fn input(request: &Request, prompt: &str, replays: bool) -> Value {
    if request.turns.is_empty() {
        return prompt.into();
    }
    let mut items = vec![message("user", prompt)];
    for turn in &request.turns {
        match turn {
            Turn::User(text) => items.push(message("user", text)),
            Turn::Assistant { message: Some(Value::Array(output)), .. } if replays => items.extend_from_slice(output),
            Turn::Assistant { text, calls, .. } => {
                if !text.is_empty() {
                    items.push(message("assistant", text));
                }
                items.extend(calls.iter().map(called));
            }
            Turn::ToolResults(results) => items.extend(results.iter().map(|result| {
                json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": result.content })
            })),
        }
    }
    items.into()
}

/// A message with an explicit type, which OpenAI does not need, but other servers do (llama.cpp: "Cannot determine type
/// of 'item'").
fn message(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": text })
}

fn called(call: &ToolCall) -> Value {
    let ToolCall { id, name, arguments } = call;
    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({
        "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false,
    })
}

/// Some servers omit the type, but only a call has a name.
fn is_call(item: &Value) -> bool {
    item["name"].is_string() && matches!(item["type"].as_str(), Some("function_call") | None)
}

const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"];

impl ApiAnswer for Events {
    const PATH: &'static str = "/responses";

    fn body(request: &Request, capabilities: Capabilities) -> Value {
        let (instructions, prompt) = texts(request, capabilities);
        let schema = capabilities.schemas.of(request.answer.as_deref()).map(|answer| {
            let format = json!({ "type": "json_schema", "name": answer.name, "schema": answer.schema, "strict": true });
            json!({ "format": format })
        });
        let asks_for_reasoning = capabilities.asks_for_reasoning(request);
        object([
            ("model", json!(&*request.model)),
            ("instructions", json!(instructions)),
            ("input", input(request, &prompt, capabilities.replays)),
            ("temperature", json!(capabilities.takes_temperature.then_some(request.temperature))),
            ("max_output_tokens", json!(request.max_tokens)),
            ("text", json!(schema)),
            ("tools", json!((!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect::<Value>()))),
            ("include", json!(asks_for_reasoning.then_some(["reasoning.encrypted_content"]))),
            ("store", json!(false)),
            ("stream", json!((capabilities.streaming != Streaming::Never).then_some(true))),
        ])
    }

    fn is_foreign(answer: &Value) -> bool {
        // Other JSON may have a status too, such as `ok` or 200.
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

    fn into_reply(mut answer: Value) -> (Reply, ReplyNotes) {
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        let mut output = take(&mut answer, "output");
        let mut has_reasoned = false;
        for item in output.as_array_mut().into_iter().flatten() {
            if is_call(item) {
                let own = item["id"].as_str().map(str::to_owned);
                let id = call_id([take_text(item, "call_id"), own], tool_calls.len());
                let name = take_text(item, "name").unwrap_or_default();
                let call = ToolCall { id, name, arguments: arguments(take(item, "arguments")) };
                if let (Some(item), Value::Object(known)) = (item.as_object_mut(), called(&call)) {
                    item.extend(known);
                }
                tool_calls.push(call);
            } else if matches!(item["type"].as_str(), Some("message") | None) {
                // Other items are reasoning, server-side searches, and future types.
                read_content(item["content"].clone(), &mut text, &mut refusal);
            } else if item["type"] == "reasoning" {
                let mut parts = ["content", "summary"].into_iter().filter_map(|part| item[part].as_array()).flatten();
                has_reasoned |= parts.any(|part| part["text"].as_str().is_some_and(|text| !text.is_empty()));
            }
        }
        if text.is_empty() {
            text = take_text(&mut answer, "output_text").unwrap_or_default();
        }
        let reason = take_word(&mut take(&mut answer, "incomplete_details"), "reason");
        let status = take_text(&mut answer, "status");
        let is_incomplete = status.as_deref() == Some("incomplete");
        let (mut finish, mut finish_word) = finish(reason.as_deref().or(status.as_deref()));
        if matches!(finish, FinishReason::Complete | FinishReason::Unknown) {
            if is_incomplete {
                // The status says that the answer is incomplete, whatever the reason.
                (finish, finish_word) = (FinishReason::Interrupted, finish_word.or(reason));
            } else if !refusal.is_empty() && text.is_empty() {
                finish = FinishReason::Filtered;
            }
        }
        let served_model = take_text(&mut answer, "model");
        let message = Some(output).filter(Value::is_array);
        let reply = Reply { text, tool_calls, message, finish, finish_word, served_model, ..Reply::default() };
        (reply, ReplyNotes { refusal, has_reasoned })
    }

    fn has_more(output: &Value) -> bool {
        const KNOWN: [&str; 8] = ["type", "id", "status", "role", "content", "call_id", "name", "arguments"];
        let is_plain = |item: &Value| {
            matches!(item["type"].as_str(), Some("message" | "function_call") | None)
                && item.as_object().is_some_and(|fields| fields.keys().all(|name| KNOWN.contains(&name.as_str())))
        };
        !output.as_array().is_some_and(|output| output.iter().all(is_plain))
    }

    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool {
        let Ok(EventWords { kind, delta, .. }) = serde_json::from_str(event.data) else { return false };
        match &*kind.0 {
            "response.output_text.delta" => self.text.push(&delta.0, sink),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => sink.reason(),
            _ => return false,
        }
        true
    }

    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) {
        if event.data.trim() == DONE {
            self.is_done = true;
            return;
        }
        let mut piece: Value = serde_json::from_str(event.data).unwrap_or_default();
        self.error = error_in(event, &piece);
        let kind = take_text(&mut piece, "type").unwrap_or_else(|| event.name.to_owned());
        let place = piece["output_index"].as_u64().unwrap_or_default();
        let delta = take_text(&mut piece, "delta").unwrap_or_default();
        let response = Some(take(&mut piece, "response")).filter(Value::is_object);
        match kind.as_str() {
            "response.output_text.delta" => self.text.push(&delta, sink),
            // Some servers send no deltas.
            "response.output_text.done" if self.text.is_empty() => {
                self.text.push(&take_text(&mut piece, "text").unwrap_or_default(), sink);
            }
            "response.content_part.done" if self.text.is_empty() => {
                let mut said = String::new();
                // If the part is reasoning, `read_content` skips it.
                read_content(take(&mut piece, "part"), &mut said, &mut String::new());
                self.text.push(&said, sink);
            }
            "response.refusal.delta" => {
                sink.work();
                self.refusal.push_str(&delta);
            }
            "response.function_call_arguments.delta" => {
                sink.work();
                self.items.entry(place).or_default().arguments.push_str(&delta);
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = take_text(&mut piece, "arguments") {
                    self.items.entry(place).or_default().arguments = arguments;
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                self.items.entry(place).or_default().item = Some(take(&mut piece, "item")).filter(Value::is_object);
            }
            // Some gateways send `response.done` instead.
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                let mut answer = response.unwrap_or_else(|| json!({}));
                if !answer["status"].is_string() && kind != "response.done" {
                    answer["status"] = kind.trim_start_matches("response.").into();
                }
                let shown = self.shown.take().and_then(|shown| ReportedUsage::of(&shown));
                let usage = ReportedUsage::later(shown, ReportedUsage::of(&answer));
                answer["usage"] = usage.map(|usage| usage.0).into();
                self.shown = Some(answer);
                self.is_done = true;
            }
            _ => {
                // Reasoning, summaries and server-side tools are not passed on, but show that the model is working.
                if kind.rsplit('.').next() == Some("delta") {
                    sink.work();
                }
                let mut shown = response;
                if let Some(answer) = shown.as_mut().filter(|_| BEGUN.contains(&kind.as_str())) {
                    // An intermediate status does not tell how the answer ended.
                    answer["status"] = Value::Null;
                }
                self.shown = shown.or(self.shown.take());
            }
        }
    }

    fn completeness(&self) -> Completeness {
        if self.is_done || self.error.is_some() { Completeness::Closed } else { Completeness::Open }
    }

    fn settle(&mut self, sink: &mut TextSink<'_>) {
        self.text.settle(sink);
    }

    fn into_whole(self) -> Value {
        let mut answer = self.shown.unwrap_or_else(|| json!({}));
        if let Some(error) = self.error {
            // Usage reported before an error is incomplete.
            answer["usage"] = Value::Null;
            answer["error"] = error;
        }
        let is_stated = answer["output_text"].as_str().is_some_and(|text| !text.is_empty());
        let has_output = answer["output"].is_array();
        let mut output = if let Value::Array(output) = take(&mut answer, "output") { output } else { Vec::new() };
        if output.is_empty() && !is_stated {
            output = self.items.into_values().filter_map(PendingItem::into_item).collect();
        }
        let (mut text, mut refusal) = (String::new(), String::new());
        output.iter().filter(|item| !is_call(item)).for_each(|item| {
            read_content(item["content"].clone(), &mut text, &mut refusal);
        });
        let (said, has_pieces) = (self.text.into_text(None), !self.refusal.is_empty());
        if text.is_empty() && refusal.is_empty() && !is_stated && (!said.is_empty() || has_pieces) {
            let content = json!([said, { "type": "refusal", "refusal": self.refusal }]);
            output.push(json!({ "type": "message", "role": "assistant", "content": content }));
        }
        if has_output || !output.is_empty() {
            answer["output"] = output.into();
        }
        answer
    }
}

fn has_output(answer: &Value) -> bool {
    answer["output"].is_array() || answer["output_text"].is_string()
}

/// Events that carry an unfinished answer.
const BEGUN: [&str; 3] = ["response.created", "response.queued", "response.in_progress"];

#[derive(Default)]
pub(super) struct Events {
    text: Deltas,
    refusal: String,
    items: BTreeMap<u64, PendingItem>,
    /// The answer in the last event that had one: empty at first, complete at the end.
    shown: Option<Value>,
    error: Option<Value>,
    is_done: bool,
}

#[derive(Default)]
struct PendingItem {
    item: Option<Value>,
    /// The arguments of a call, if they arrive separately.
    arguments: String,
}

/// The usual form of an event's data, parsed without copying. `()` fields must be null or absent; data in any other
/// form is parsed as JSON.
#[derive(Deserialize)]
struct EventWords<'a> {
    #[serde(borrow, rename = "type")]
    kind: Borrowed<'a>,
    #[serde(borrow)]
    delta: Borrowed<'a>,
    #[serde(default, rename = "error", alias = "response")]
    _others: (),
}

impl PendingItem {
    fn into_item(self) -> Option<Value> {
        let mut item = self.item?;
        if is_call(&item) && (item["arguments"].is_null() || item["arguments"] == "") {
            item["arguments"] = self.arguments.into();
        }
        Some(item)
    }
}
