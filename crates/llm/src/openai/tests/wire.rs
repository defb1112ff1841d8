//! The requests.

use crate::{ToolSpec, Turn};
use dialectic_base::call::{ToolCall, ToolResult};

use super::*;

/// What a client for a provider of this name sends.
async fn sent(provider: &str, api: ApiKind, request: &Request) -> Arc<Incoming> {
    let server = Server::with(|seen| regular(&seen.path));
    let endpoint = Endpoint { name: provider.into(), ..endpoint(&server.base_url(), api) };
    let client = OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap();
    assert_eq!(complete(&client, request).await, Ok(because()));
    let [seen] = server.requests().try_into().unwrap();
    seen
}

/// The same request in both APIs.
async fn both(request: &Request) -> [Arc<Incoming>; 2] {
    let responses = sent("local", ApiKind::Responses, request).await;
    let chat = sent("local", ApiKind::Chat, request).await;
    assert_eq!((responses.path.as_str(), chat.path.as_str()), (RESPONSES, CHAT));
    [responses, chat]
}

/// Checks the bodies of a request in the Responses API and in Chat Completions.
async fn assert_sent(request: Request, responses: Value, chat: Value) {
    let [sent_by_responses, sent_by_chat] = both(&request).await;
    assert_eq!(sent_by_responses.body, responses);
    assert_eq!(sent_by_chat.body, chat);
}

#[tokio::test]
async fn a_prompt() {
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]);
    assert_sent(
        request(),
        json!({"model": "m-1", "instructions": "Be brief.", "input": "Why?", "temperature": 0.7, "store": false}),
        json!({"model": "m-1", "messages": messages, "temperature": 0.7}),
    )
    .await;
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "file_read".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object"}),
    }
}

fn call(id: &str, path: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "file_read".to_owned(), arguments: json!({"path": path}).to_string() }
}

fn result(id: &str) -> ToolResult {
    ToolResult { tool_call_id: id.to_owned(), role: "tool".to_owned(), content: r#"{"n":1}"#.to_owned() }
}

#[tokio::test]
async fn tools_their_calls_and_results_and_a_second_chance() {
    let turns = vec![
        Turn::Assistant { text: String::new(), calls: vec![call("c1", "a"), call("c2", "b")], message: None },
        Turn::ToolResults(vec![result("c1"), result("c2")]),
        Turn::Assistant { text: "One more.".to_owned(), calls: vec![call("c3", "c")], message: None },
        Turn::ToolResults(vec![result("c3")]),
        Turn::Assistant { text: "{oops".to_owned(), calls: vec![], message: None },
        Turn::User("Again, as JSON.".to_owned()),
    ];
    let (a, b, c, n) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#, r#"{"path":"c"}"#, r#"{"n":1}"#);
    let input = json!([
        {"type": "message", "role": "user", "content": "Why?"},
        {"type": "function_call", "call_id": "c1", "name": "file_read", "arguments": a},
        {"type": "function_call", "call_id": "c2", "name": "file_read", "arguments": b},
        {"type": "function_call_output", "call_id": "c1", "output": n},
        {"type": "function_call_output", "call_id": "c2", "output": n},
        {"type": "message", "role": "assistant", "content": "One more."},
        {"type": "function_call", "call_id": "c3", "name": "file_read", "arguments": c},
        {"type": "function_call_output", "call_id": "c3", "output": n},
        {"type": "message", "role": "assistant", "content": "{oops"},
        {"type": "message", "role": "user", "content": "Again, as JSON."},
    ]);
    let called = |id, arguments| json!({"id": id, "type": "function", "function": {"name": "file_read", "arguments": arguments}});
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "tool_calls": [called("c1", a), called("c2", b)]},
        {"role": "tool", "content": n, "tool_call_id": "c1"},
        {"role": "tool", "content": n, "tool_call_id": "c2"},
        {"role": "assistant", "content": "One more.", "tool_calls": [called("c3", c)]},
        {"role": "tool", "content": n, "tool_call_id": "c3"},
        {"role": "assistant", "content": "{oops"},
        {"role": "user", "content": "Again, as JSON."},
    ]);
    let (name, description, parameters) = ("file_read", "Reads a file.", json!({"type": "object"}));
    let function = json!({"name": name, "description": description, "parameters": parameters});
    assert_sent(
        Request { turns, tools: Arc::new([tool()]), ..request() },
        json!({
            "model": "m-1", "instructions": "Be brief.", "input": input, "temperature": 0.7, "store": false,
            "tools": [{
                "type": "function", "name": name, "description": description, "parameters": parameters,
                "strict": false,
            }],
        }),
        json!({
            "model": "m-1", "messages": messages, "temperature": 0.7,
            "tools": [{"type": "function", "function": function}],
        }),
    )
    .await;
}

#[tokio::test]
async fn a_schema() {
    let [responses, chat] = both(&Request { answer: Some(score()), ..request() }).await;
    // Keeps the order, so that a model gives its reasons before the score.
    let schema = r#""schema":{"type":"object","properties":{"score":{"type":"integer"}},"required":["score"]}"#;
    assert!(responses.sent.contains(schema) && chat.sent.contains(schema), "{} {}", responses.sent, chat.sent);
    let schema = score().schema.clone();
    let format = json!({"type": "json_schema", "name": "score", "schema": schema, "strict": true});
    assert_eq!(responses.body["text"], json!({"format": format}));
    let format = json!({"name": "score", "schema": schema, "strict": true});
    assert_eq!(chat.body["response_format"], json!({"type": "json_schema", "json_schema": format}));
}

#[tokio::test]
async fn models_known_to_take_no_schema_get_none() {
    let request = Request { answer: Some(score()), ..request_for("gpt-4") };
    for api in [ApiKind::Responses, ApiKind::Chat] {
        assert!(!sent("openai", api, &request).await.sent.contains("json_schema"));
    }
}

#[tokio::test]
async fn the_output_limit_has_a_name_in_each_api() {
    let limited = Request { max_tokens: Some(500), ..request() };
    let names = ["max_output_tokens", "max_completion_tokens", "max_tokens"];
    for (provider, api, name) in [
        ("openai", ApiKind::Responses, names[0]),
        ("local", ApiKind::Responses, names[0]),
        ("openai", ApiKind::Chat, names[1]),
        ("openrouter", ApiKind::Chat, names[2]),
        ("local", ApiKind::Chat, names[2]),
    ] {
        let body = &sent(provider, api, &limited).await.body;
        for other in names {
            assert_eq!(body.get(other), (other == name).then_some(&json!(500)), "{provider} {other}");
        }
    }
}

#[tokio::test]
async fn temperatures_are_sent_as_they_were_written() {
    for (temperature, written) in [(0.0, "0.0"), (0.1, "0.1"), (0.7, "0.7"), (1.0, "1.0"), (1.95, "1.95")] {
        for seen in both(&Request { temperature, ..request() }).await {
            assert!(seen.sent.contains(&format!(r#""temperature":{written}"#)), "{}", seen.sent);
        }
    }
}

#[tokio::test]
async fn headers_and_query_of_the_endpoint_go_with_every_request() {
    let server = Server::with(|seen| regular(&seen.path));
    for api in [ApiKind::Responses, ApiKind::Chat] {
        let endpoint = Endpoint {
            base_url: format!("{}/?api-version=preview&a=b%20c", server.base_url()),
            headers: vec![
                ("X-Title".to_owned(), SecretString::from("dialectic")),
                ("x-portkey-key".to_owned(), SecretString::from("pk-1")),
            ],
            ..endpoint("", api)
        };
        let client = OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap();
        complete(&client, &request()).await.unwrap();
    }
    let seen = server.requests();
    assert_eq!(server.paths(), [RESPONSES, CHAT]);
    for seen in seen {
        assert_eq!(seen.query.as_deref(), Some("api-version=preview&a=b+c"));
        assert_eq!(seen.header("authorization"), Some("Bearer sk-test-0123456789/+="));
        assert_eq!(seen.header("x-title"), Some("dialectic"));
        assert_eq!(seen.header("x-portkey-key"), Some("pk-1"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("user-agent"), Some(concat!("dialectic/", env!("CARGO_PKG_VERSION"))));
        for (name, _) in &seen.headers {
            assert!(!name.starts_with("openai-"), "{name} is nobody's to send");
        }
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_authorised_and_a_header_can_do_it_instead() {
    let server = Server::with(|seen| regular(&seen.path));
    let bare = Endpoint { api_key: None, ..endpoint(&server.base_url(), ApiKind::Chat) };
    let basic = ("Authorization".to_owned(), SecretString::from("Basic dTpw"));
    let own = Endpoint { headers: vec![basic], ..endpoint(&server.base_url(), ApiKind::Chat) };
    for endpoint in [bare, own] {
        let client = OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap();
        complete(&client, &request()).await.unwrap();
    }
    let [bare, own] = server.requests().try_into().unwrap();
    assert_eq!(bare.header("authorization"), None);
    let own: Vec<_> = own.headers.iter().filter(|(name, _)| name == "authorization").collect();
    assert_eq!(own, [&("authorization".to_owned(), "Basic dTpw".to_owned())]);
}

#[tokio::test]
async fn text_of_any_kind_arrives_as_it_is() {
    let nasty = "\"quotes\" \\ back\u{8}\u{0}\u{2028}\u{1F600} {{braces}}\n";
    let request = Request { prompt: nasty.into(), ..request() };
    assert_eq!(sent("local", ApiKind::Responses, &request).await.body["input"], nasty);
    assert_eq!(sent("local", ApiKind::Chat, &request).await.body["messages"][1]["content"], nasty);
}
