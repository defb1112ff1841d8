//! Chat Completions: requests and answers. Source of the format: platform.openai.com, "API reference", "Chat
//! Completions".

mod chunks;

use serde_json::{Value, json};

use crate::ends::{finish, is_unfinished};
use crate::{FinishReason, Reply, Request, ToolSpec, Turn};
use dialectic_base::call::ToolCall;

use super::capabilities::{Capabilities, Streaming};
use super::failure::error_field;
use super::lenient::{arguments, call_id, has_thoughts, read_content, take, take_text, take_word};
use super::{ApiAnswer, Heard, object, texts};

pub(super) use chunks::Chunks;

/// Fields with reasoning beside the content: DeepSeek's, OpenRouter's and vLLM's, gateways'.
pub(super) const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_details", "thinking"];

/// Shared parts come first: providers discount identical beginnings.
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
                // Some servers refuse empty text next to tool calls.
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

/// Adds the fields that a request needs to a call that goes back as it came.
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
            // Without this option the API omits the token counts of a stream.
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

    /// Also OpenRouter's report of an upstream failure.
    fn error(answer: &Value) -> Option<&Value> {
        error_field(answer).or_else(|| error_field(choice(answer)?))
    }

    fn into_reply(mut answer: Value) -> Heard {
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
        Heard { reply, refusal, has_reasoned }
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
