//! The client against the mock server of the integration tests: its requests, and how it interprets answers and
//! refusals.

mod connections;
mod dialects;
mod failures;
mod fallback;
mod remembered;
mod secrets;
mod streams;
mod wire;

#[path = "../../../../tests/dialectic/support/server/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the integration tests use all of it")]
mod server;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use secrecy::SecretString;
use serde_json::{Value, json};
use server::{Delivery, Gate, Incoming, MockServer as Server, Reply as HttpAnswer};

use crate::fixture::{self, Heard, IDLE};
use crate::{AnswerSchema, ChatModel, FailedAttempt, Live, ModelError, Reply, Request, StatedUsage, Timeouts};
use dialectic_base::call::Tokens;
use dialectic_base::provider::ApiKind;

use super::{Endpoint, HttpClient, OpenAiClient, http_client};

const KEY: &str = "sk-test-0123456789/+=";

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

/// A schema with a single number.
fn score() -> Arc<AnswerSchema> {
    let schema = json!({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]});
    Arc::new(AnswerSchema { name: "score", schema })
}

fn endpoint(base_url: &str, api: ApiKind) -> Endpoint {
    Endpoint { streams: false, ..fixture::endpoint(base_url, KEY, api) }
}

/// A client for `server` that requests whole answers. It has its own connection pool, since pools do not outlive a
/// test's runtime.
fn client(server: &Server, api: ApiKind) -> OpenAiClient {
    OpenAiClient::new(endpoint(&server.base_url(), api), &http_client(None).unwrap()).unwrap()
}

/// The same client with streams.
fn streaming(server: &Server, api: ApiKind) -> OpenAiClient {
    let endpoint = Endpoint { streams: true, ..endpoint(&server.base_url(), api) };
    OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap()
}

/// The result of a request, ignoring the streamed words.
async fn complete(client: &OpenAiClient, request: &Request) -> Result<Reply, ModelError> {
    follow(client, request, IDLE).await.0.map_err(|failed| failed.error)
}

fn request() -> Request {
    request_for("m-1")
}

fn request_for(model: &str) -> Request {
    fixture::request(model, "Be brief.", "Why?")
}

/// An answer of the Responses API, as documented.
fn responses_answer() -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_735_689_600, "status": "completed",
        "error": null, "incomplete_details": null, "instructions": "Be brief.", "max_output_tokens": null,
        "model": "m-1-2025", "output": [{
            "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "Because.", "annotations": [], "logprobs": []}],
        }],
        "parallel_tool_calls": true, "store": false, "temperature": 0.7, "text": {"format": {"type": "text"}},
        "tool_choice": "auto", "tools": [], "truncation": "disabled",
        "usage": {
            "input_tokens": 12, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
        },
        "metadata": {},
    })
}

/// An answer of Chat Completions, as documented.
fn chat_answer() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_735_689_600, "model": "m-1-2025",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": "Because.", "refusal": null, "annotations": []},
            "logprobs": null, "finish_reason": "stop",
        }],
        "usage": {
            "prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
            "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
        },
        "service_tier": "default", "system_fingerprint": "fp_1",
    })
}

/// The reply that both contain.
fn because() -> Reply {
    Reply {
        text: "Because.".to_owned(),
        served_model: Some("m-1-2025".to_owned()),
        tokens: Some(Tokens { input_tokens: 12, cached_input_tokens: 4, output_tokens: 3, ..Tokens::default() }),
        ..Reply::default()
    }
}

fn answer_json(status: u16, body: &Value) -> HttpAnswer {
    HttpAnswer::raw("application/json", body.to_string()).status(status)
}

fn answer_text(status: u16, body: impl Into<Bytes>) -> HttpAnswer {
    HttpAnswer::untyped(body).status(status)
}

/// A stream of events that arrives in these pieces.
fn answer_events(pieces: impl IntoIterator<Item = impl Into<Bytes>>, delivery: Delivery) -> HttpAnswer {
    HttpAnswer::pieces("text/event-stream; charset=utf-8", pieces, delivery)
}

/// The regular answer for a path.
fn regular(path: &str) -> HttpAnswer {
    answer_json(200, &if path == RESPONSES { responses_answer() } else { chat_answer() })
}

/// How the client interprets an answer.
async fn read(api: ApiKind, answer: HttpAnswer) -> Result<Reply, ModelError> {
    let server = Server::with(move |_| answer.clone());
    let result = complete(&client(&server, api), &request()).await;
    assert_eq!(server.paths(), [if api == ApiKind::Chat { CHAT } else { RESPONSES }], "there is no second request");
    result
}

/// The result of a single attempt.
async fn ask(client: &OpenAiClient) -> Result<Reply, ModelError> {
    complete(client, &request()).await
}

/// The result of a request, and the streamed words.
async fn follow(
    client: &OpenAiClient,
    request: &Request,
    idle: Duration,
) -> (Result<Reply, FailedAttempt>, Vec<String>) {
    let heard = Heard::default();
    let result = client.ask(request, heard.live(idle)).await;
    // The returned message has its own tests.
    let result = result.map(|reply| Reply { message: None, ..reply });
    (result, heard.texts())
}

/// Each value as an event.
fn events(values: &[Value]) -> Vec<String> {
    values.iter().map(|value| format!("data: {value}\n\n")).collect()
}

/// [`responses_answer`] as a stream, as documented.
fn responses_events() -> Vec<Value> {
    let mut begun = responses_answer();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let item = json!({"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []});
    let delta = |text| json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text});
    vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}}),
        delta("Beca"),
        delta("use."),
        json!({"type": "response.output_text.done", "text": "Because."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": responses_answer()["output"][0]}),
        json!({"type": "response.completed", "response": responses_answer()}),
    ]
}

/// [`chat_answer`] as a stream, as documented, without the mark at its end.
fn chat_events() -> Vec<Value> {
    let chunk = |choices: Value, usage: Value| json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1-2025", "choices": choices, "usage": usage});
    let choice =
        |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
    vec![
        chunk(choice(json!({"role": "assistant", "content": "", "refusal": null}), Value::Null), Value::Null),
        chunk(choice(json!({"content": "Beca"}), Value::Null), Value::Null),
        chunk(choice(json!({"content": "use."}), Value::Null), Value::Null),
        chunk(choice(json!({}), json!("stop")), Value::Null),
        chunk(json!([]), chat_answer()["usage"].clone()),
    ]
}

/// The regular stream for a path.
fn regular_stream(path: &str) -> Vec<String> {
    if path == RESPONSES {
        return events(&responses_events());
    }
    let mut stream = events(&chat_events());
    stream.push("data: [DONE]\n\n".to_owned());
    stream
}
