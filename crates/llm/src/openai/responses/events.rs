//! An answer of the Responses API in events.
//! Source of the format: platform.openai.com, "API reference", "Responses", "Streaming events".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::openai::failure::error_in;
use crate::openai::lenient::{Borrowed, ReportedUsage, read_content, take, take_text};
use crate::openai::sse::{DONE, ServerSentEvent};
use crate::openai::streaming::{Completeness, Deltas, Pieces, TextSink};

use super::is_call;

/// Events with an answer that has not ended.
const BEGUN: [&str; 3] = ["response.created", "response.queued", "response.in_progress"];

/// The received part of an answer.
#[derive(Default)]
pub(in crate::openai) struct Events {
    text: Deltas,
    refusal: String,
    /// The items by their position in the output.
    items: BTreeMap<u64, PendingItem>,
    /// The answer in the last event that contained it: empty at first, complete at the end.
    shown: Option<Value>,
    error: Option<Value>,
    is_done: bool,
}

/// A partially received item.
#[derive(Default)]
struct PendingItem {
    item: Option<Value>,
    /// The arguments of a call.
    arguments: String,
}

/// The common form of an event's data, borrowed: `()` is null or absent. Any other content is read as JSON.
#[derive(Deserialize)]
struct EventWords<'a> {
    #[serde(borrow, rename = "type")]
    kind: Borrowed<'a>,
    #[serde(borrow)]
    delta: Borrowed<'a>,
    #[serde(default, rename = "error", alias = "response")]
    _others: (),
}

impl Pieces for Events {
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
                // The part may also be reasoning.
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
            // `response.done` comes from gateways.
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
            // Includes future events.
            _ => {
                // Reasoning, summaries, server-side tools: not passed on, but a sign of life.
                if kind.rsplit('.').next() == Some("delta") {
                    sink.work();
                }
                let mut shown = response;
                if let Some(answer) = shown.as_mut().filter(|_| BEGUN.contains(&kind.as_str())) {
                    // An intermediate status does not reveal how the answer ended.
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

    /// The answer of the last event, with the output of the others as far as it lacks that.
    fn into_whole(self) -> Value {
        let mut answer = self.shown.unwrap_or_else(|| json!({}));
        if let Some(error) = self.error {
            // Earlier figures are incomplete.
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

impl PendingItem {
    /// The item; a call has no arguments at first.
    fn into_item(self) -> Option<Value> {
        let mut item = self.item?;
        if is_call(&item) && (item["arguments"].is_null() || item["arguments"] == "") {
            item["arguments"] = self.arguments.into();
        }
        Some(item)
    }
}
