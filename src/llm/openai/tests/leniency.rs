//! Answers as servers in the wild send them: what is usable in them is used.

use serde_json::json;

use super::server::{Server, answer, ready};
use super::{ask, client_of, request};
use crate::debate::{ApiKind, Tokens, Usd};
use crate::llm::{FinishReason, ModelError, Reply};

async fn reply_to(api: ApiKind, body: &str) -> Result<Reply, ModelError> {
    let server = Server::constant(200, body).await;
    ask(&client_of("local", &server.url, api), &request("m")).await
}

#[tokio::test]
async fn variants_of_chat_answers_with_text() {
    for body in [
        r#"{"choices":[{"message":{"content":"ok"}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop","logprobs":null}],"usage":null}"#,
        r#"{"id":7,"created":"now","object":null,"choices":[{"index":"0","message":{"content":"ok"},"finish_reason":"eos"}]}"#,
        r#"{"choices":[{"message":{"content":"ok"},"finish_reason":null}]}"#,
        r#"{"choices":[{"message":{"content":"ok"},"finish_reason":3}]}"#,
        r#"{"choices":[{"message":{"content":[{"type":"text","text":"o"},{"type":"text","text":"k"}]}}]}"#,
        r#"{"choices":[{"message":{"content":[{"text":"ok"}]}}]}"#,
        r#"{"choices":[{"message":{"content":["o","k"]}}]}"#,
        r#"{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]}}]}"#,
        r#"{"choices":[{"message":{"content":[7,{"type":"text","text":"ok"}]}}]}"#,
        r#"{"choices":[{"message":{"content":"ok","reasoning_content":"hm","refusal":null,"tool_calls":null}}]}"#,
        r#"{"choices":[{"message":{"content":"ok","tool_calls":[]}}],"model":null}"#,
        r#"{"choices":[{"text":"ok"}]}"#,
        r#"{"error":null,"choices":[{"message":{"content":"ok"}}]}"#,
        r#"{"error":{},"choices":[{"message":{"content":"ok"},"error":null}]}"#,
        r#"{"choices":[{"message":{"content":"ok"}}],"usage":"none","model":["m"],"service_tier":{"a":1}}"#,
        r#"{"choices":[{"message":{"content":"ok"}},{"message":{"content":"second"}}]}"#,
        "\n  {\"choices\":[{\"message\":{\"content\":\"ok\"}}]}\n\n",
    ] {
        let reply = reply_to(ApiKind::Chat, body).await.unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(reply, Reply { text: "ok".to_owned(), ..Reply::default() }, "{body}");
    }
}

#[tokio::test]
async fn variants_of_responses_answers_with_text() {
    for body in [
        r#"{"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"id":"r","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}]}"#,
        r#"{"output":[{"type":"message","content":[{"type":"output_text","text":"o"},{"type":"output_text","text":"k"}]}]}"#,
        r#"{"output":[{"content":[{"text":"ok"}]}]}"#,
        r#"{"output":[{"type":"message","content":"ok"}]}"#,
        r#"{"output":[{"type":"message","content":["ok"]}]}"#,
        r#"{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]},{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"output":[{"type":"message","content":[{"type":"reasoning_text","text":"hm"},{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"output":[{"type":"web_search_call","name":"x"},{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"output_text":"ok"}"#,
        r#"{"output":[],"output_text":"ok"}"#,
        r#"{"output":null,"output_text":"ok"}"#,
        r#"{"output":"ok"}"#,
        r#"{"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],"output_text":"ok"}"#,
        r#"{"output":[{"type":"message","content":null},{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"status":7,"created_at":"now","output":[{"type":"message","content":[{"type":"output_text","text":"ok","annotations":null}]}]}"#,
        r#"{"usage":[],"model":{},"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
        r#"{"incomplete_details":{},"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
    ] {
        let reply = reply_to(ApiKind::Responses, body).await.unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(reply, Reply { text: "ok".to_owned(), ..Reply::default() }, "{body}");
    }
}

#[tokio::test]
async fn tool_calls_without_type_or_id() {
    for (api, body, expected) in [
        (
            ApiKind::Chat,
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            vec![("a", r#"{"x":1}"#)],
        ),
        (
            ApiKind::Chat,
            r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"id":"","function":{"name":"f"}},{"function":{}},{"type":"x"}]}}]}"#,
            vec![("call_1_1", r#"{"x":1}"#), ("call_1_2", "{}")],
        ),
        (
            ApiKind::Responses,
            r#"{"output":[{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}]}"#,
            vec![("a", r#"{"x":1}"#)],
        ),
        (
            ApiKind::Responses,
            r#"{"output":[{"name":"f","arguments":{"x":1}},{"type":"function_call","id":"b","name":"f","arguments":""},{"type":"function_call"}]}"#,
            vec![("call_1_1", r#"{"x":1}"#), ("b", "{}")],
        ),
    ] {
        let reply = reply_to(api, body).await.unwrap();
        let calls: Vec<(&str, &str)> =
            reply.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, expected, "{body}");
        assert!(reply.tool_calls.iter().all(|call| call.name == "f"));
        assert_eq!(reply.finish, FinishReason::Complete);
    }
}

#[tokio::test]
async fn why_an_answer_ended() {
    use FinishReason::{Complete, Filtered, Length};
    for (reason, finish) in [
        ("length", Length),
        ("stop", Complete),
        ("content_filter", Filtered),
        ("tool_calls", Complete),
        ("eos", Complete),
    ] {
        let body = json!({ "choices": [{ "message": { "content": "ok" }, "finish_reason": reason }] });
        assert_eq!(reply_to(ApiKind::Chat, &body.to_string()).await.unwrap().finish, finish, "{reason}");
    }
    for (reason, finish) in [("max_output_tokens", Length), ("content_filter", Filtered), ("other", Complete)] {
        let body = json!({
            "status": "incomplete", "incomplete_details": { "reason": reason },
            "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "ok" }] }]
        });
        assert_eq!(reply_to(ApiKind::Responses, &body.to_string()).await.unwrap().finish, finish, "{reason}");
    }
}

#[tokio::test]
async fn a_refusal_is_not_an_answer() {
    for (api, body) in [
        (ApiKind::Chat, r#"{"choices":[{"message":{"content":null,"refusal":"I will not"}}]}"#),
        (ApiKind::Chat, r#"{"choices":[{"message":{"content":[{"type":"refusal","refusal":"I will not"}]}}]}"#),
        (
            ApiKind::Responses,
            r#"{"output":[{"type":"message","content":[{"type":"refusal","refusal":"I will not"}]}]}"#,
        ),
    ] {
        let failed = reply_to(api, body).await.unwrap_err();
        assert_eq!(failed, ModelError::Filtered { message: "I will not".to_owned() }, "{body}");
    }
    let both = r#"{"choices":[{"message":{"content":"so far","refusal":"no more"}}]}"#;
    assert_eq!(reply_to(ApiKind::Chat, both).await.unwrap().finish, FinishReason::Filtered);
}

#[tokio::test]
async fn messages_of_their_own_are_kept_apart() {
    let body = r#"{"output":[{"type":"message","content":"first"},{"type":"message","content":"second"}]}"#;
    assert_eq!(reply_to(ApiKind::Responses, body).await.unwrap().text, "first\n\nsecond");
}

#[tokio::test]
async fn usage_model_and_cost() {
    let tokens = |input_tokens, cached_input_tokens, output_tokens| {
        Some(Tokens { input_tokens, cached_input_tokens, output_tokens })
    };
    for (api, usage, expected) in [
        (ApiKind::Chat, json!({ "prompt_tokens": 10, "completion_tokens": 5 }), tokens(10, 0, 5)),
        (
            ApiKind::Chat,
            json!({ "prompt_tokens": 10, "prompt_tokens_details": { "cached_tokens": 8 }, "completion_tokens": 5 }),
            tokens(10, 8, 5),
        ),
        (ApiKind::Chat, json!({ "prompt_tokens": 10.0, "completion_tokens": "5" }), tokens(10, 0, 5)),
        (ApiKind::Chat, json!({ "prompt_tokens_details": null, "completion_tokens": 5 }), tokens(0, 0, 5)),
        (ApiKind::Chat, json!({ "total_tokens": 15 }), None),
        (ApiKind::Chat, json!({ "prompt_tokens": -1, "completion_tokens": null }), None),
        (
            ApiKind::Responses,
            json!({ "input_tokens": 10, "input_tokens_details": { "cached_tokens": 8 }, "output_tokens": 5 }),
            tokens(10, 8, 5),
        ),
        (ApiKind::Responses, json!({ "prompt_tokens": 10, "completion_tokens": 5 }), tokens(10, 0, 5)),
        (
            ApiKind::Responses,
            json!({ "input_tokens": 10, "input_tokens_details": 3, "output_tokens": 5 }),
            tokens(10, 0, 5),
        ),
    ] {
        let body = json!({
            "model": "m-2025", "usage": usage, "choices": [{ "message": { "content": "ok" } }], "output_text": "ok"
        });
        let reply = reply_to(api, &body.to_string()).await.unwrap();
        assert_eq!(reply.tokens, expected, "{usage}");
        assert_eq!(reply.served_model.as_deref(), Some("m-2025"));
        assert_eq!(reply.stated_cost, None);
    }
}

#[tokio::test]
async fn a_stated_cost_is_in_the_usage_or_in_a_header() {
    for (usage, header, expected) in [
        (json!({ "cost": 0.25 }), None, Some(0.25)),
        (json!({ "cost": 0 }), None, Some(0.0)),
        (json!({ "cost": 0.25 }), Some("0.5"), Some(0.25)),
        (json!({}), Some("1.5e-3"), Some(0.0015)),
        (json!({ "cost": "free" }), Some("None"), None),
        (json!({ "cost": -1 }), None, None),
        (json!(null), Some("NaN"), None),
    ] {
        let body = json!({ "usage": usage, "output_text": "ok" }).to_string();
        let server = Server::start(move |_| {
            let headers: Vec<_> = header.map(|cost| ("x-litellm-response-cost", cost)).into_iter().collect();
            ready(answer(200, &headers, body.clone()))
        })
        .await;
        let reply = ask(&client_of("local", &server.url, ApiKind::Auto), &request("m")).await.unwrap();
        assert_eq!(reply.stated_cost, expected.map(Usd::from_dollars), "{usage} {header:?}");
    }
}
