//! Chat Completions: requests and answers. The format is documented at platform.openai.com, "API reference", "Chat
//! Completions".

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::request::{finish, is_unfinished};
use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::call::ToolCall;

use super::capabilities::{Capabilities, Streaming, texts};
use super::failure::{error_field, error_in};
use super::lenient::{
    Borrowed, ReportedUsage, arguments, call_id, grow, has_thoughts, object, read_content, take, take_text, take_word,
};
use super::reasoning::TextSink;
use super::sse::{DONE, ServerSentEvent};
use super::streaming::{ApiAnswer, Completeness, Deltas, ReplyNotes};

/// Fields for reasoning next to the content, as used by DeepSeek, OpenRouter, vLLM and gateways.
pub(super) const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_details", "thinking"];

/// Builds the messages, starting with the parts that calls share, because providers discount identical prefixes.
fn messages(request: &Request, capabilities: Capabilities) -> Value {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let (system, prompt) = texts(request, capabilities);
    let mut messages: Vec<Value> = system.map(|text| said("system", text)).into_iter().collect();
    messages.push(said("user", &prompt));
    for turn in &request.turns {
        match turn {
            Turn::User(text) => messages.push(said("user", text)),
            Turn::Assistant { message: Some(message), .. } if capabilities.replays && message.is_object() => {
                messages.push(message.clone());
            }
            Turn::Assistant { text, calls, .. } => {
                let tool_calls = (!calls.is_empty()).then(|| calls.iter().map(called).collect::<Value>());
                // Some servers reject empty text next to tool calls.
                let content = (calls.is_empty() || !text.is_empty()).then_some(text);
                messages.push(object([
                    ("role", json!("assistant")),
                    ("content", json!(content)),
                    ("tool_calls", json!(tool_calls)),
                ]));
            }
            Turn::ToolResults(results) => messages.extend(results.iter().map(
                |result| json!({ "role": "tool", "content": result.content, "tool_call_id": result.tool_call_id }),
            )),
        }
    }
    messages.into()
}

fn called(call: &ToolCall) -> Value {
    let ToolCall { id, name, arguments } = call;
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters },
    })
}

/// Prepares a model's tool call to be sent back: adds the fields that requests need, and keeps all others except
/// `index`.
fn complete(raw: &mut Value, call: &ToolCall) {
    if let Some(raw) = raw.as_object_mut() {
        raw.remove("index");
        let Value::Object(known) = called(call) else { return };
        for (name, value) in known {
            match (raw.get_mut(&name).and_then(Value::as_object_mut), value) {
                (Some(raw), Value::Object(value)) => raw.extend(value),
                (_, value) => drop(raw.insert(name, value)),
            }
        }
    }
}

impl ApiAnswer for Chunks {
    const PATH: &'static str = "/chat/completions";

    fn body(request: &Request, capabilities: Capabilities) -> Value {
        let schema = capabilities.schemas.of(request.answer.as_deref()).map(|answer| {
            json!({
                "type": "json_schema",
                "json_schema": { "name": answer.name, "schema": answer.schema, "strict": true },
            })
        });
        object([
            ("model", json!(&*request.model)),
            ("messages", messages(request, capabilities)),
            ("temperature", json!(capabilities.takes_temperature.then_some(request.temperature))),
            (capabilities.limit, json!(request.max_tokens)),
            ("response_format", json!(schema)),
            ("tools", json!((!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect::<Value>()))),
            ("stream", json!((capabilities.streaming != Streaming::Never).then_some(true))),
            // Without this option, a stream has no token counts.
            (
                "stream_options",
                json!((capabilities.streaming == Streaming::WithUsage).then(|| json!({ "include_usage": true }))),
            ),
        ])
    }

    fn is_foreign(answer: &Value) -> bool {
        !answer["choices"].is_array()
    }

    fn is_one(answer: &Value) -> bool {
        let is_answer = |choice: &Value| !choice["finish_reason"].as_str().is_some_and(is_unfinished);
        choice(answer).is_some_and(is_answer)
    }

    /// Also finds an error inside the choice, where OpenRouter reports upstream failures.
    fn error(answer: &Value) -> Option<&Value> {
        error_field(answer).or_else(|| error_field(choice(answer)?))
    }

    fn into_reply(mut answer: Value) -> (Reply, ReplyNotes) {
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        let mut choice = take_choice(&mut answer);
        let reason = take_word(&mut choice, "finish_reason");
        let mut message = take(&mut choice, "message");
        read_content(message["content"].clone(), &mut text, &mut refusal);
        refusal.push_str(&take_text(&mut message, "refusal").unwrap_or_default());
        let is_said = |value: &Value| !matches!(value, Value::Null) && *value != json!("") && *value != json!([]);
        let has_reasoned =
            has_thoughts(&message["content"]) || REASONING.iter().any(|field| message.get(field).is_some_and(is_said));
        if let Some(fields) = message.as_object_mut() {
            fields.retain(|_, value| is_said(value));
            fields.insert("role".to_owned(), "assistant".into());
        }
        if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
            calls.retain(|call| call["function"]["name"].is_string());
            for raw in calls {
                let name = raw["function"]["name"].as_str().unwrap_or_default().to_owned();
                let id = call_id([take_text(raw, "id"), None], tool_calls.len());
                let call = ToolCall { id, name, arguments: arguments(take(&mut raw["function"], "arguments")) };
                complete(raw, &call);
                tool_calls.push(call);
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
        let message = Some(message).filter(Value::is_object);
        let reply = Reply { text, tool_calls, message, finish, finish_word, served_model, ..Reply::default() };
        (reply, ReplyNotes { refusal, has_reasoned })
    }

    fn has_more(message: &Value) -> bool {
        let knows = |object: &Value, names: &[&str]| {
            object.as_object().is_some_and(|fields| fields.keys().all(|name| names.contains(&name.as_str())))
        };
        let calls = message["tool_calls"].as_array();
        !knows(message, &["role", "content", "tool_calls", "annotations"])
            || has_thoughts(&message["content"])
            || calls.is_some_and(|calls| calls.iter().any(|call| !knows(call, &["id", "type", "function"])))
    }

    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool {
        let words = serde_json::from_str::<ChunkWords>(event.data).ok().filter(|_| event.name.is_empty());
        let Some(ChunkWords { choices: [WordsChoice { delta, .. }], model, .. }) = words else { return false };
        if let Some(Borrowed(model)) = model
            && self.model.as_deref() != Some(&*model)
        {
            self.name_model(model.into_owned());
        }
        self.has_choice = true;
        if let Some(Borrowed(said)) = delta.content {
            self.has_grown |= !said.is_empty();
            self.has_last_figures &= said.is_empty();
            self.text.push(&said, sink);
        }
        true
    }

    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) {
        if event.data.trim() == DONE {
            self.is_done = true;
            return;
        }
        let mut chunk: Value = serde_json::from_str(event.data).unwrap_or_default();
        let usage = ReportedUsage::of(&chunk);
        // An error after the end does not affect the answer.
        if self.completeness() == Completeness::Open {
            self.error = error_in(event, &chunk);
            // Usage reported before an error is incomplete.
            self.has_grown |= self.error.is_some();
        }
        if let Some(model) = take_text(&mut chunk, "model") {
            self.name_model(model);
        }
        // The last chunk, with the usage, has no choice.
        let choice = take_choice(&mut chunk);
        let has_choice = choice.is_object();
        self.has_last_figures &= !has_choice;
        if has_choice {
            self.take_choice(choice, sink);
        }
        let is_of_an_end = usage.as_ref().is_some_and(ReportedUsage::is_of_an_end);
        self.has_grown &= !is_of_an_end;
        self.has_last_figures = is_of_an_end && !has_choice;
        self.usage = ReportedUsage::later(self.usage.take(), usage);
    }

    fn completeness(&self) -> Completeness {
        if self.is_done || self.error.is_some() {
            Completeness::Closed
        } else if self.finish_reason.is_some() || self.has_last_figures && !self.text.is_empty() {
            Completeness::Complete
        } else {
            Completeness::Open
        }
    }

    fn settle(&mut self, sink: &mut TextSink<'_>) {
        self.text.settle(sink);
    }

    fn into_whole(self) -> Value {
        let has_pieces = !self.text.is_empty() || !self.refusal.is_empty() || !self.calls.is_empty();
        let calls = self.calls.into_iter().map(|call| {
            let pieces = json!({ "id": call.id, "function": { "name": call.name, "arguments": call.arguments } });
            let mut more = call.more;
            grow(&mut more, pieces);
            more
        });
        let mut message = self.more;
        // RAGFlow repeats the whole text after its deltas.
        let text = self.text.into_text(take_text(&mut message, "final_content"));
        let pieces = json!({ "content": text, "refusal": self.refusal, "tool_calls": calls.collect::<Value>() });
        grow(&mut message, self.whole.filter(|_| !has_pieces).unwrap_or(pieces));
        let choice = json!({ "message": message, "finish_reason": self.finish_reason });
        let usage = self.usage.filter(|_| !self.has_grown).map(|usage| usage.0);
        let choices = self.has_choice.then_some([choice]);
        json!({ "choices": choices, "model": self.model, "usage": usage, "error": self.error })
    }
}

/// Only one answer is requested, so the first choice is the answer.
fn choice(answer: &Value) -> Option<&Value> {
    answer["choices"].as_array()?.iter().find(|choice| choice.is_object())
}

/// Returns null if there is no choice.
fn take_choice(answer: &mut Value) -> Value {
    let choices = answer.get_mut("choices").and_then(Value::as_array_mut);
    let first = choices.into_iter().flatten().find(|choice| choice.is_object());
    first.map(Value::take).unwrap_or_default()
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings")]
pub(super) struct Chunks {
    text: Deltas,
    refusal: String,
    calls: Vec<CallInPieces>,
    /// Other fields of the message, such as reasoning.
    more: Value,
    finish_reason: Option<String>,
    model: Option<String>,
    usage: Option<ReportedUsage>,
    /// Whether more output followed the last reported usage, which is then incomplete.
    has_grown: bool,
    error: Option<Value>,
    /// The whole message, which some gateways send in one chunk.
    whole: Option<Value>,
    has_choice: bool,
    /// Whether the last usage came in a chunk of its own, which some servers send instead of a finish reason.
    has_last_figures: bool,
    is_done: bool,
}

#[derive(Default)]
struct CallInPieces {
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
    more: Value,
}

/// The usual form of a chunk, parsed without copying. `()` fields must be null or absent; a chunk in any other form is
/// parsed as JSON.
#[derive(Deserialize)]
struct ChunkWords<'a> {
    #[serde(borrow)]
    choices: [WordsChoice<'a>; 1],
    #[serde(borrow)]
    model: Option<Borrowed<'a>>,
    #[serde(default, rename = "usage")]
    _usage: (),
    #[serde(default, rename = "error")]
    _error: (),
}

#[derive(Deserialize)]
struct WordsChoice<'a> {
    #[serde(borrow)]
    delta: WordsDelta<'a>,
    #[serde(default, rename = "finish_reason")]
    _finish_reason: (),
    #[serde(default, rename = "message")]
    _message: (),
    #[serde(default, rename = "text")]
    _text: (),
    #[serde(default, rename = "usage")]
    _usage: (),
    #[serde(default, rename = "error")]
    _error: (),
}

/// One field for each name, because `serde` rejects two aliases of one field in the same object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsDelta<'a> {
    #[serde(borrow)]
    content: Option<Borrowed<'a>>,
    #[serde(default, rename = "role")]
    _role: IgnoredAny,
    #[serde(default, rename = "refusal")]
    _refusal: (),
    #[serde(default, rename = "tool_calls")]
    _tool_calls: (),
    #[serde(default, rename = "function_call")]
    _function_call: (),
    #[serde(default, rename = "reasoning_content")]
    _reasoning_content: (),
    #[serde(default, rename = "reasoning")]
    _reasoning: (),
}

impl Chunks {
    /// Ignores the empty names that some servers send before the answer.
    fn name_model(&mut self, model: String) {
        if !model.is_empty() {
            self.model = Some(model);
        }
    }

    fn take_choice(&mut self, mut choice: Value, sink: &mut TextSink<'_>) {
        self.has_choice = true;
        if self.completeness() == Completeness::Open {
            self.error = self.error.take().or_else(|| error_field(&choice).cloned());
            self.has_grown |= self.error.is_some();
        }
        self.note_end(take_word(&mut choice, "finish_reason"));
        self.whole = Some(take(&mut choice, "message")).filter(Value::is_object).or(self.whole.take());
        let (mut said, mut delta) = (String::new(), take(&mut choice, "delta"));
        let content = take(&mut delta, "content");
        let is_there = |key: &&str| {
            let field = &delta[key];
            field.as_str().is_some_and(|text| !text.is_empty())
                || field.as_array().is_some_and(|parts| !parts.is_empty())
        };
        // Reasoning, in a field or in the content, is not passed on, but shows that the model is working.
        if has_thoughts(&content) || REASONING.iter().any(is_there) {
            self.has_grown = true;
            sink.reason();
        }
        read_content(content, &mut said, &mut self.refusal);
        if said.is_empty() {
            // `text` is the field of the legacy completions API. Some gateways send it next to `content`, so use it
            // only if `content` is empty.
            said = take_text(&mut choice, "text").unwrap_or_default();
        }
        self.refusal.push_str(&take_text(&mut delta, "refusal").unwrap_or_default());
        let mut calls = take(&mut delta, "tool_calls");
        grow(&mut self.more, delta);
        if let Some(calls) = calls.as_array_mut().filter(|calls| !calls.is_empty()) {
            self.has_grown = true;
            sink.work();
            for call in calls {
                self.take_call(call);
            }
        }
        self.has_grown |= !said.is_empty();
        self.text.push(&said, sink);
    }

    /// Notes why the answer ended, if it did. Some servers send `stop` with every chunk (gateways to Gemini) or before
    /// their filter has read the end (Azure), so a later reason replaces an earlier one if only the later one says that
    /// the answer was cut off.
    fn note_end(&mut self, reason: Option<String>) {
        let Some(reason) = reason.filter(|reason| !matches!(reason.as_str(), "" | "null")) else { return };
        let is_cut = |reason: &str| !matches!(finish(Some(reason)).0, FinishReason::Complete | FinishReason::Unknown);
        let is_news = self.finish_reason.as_deref().is_some_and(|known| is_cut(&reason) && !is_cut(known));
        if self.completeness() == Completeness::Open || is_news {
            self.finish_reason = Some(reason);
        }
    }

    /// Adds a piece to its tool call. The id is in the first piece or in all pieces, and the index in all or none. Some
    /// servers reuse an index, but none reuses an id.
    fn take_call(&mut self, piece: &mut Value) {
        let id = take_text(piece, "id").filter(|id| !id.is_empty());
        let index = piece["index"].as_u64();
        let mut function = take(piece, "function");
        let name = take_text(&mut function, "name").filter(|name| !name.is_empty());
        let more = take(&mut function, "arguments");
        let place = match (&id, index) {
            (Some(id), index) => self.calls.iter().position(|call| match &call.id {
                Some(known) => known == id,
                None => call.index == index,
            }),
            (None, Some(index)) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, None) => self.calls.len().checked_sub(1),
        };
        let has_id = id.is_some();
        let place = place.filter(|place| has_id || !self.calls[*place].is_followed_by(name.as_deref(), &more));
        let mut call = place.map(|place| self.calls.remove(place)).unwrap_or_default();
        call.index = call.index.or(index);
        call.id = call.id.or(id);
        call.name = call.name.or(name);
        match more {
            Value::Null => {}
            Value::String(text) => call.push(&text, has_id),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => call.arguments = arguments(more),
        }
        if piece.is_object() {
            piece["function"] = function;
            grow(&mut call.more, piece.take());
        }
        self.calls.insert(place.unwrap_or(self.calls.len()), call);
    }
}

impl CallInPieces {
    /// Whether a piece without an id starts another call. Google's parallel calls share an index, and each comes in one
    /// piece.
    fn is_followed_by(&self, name: Option<&str>, more: &Value) -> bool {
        let (Some(name), Some(known)) = (name, object_in(&self.arguments)) else { return false };
        let more = if let Value::String(text) = more { object_in(text) } else { Some(more.clone()) };
        let is_other = more.is_some_and(|more| more.is_object() && more != known);
        is_other || self.name.as_deref() != Some(name)
    }

    /// Appends `text` to the arguments. First clears them if `text` repeats them as a whole, or if they are a `{}` that
    /// some servers send before the actual arguments.
    fn push(&mut self, text: &str, has_id: bool) {
        let is_repeated = || {
            let (known, more) = (object_in(&self.arguments), object_in(text));
            known.is_some() && more.is_some() && (has_id || known == more)
        };
        if self.arguments.trim() == "{}" && text.trim_start().starts_with('{') || is_repeated() {
            self.arguments.clear();
        }
        self.arguments.push_str(text);
    }
}

/// The JSON object in `text`, if the object is complete. Avoids parsing where possible, because this runs for every
/// piece.
fn object_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let may_be_one = text.starts_with('{') && text.ends_with('}');
    may_be_one.then(|| serde_json::from_str(text).ok()).flatten()
}
