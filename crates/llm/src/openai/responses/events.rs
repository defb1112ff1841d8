//! An answer of the Responses API in events.
//! Source of the format: platform.openai.com, "API reference", "Responses", "Streaming events".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::openai::failure::error_in;
use crate::openai::lenient::{Borrowed, ReportedUsage, take, take_text};
use crate::openai::sse::ServerSentEvent;
use crate::openai::streaming::{Completeness, DONE, Pieces, TextSink};

use super::is_call;

/// Events with an answer that has not ended.
const BEGUN: [&str; 3] = ["response.created", "response.queued", "response.in_progress"];

/// The received part of an answer.
#[derive(Default)]
pub(in crate::openai) struct Events {
    text: String,
    refusal: String,
    /// The calls by their position in the output.
    calls: BTreeMap<u64, PendingFunctionCall>,
    /// The answer in the last event that contained it: empty at first, complete at the end.
    shown: Option<Value>,
    error: Option<Value>,
    is_done: bool,
}

/// A partially received function call.
#[derive(Default)]
struct PendingFunctionCall {
    item: Option<Value>,
    arguments: String,
}

/// The common form of an event's data, borrowed. Any other content is read as JSON.
#[derive(Deserialize)]
struct EventWords<'a> {
    #[serde(borrow, rename = "type")]
    kind: Borrowed<'a>,
    #[serde(borrow)]
    delta: Borrowed<'a>,
    error: Option<IgnoredAny>,
    response: Option<IgnoredAny>,
}

impl Pieces for Events {
    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool {
        let words = serde_json::from_str::<EventWords>(event.data);
        match words {
            Ok(EventWords { kind: Borrowed(kind), delta: Borrowed(text), error: None, response: None }) => match &*kind
            {
                "response.output_text.delta" => {
                    sink.say(&text);
                    self.text.push_str(&text);
                    true
                }
                "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                    sink.reason();
                    true
                }
                _ => false,
            },
            Ok(_) | Err(_) => false,
        }
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
            "response.output_text.delta" => {
                sink.say(&delta);
                self.text.push_str(&delta);
            }
            "response.refusal.delta" => {
                sink.work();
                self.refusal.push_str(&delta);
            }
            "response.function_call_arguments.delta" => {
                sink.work();
                self.calls.entry(place).or_default().arguments.push_str(&delta);
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = take_text(&mut piece, "arguments") {
                    self.calls.entry(place).or_default().arguments = arguments;
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = Some(take(&mut piece, "item")).filter(is_call) {
                    self.calls.entry(place).or_default().item = Some(item);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let mut answer = response.unwrap_or_else(|| json!({}));
                if !answer["status"].is_string() {
                    answer["status"] = kind.trim_start_matches("response.").into();
                }
                let shown = self.shown.take().and_then(|shown| ReportedUsage::of(&shown));
                let usage = ReportedUsage::later(shown, ReportedUsage::of(&answer));
                answer["usage"] = usage.map(ReportedUsage::into_json).into();
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

    /// The answer of the last event; if it has no output, the output of the others.
    fn into_whole(self) -> Value {
        let mut answer = self.shown.unwrap_or_else(|| json!({}));
        if let Some(error) = self.error {
            // Earlier figures are incomplete.
            answer["usage"] = Value::Null;
            answer["error"] = error;
        }
        let shows_output = answer["output"].as_array().is_some_and(|output| !output.is_empty());
        let has_pieces = !self.text.is_empty() || !self.refusal.is_empty() || !self.calls.is_empty();
        if has_pieces && !shows_output && !answer["output_text"].is_string() {
            let calls = self.calls.into_values().filter_map(PendingFunctionCall::into_item);
            let message = json!({ "content": [self.text, { "type": "refusal", "refusal": self.refusal }] });
            answer["output"] = [message].into_iter().chain(calls).collect();
        }
        answer
    }
}

impl PendingFunctionCall {
    /// The item, which initially has no arguments.
    fn into_item(self) -> Option<Value> {
        let mut item = self.item?;
        if item["arguments"].is_null() || item["arguments"] == "" {
            item["arguments"] = self.arguments.into();
        }
        Some(item)
    }
}
