//! Replies as a whole, in the two forms that the APIs document.

use axum::body::Body;
use axum::response::Response;
use serde_json::{Value, json};

use super::script::{Content, Delivery, Ending};
use super::{Api, Incoming, Reply};

/// The HTTP answer for a reply. `Delivery::Never` is the server's business.
pub(crate) fn response(reply: &Reply, request: &Incoming) -> Response {
    let mut response = Response::builder().status(reply.status);
    let body = match (&reply.content, request.api) {
        (Content::Raw(body), _) => body.clone(),
        (_, api) => {
            response = response.header("content-type", "application/json");
            let body = if api == Some(Api::Chat) { chat(reply, request) } else { responses(reply, request) };
            body.to_string().into()
        }
    };
    let half = body.slice(..body.len() / 2);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let body = match reply.delivery {
        Delivery::Whole | Delivery::Never | Delivery::Silent | Delivery::Fault => Body::from(body),
        Delivery::Half => Body::from(half),
        Delivery::Cut => {
            response = response.header("content-length", body.len());
            // Without the pause the error can overtake the first half, and the client would see no answer at all.
            Body::from_stream(futures_util::stream::unfold(Some(half), |first| async move {
                if let Some(first) = first {
                    return Some((Ok(first), None));
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), None))
            }))
        }
    };
    response.body(body).expect("a script's status and headers are valid")
}

fn served_model(reply: &Reply, request: &Incoming) -> String {
    reply.served_model.clone().unwrap_or_else(|| request.model().to_owned())
}

pub(crate) fn responses(reply: &Reply, request: &Incoming) -> Value {
    let index = request.index;
    let output = match &reply.content {
        Content::Text(text) => json!([{
            "type": "message", "id": format!("msg_{index}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }]),
        Content::ToolCalls(calls) => calls
            .iter()
            .enumerate()
            .map(|(position, (name, arguments))| {
                json!({
                    "type": "function_call", "id": format!("fc_{index}_{position}"), "status": "completed",
                    "call_id": format!("call_{index}_{position}"), "name": name, "arguments": arguments.to_string(),
                })
            })
            .collect(),
        Content::Raw(_) | Content::Pieces(_) => Value::Null,
    };
    let (status, reason) = match reply.ending {
        Ending::Complete => ("completed", Value::Null),
        Ending::OutputLimit => ("incomplete", json!({"reason": "max_output_tokens"})),
        Ending::ContentFilter => ("incomplete", json!({"reason": "content_filter"})),
    };
    let mut body = json!({
        "id": format!("resp_{index}"), "object": "response", "created_at": 1_735_689_600,
        "status": status, "incomplete_details": reason, "error": null,
        "model": served_model(reply, request), "output": output, "parallel_tool_calls": true, "tools": [],
    });
    if let Some((input, cached, output)) = reply.usage {
        body["usage"] = json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        });
    }
    body
}

pub(crate) fn chat(reply: &Reply, request: &Incoming) -> Value {
    let index = request.index;
    let mut finish = match reply.ending {
        Ending::Complete => "stop",
        Ending::OutputLimit => "length",
        Ending::ContentFilter => "content_filter",
    };
    let message = match &reply.content {
        Content::Text(text) => json!({"role": "assistant", "content": text, "refusal": null}),
        Content::ToolCalls(calls) => {
            finish = "tool_calls";
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(position, (name, arguments))| {
                    json!({
                        "id": format!("call_{index}_{position}"), "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()},
                    })
                })
                .collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
        Content::Raw(_) | Content::Pieces(_) => Value::Null,
    };
    let mut body = json!({
        "id": format!("chatcmpl-{index}"), "object": "chat.completion", "created": 1_735_689_600,
        "model": served_model(reply, request),
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
    });
    if let Some((input, cached, output)) = reply.usage {
        body["usage"] = json!({
            "prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens": output, "total_tokens": input + output,
        });
    }
    body
}
