//! An answer of the Responses API in events.
//! Source of the format: platform.openai.com, "API reference", "Responses", "Streaming events".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::openai::failure::{ErrorField, error_in};
use crate::openai::lenient::{Arguments, Borrowed, MessageContent, ReportedUsage, tolerant};
use crate::openai::sse::ServerSentEvent;
use crate::openai::streaming::{Completeness, DONE, Pieces, TextSink};

use super::{OutputItem, ResponsesAnswer};

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
    shown: Option<ResponsesAnswer>,
    error: Option<ErrorField>,
    is_done: bool,
}

/// A partially received function call.
#[derive(Default)]
struct PendingFunctionCall {
    item: Option<OutputItem>,
    arguments: String,
}

/// An event's data; all fields are optional.
#[derive(Deserialize)]
struct EventData {
    #[serde(default, rename = "type", deserialize_with = "tolerant")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    delta: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    output_index: Option<u64>,
    #[serde(default, deserialize_with = "tolerant")]
    item: Option<OutputItem>,
    #[serde(default, deserialize_with = "tolerant")]
    arguments: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    response: Option<ResponsesAnswer>,
}

/// The common form of an event's data, borrowed. Any other content is read as [`EventData`].
#[derive(Deserialize)]
struct EventWords<'a> {
    #[serde(borrow, rename = "type")]
    kind: Borrowed<'a>,
    #[serde(borrow)]
    delta: Borrowed<'a>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    response: Option<IgnoredAny>,
}

impl Pieces for Events {
    type Whole = ResponsesAnswer;

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
        self.error = error_in(event);
        let Ok(piece) = serde_json::from_str::<EventData>(event.data) else { return };
        let kind = piece.kind.as_deref().unwrap_or(event.name);
        let place = piece.output_index.unwrap_or_default();
        match kind {
            "response.output_text.delta" => {
                let text = piece.delta.unwrap_or_default();
                sink.say(&text);
                self.text.push_str(&text);
            }
            "response.refusal.delta" => {
                sink.work();
                self.refusal.push_str(&piece.delta.unwrap_or_default());
            }
            "response.function_call_arguments.delta" => {
                sink.work();
                self.calls.entry(place).or_default().arguments.push_str(&piece.delta.unwrap_or_default());
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = piece.arguments {
                    self.calls.entry(place).or_default().arguments = arguments;
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = piece.item.filter(OutputItem::is_call) {
                    self.calls.entry(place).or_default().item = Some(item);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let status = kind.trim_start_matches("response.");
                let mut answer = piece.response.unwrap_or_default();
                answer.status.get_or_insert_with(|| status.to_owned());
                let shown = self.shown.take().and_then(|shown| shown.usage);
                answer.usage = ReportedUsage::later(shown, answer.usage);
                self.shown = Some(answer);
                self.is_done = true;
            }
            // Includes future events.
            _ => {
                // Reasoning, summaries, server-side tools: not passed on, but a sign of life.
                if kind.rsplit('.').next() == Some("delta") {
                    sink.work();
                }
                let mut shown = piece.response;
                if let Some(answer) = shown.as_mut().filter(|_| BEGUN.contains(&kind)) {
                    // An intermediate status does not reveal how the answer ended.
                    answer.status = None;
                }
                self.shown = shown.or(self.shown.take());
            }
        }
    }

    fn completeness(&self) -> Completeness {
        if self.is_done || self.error.is_some() { Completeness::Closed } else { Completeness::Open }
    }

    /// The answer of the last event; if it has no output, the output of the others.
    fn into_whole(self) -> ResponsesAnswer {
        let mut answer = self.shown.unwrap_or_default();
        if self.error.is_some() {
            // Earlier figures are incomplete.
            answer.usage = None;
        }
        answer.error = self.error.or(answer.error);
        let shows_output = answer.output.as_ref().is_some_and(|output| !output.is_empty());
        let has_pieces = !self.text.is_empty() || !self.refusal.is_empty() || !self.calls.is_empty();
        if has_pieces && !shows_output && answer.output_text.is_none() {
            let calls = self.calls.into_values().filter_map(PendingFunctionCall::into_item);
            let message =
                OutputItem { content: Some(MessageContent::of(self.text, self.refusal)), ..OutputItem::default() };
            answer.output = Some([message].into_iter().chain(calls).collect());
        }
        answer
    }
}

impl PendingFunctionCall {
    /// The item, which initially has no arguments.
    fn into_item(self) -> Option<OutputItem> {
        let mut item = self.item?;
        let has_none = match &item.arguments {
            None => true,
            Some(Arguments::Text(text)) => text.is_empty(),
            Some(Arguments::Json(json)) => json.is_null(),
        };
        if has_none {
            item.arguments = Some(Arguments::Text(self.arguments));
        }
        Some(item)
    }
}
