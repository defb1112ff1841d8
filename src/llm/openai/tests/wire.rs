//! What is sent, byte for byte where it matters.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{Server, good, ready};
use super::{KEY, SCORE, ask, client_of, request, score_schema};
use crate::debate::{ApiKind, ToolCall, ToolResult};
use crate::llm::{Request, ToolSpec, Turn};

fn conversation() -> Request {
    let mut request = request("m");
    request.max_tokens = Some(64);
    request.answer = Some(&SCORE);
    request.tools = Arc::from([ToolSpec {
        name: "file_read".to_owned(),
        description: "reads a file".to_owned(),
        parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
    }]);
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "file_read".to_owned(),
        arguments: r#"{"path":"a"}"#.to_owned(),
    };
    let result = |id: &str| ToolResult {
        tool_call_id: id.to_owned(),
        role: "tool".to_owned(),
        content: r#"{"status":"success"}"#.to_owned(),
    };
    request.turns = vec![
        Turn::Assistant { text: String::new(), calls: vec![call("c1"), call("c2")] },
        Turn::ToolResults(vec![result("c1"), result("c2")]),
        Turn::Assistant { text: "so it is".to_owned(), calls: vec![] },
        Turn::User("as JSON please".to_owned()),
    ];
    request
}

async fn sent(provider: &str, api: ApiKind, request: &Request) -> super::server::Seen {
    let server = Server::start(|seen| ready(good(&seen.path))).await;
    ask(&client_of(provider, &server.url, api), request).await.unwrap();
    server.seen().remove(0)
}

#[tokio::test]
async fn a_plain_request_of_the_responses_api() {
    let seen = sent("openai", ApiKind::Auto, &request("gpt-4o")).await;
    assert_eq!(
        seen.raw,
        r#"{"model":"gpt-4o","instructions":"be brief","input":"design it","temperature":0.7,"store":false}"#
    );
    assert_eq!(seen.path, "/v1/responses");
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(seen.headers["content-type"], "application/json");
    assert_eq!(seen.headers["x-title"], "dialectic");
    assert_eq!(seen.headers["user-agent"], concat!("dialectic/", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn a_plain_request_of_chat_completions() {
    let seen = sent("mistral", ApiKind::Chat, &request("mistral-large")).await;
    assert_eq!(
        seen.raw,
        concat!(
            r#"{"model":"mistral-large","messages":[{"role":"system","content":"be brief"},"#,
            r#"{"role":"user","content":"design it"}],"temperature":0.7}"#
        )
    );
    assert_eq!(seen.path, "/v1/chat/completions");
}

#[tokio::test]
async fn a_conversation_of_the_responses_api() {
    let seen = sent("openai", ApiKind::Responses, &conversation()).await;
    assert_eq!(
        seen.body,
        json!({
            "model": "m",
            "instructions": "be brief",
            "input": [
                { "role": "user", "content": "design it" },
                { "type": "function_call", "call_id": "c1", "name": "file_read", "arguments": "{\"path\":\"a\"}" },
                { "type": "function_call", "call_id": "c2", "name": "file_read", "arguments": "{\"path\":\"a\"}" },
                { "type": "function_call_output", "call_id": "c1", "output": "{\"status\":\"success\"}" },
                { "type": "function_call_output", "call_id": "c2", "output": "{\"status\":\"success\"}" },
                { "role": "assistant", "content": "so it is" },
                { "role": "user", "content": "as JSON please" }
            ],
            "temperature": 0.7,
            "max_output_tokens": 64,
            "text": {
                "format": { "type": "json_schema", "name": "score", "schema": score_schema(), "strict": true }
            },
            "tools": [{
                "type": "function",
                "name": "file_read",
                "description": "reads a file",
                "parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
                "strict": false
            }],
            "store": false
        })
    );
}

#[tokio::test]
async fn a_conversation_of_chat_completions() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "file_read", "arguments": "{\"path\":\"a\"}" } });
    let seen = sent("openai", ApiKind::Chat, &conversation()).await;
    assert_eq!(
        seen.body,
        json!({
            "model": "m",
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": "design it" },
                { "role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")] },
                { "role": "tool", "content": "{\"status\":\"success\"}", "tool_call_id": "c1" },
                { "role": "tool", "content": "{\"status\":\"success\"}", "tool_call_id": "c2" },
                { "role": "assistant", "content": "so it is" },
                { "role": "user", "content": "as JSON please" }
            ],
            "temperature": 0.7,
            "max_completion_tokens": 64,
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": "score", "schema": score_schema(), "strict": true }
            },
            "tools": [{
                "type": "function",
                "function": {
                    "name": "file_read",
                    "description": "reads a file",
                    "parameters": { "type": "object", "properties": { "path": { "type": "string" } } }
                }
            }]
        })
    );
}

#[tokio::test]
async fn others_than_openai_know_the_older_name_of_the_output_limit() {
    for provider in ["mistral", "ollama", "google", "anthropic", "openrouter", "local"] {
        let seen = sent(provider, ApiKind::Chat, &conversation()).await;
        assert_eq!(seen.body["max_tokens"], 64, "{provider}");
        assert_eq!(seen.body["max_completion_tokens"], Value::Null, "{provider}");
    }
}

#[tokio::test]
async fn models_from_before_structured_output_are_not_asked_for_it() {
    let mut asked = request("gpt-4");
    asked.answer = Some(&SCORE);
    assert_eq!(sent("openai", ApiKind::Auto, &asked).await.body["text"], Value::Null);
    assert_eq!(sent("openai", ApiKind::Chat, &asked).await.body["response_format"], Value::Null);
}

#[tokio::test]
async fn a_query_in_the_base_url_goes_with_every_request() {
    let server = Server::start(|seen| ready(good(&seen.path.replace("?api-version=1", "")))).await;
    let client = client_of("local", &format!("{}/?api-version=1", server.url), ApiKind::Auto);
    ask(&client, &request("m")).await.unwrap();
    assert_eq!(server.seen()[0].path, "/v1/responses?api-version=1");
}
