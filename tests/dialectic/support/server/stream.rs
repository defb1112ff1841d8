//! Replies as streams of events, in the forms that the APIs document.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::script::{Content, Delivery};
use super::{Api, Incoming, Reply, wire};

/// Holds streams up in their middle until it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    /// One that is shut.
    pub(crate) fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets everything through from now on.
    pub(crate) fn open(&self) {
        self.0.close();
    }

    pub(crate) async fn pass(&self) {
        // There is never a permit; what is waited for is the semaphore's end.
        let _ = self.0.acquire().await;
    }
}

/// Whether a reply is sent as a stream: when the client wants one, and there is something of a model's to send.
pub(crate) fn is_streamed(reply: &Reply, request: &Incoming) -> bool {
    match reply.content {
        Content::Pieces(_) => true,
        Content::Raw(_) => false,
        Content::Text(_) | Content::ToolCalls(_) => {
            request.body["stream"] == true && reply.status == 200 && !reply.whole
        }
    }
}

/// Without a pause the network joins the pieces, and a break overtakes them.
const PAUSE: Duration = Duration::from_millis(2);

/// The HTTP answer for a reply that is streamed. `sent` is called when all of it has gone out, and dropped when the
/// client leaves before.
pub(crate) fn response(reply: &Reply, request: &Incoming, sent: impl FnOnce() + Send + 'static) -> Response {
    let mut response = Response::builder().status(reply.status);
    let delivery = reply.delivery;
    let (pieces, middle, pause) = if let Content::Pieces(pieces) = &reply.content {
        (pieces.clone(), pieces.len() / 2, PAUSE)
    } else {
        response = response.header("content-type", "text/event-stream; charset=utf-8");
        let (pieces, middle) = of_a_model(reply, request);
        (pieces, middle, if delivery == Delivery::Whole { Duration::ZERO } else { PAUSE })
    };
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let (pause, gate, one_by_one) = (pause.max(reply.gap), reply.gate.clone(), reply.one_by_one);
    let rest = (pieces.into_iter().enumerate(), Some(sent));
    let body = futures_util::stream::unfold(rest, move |(mut pieces, mut sent)| {
        let gate = gate.clone();
        async move {
            let next = pieces.next();
            if let (Some(gate), Some((_, _))) = (&gate, next.as_ref().filter(|(place, _)| *place == middle)) {
                gate.pass().await;
            }
            match (next, delivery) {
                (Some((_, piece)), _) => {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    } else if one_by_one {
                        // What was written before is sent when there is nothing more to write for a moment.
                        tokio::task::yield_now().await;
                    }
                    Some((Ok(piece), (pieces, sent)))
                }
                (None, Delivery::Silent) => std::future::pending().await,
                (None, Delivery::Cut) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    sent.take().into_iter().for_each(|sent| sent());
                    Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), (pieces, sent)))
                }
                (None, _) => {
                    sent.take().into_iter().for_each(|sent| sent());
                    None
                }
            }
        }
    });
    response.body(Body::from_stream(body)).expect("a script's headers are valid")
}

/// The events of a model's reply as far as they are delivered, and which of them is the middle one of all.
fn of_a_model(reply: &Reply, request: &Incoming) -> (Vec<Bytes>, usize) {
    let mut events = match request.api {
        Some(Api::Chat) => chat(reply, request),
        Some(Api::Responses) | None => responses(reply, request),
    };
    let middle = events.len() / 2;
    match reply.delivery {
        Delivery::Whole | Delivery::Never => {}
        Delivery::Half | Delivery::Cut | Delivery::Silent => events.truncate(middle),
        Delivery::Fault => {
            events.truncate(middle);
            events.push("event: error\ndata: {\"error\": {\"message\": \"it broke\", \"code\": 500}}\n\n".to_owned());
        }
    }
    (events.into_iter().map(Bytes::from).collect(), middle)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
    text.split_at(middle).into()
}

fn responses(reply: &Reply, request: &Incoming) -> Vec<String> {
    let whole = wire::responses(reply, request);
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        let mut piece = |kind: &str, key: &str, value: Value| {
            events.push(json!({"type": format!("response.{kind}"), "output_index": index, key: value}));
        };
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        if let Some(text) = item["content"][0]["text"].as_str() {
            empty["content"] = json!([]);
            piece("output_item.added", "item", empty);
            words(text).for_each(|word| piece("output_text.delta", "delta", json!(word)));
            piece("output_text.done", "text", json!(text));
        } else if let Some(arguments) = item["arguments"].as_str() {
            empty["arguments"] = json!("");
            piece("output_item.added", "item", empty);
            for half in halves(arguments) {
                piece("function_call_arguments.delta", "delta", json!(half));
            }
            piece("function_call_arguments.done", "arguments", json!(arguments));
        }
        piece("output_item.done", "item", item.clone());
    }
    let last = if whole["status"] == "completed" { "response.completed" } else { "response.incomplete" };
    events.push(json!({"type": last, "response": whole}));
    let frame = |(number, mut event): (usize, Value)| {
        event["sequence_number"] = json!(number);
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.into_iter().enumerate().map(frame).collect()
}

fn chat(reply: &Reply, request: &Incoming) -> Vec<String> {
    let whole = wire::chat(reply, request);
    let chunk = |choices: Value, usage: &Value| {
        let mut chunk = whole.clone();
        (chunk["object"], chunk["choices"], chunk["usage"]) = (json!("chat.completion.chunk"), choices, usage.clone());
        // The keep-alive comments that gateways put between.
        format!(": keep-alive\n\ndata: {chunk}\n\n")
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null);
    let (message, reason) = (&whole["choices"][0]["message"], &whole["choices"][0]["finish_reason"]);
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    frames.extend(words(message["content"].as_str().unwrap_or_default()).map(|word| delta(json!({"content": word}))));
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut named = call.clone();
        (named["index"], named["function"]["arguments"]) = (json!(index), json!(""));
        frames.push(delta(json!({"tool_calls": [named]})));
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let piece = |half| delta(json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]}));
        frames.extend(halves(arguments).map(piece));
    }
    frames.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null));
    if request.body["stream_options"]["include_usage"] == true && !whole["usage"].is_null() {
        frames.push(chunk(json!([]), &whole["usage"]));
    }
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}
