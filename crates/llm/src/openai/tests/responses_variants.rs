//! Answers of the Responses API as servers send them, not as the reference has them.

use crate::FinishReason;
use dialectic_base::money::Usd;
use dialectic_base::tool_call::ToolCall;

use super::*;

fn message(content: Value) -> Value {
    let mut message = json!([{"type": "message", "role": "assistant"}]);
    message[0]["content"] = content;
    message
}

fn calls(reply: &mut Reply, calls: &[(&str, &str, &str)]) {
    reply.text = String::new();
    reply.tool_calls = calls
        .iter()
        .map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        })
        .collect();
}

fn tokens(reply: &mut Reply, input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) {
    reply.tokens = Some(Tokens { input_tokens, cached_input_tokens, output_tokens, ..Tokens::default() });
}

fn same(_: &mut Reply) {}

const ABSENT: &[Variant] = &[
    ("as documented", |_| {}, same),
    ("id, created and object missing", |v| ["id", "created_at", "object"].iter().for_each(|f| without(v, f)), same),
    (
        "status missing, as by OpenRouter in items",
        |v| {
            without(v, "status");
            without(&mut v["output"][0], "status");
        },
        same,
    ),
    (
        "role, id and type of the message missing",
        |v| {
            for field in ["role", "id", "type"] {
                without(&mut v["output"][0], field);
            }
        },
        same,
    ),
    ("annotations missing", |v| without(&mut v["output"][0]["content"][0], "annotations"), same),
    ("type of the part missing", |v| without(&mut v["output"][0]["content"][0], "type"), same),
    ("error and details missing", |v| ["error", "incomplete_details"].iter().for_each(|f| without(v, f)), same),
    ("model missing", |v| without(v, "model"), |r| r.served_model = None),
    ("model of another type", |v| v["model"] = json!(7), |r| r.served_model = None),
    ("usage missing", |v| without(v, "usage"), |r| r.tokens = None),
    ("usage null", |v| v["usage"] = Value::Null, |r| r.tokens = None),
    ("usage empty", |v| v["usage"] = json!({}), |r| r.tokens = None),
    ("usage details missing", |v| without(&mut v["usage"], "input_tokens_details"), |r| tokens(r, 12, 0, 3)),
    ("usage details null", |v| v["usage"]["input_tokens_details"] = Value::Null, |r| tokens(r, 12, 0, 3)),
    (
        "everything missing but the output",
        |v| *v = json!({"output": v["output"]}),
        |r| {
            r.served_model = None;
            r.tokens = None;
        },
    ),
];

const TEXTS: &[Variant] = &[
    ("content as text", |v| v["output"] = message(json!("Because.")), same),
    ("content as one part", |v| v["output"] = message(json!({"type": "output_text", "text": "Because."})), same),
    ("parts that are texts", |v| v["output"] = message(json!(["Be", "cause."])), same),
    (
        "several parts",
        |v| v["output"] = message(json!([{"type": "output_text", "text": "Be"}, {"type": "text", "text": "cause."}])),
        same,
    ),
    (
        "parts of unknown types among them",
        |v| {
            v["output"] = message(
                json!([{"type": "hologram", "shape": 1}, 5, null, {"type": "output_text", "text": "Because."}]),
            );
        },
        same,
    ),
    ("content null", |v| v["output"][0]["content"] = Value::Null, |r| r.text = String::new()),
    ("no output", |v| v["output"] = json!([]), |r| r.text = String::new()),
    (
        "output_text only",
        |v| {
            without(v, "output");
            v["output_text"] = json!("Because.");
        },
        same,
    ),
    (
        "output_text beside an empty output",
        |v| {
            v["output"] = json!([]);
            v["output_text"] = json!("Because.");
        },
        same,
    ),
    ("output_text beside the same output", |v| v["output_text"] = json!("Because."), same),
    (
        "reasoning before the message",
        |v| {
            let reasoning = json!({
                "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
                "content": [{"type": "reasoning_text", "text": "Let me think."}],
            });
            v["output"].as_array_mut().unwrap().insert(0, reasoning);
        },
        same,
    ),
    (
        "a search of the server before the message",
        |v| {
            let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "name": "search"});
            v["output"].as_array_mut().unwrap().insert(0, search);
        },
        same,
    ),
    (
        "items that are none",
        |v| {
            let output = v["output"].as_array_mut().unwrap();
            output.insert(0, Value::Null);
            output.push(json!("what?"));
        },
        same,
    ),
    (
        "two messages",
        |v| {
            v["output"] = json!([{"type": "message", "content": "Be"}, {"type": "message", "content": "cause."}]);
        },
        same,
    ),
    (
        "unknown fields everywhere",
        |v| {
            v["x_new"] = json!({"a": [1, 2, {"b": null}]});
            v["usage"]["x_new"] = json!("1");
            v["output"][0]["x_new"] = json!([]);
            v["output"][0]["content"][0]["x_new"] = json!(1.5);
        },
        same,
    ),
    ("a code in place of an error that says nothing", |v| v["error"] = json!({}), same),
    ("an empty error", |v| v["error"] = json!(""), same),
];

const ENDINGS: &[Variant] = &[
    (
        "an unknown status",
        |v| v["status"] = json!("splendid"),
        |r| (r.finish, r.finish_word) = (FinishReason::Unknown, Some("splendid".to_owned())),
    ),
    ("a status of another type", |v| v["status"] = json!(200), same),
    (
        "cut at the limit",
        |v| {
            v["status"] = json!("incomplete");
            v["incomplete_details"] = json!({"reason": "max_output_tokens"});
        },
        |r| r.finish = FinishReason::Length,
    ),
    ("incomplete without a reason", |v| v["status"] = json!("incomplete"), |r| r.finish = FinishReason::Length),
    (
        "cut for a reason that nobody knows",
        |v| {
            v["status"] = json!("incomplete");
            v["incomplete_details"] = json!({"reason": "tired"});
        },
        |r| (r.finish, r.finish_word) = (FinishReason::Interrupted, Some("tired".to_owned())),
    ),
    (
        "filtered in the middle",
        |v| {
            v["status"] = json!("incomplete");
            v["incomplete_details"] = json!({"reason": "content_filter"});
        },
        |r| r.finish = FinishReason::Filtered,
    ),
    (
        "a refusal beside a text",
        |v| {
            let parts = v["output"][0]["content"].as_array_mut().unwrap();
            parts.push(json!({"type": "refusal", "refusal": "No more."}));
        },
        same,
    ),
];

const CALLS: &[Variant] = &[
    (
        "a tool call",
        |v| {
            v["output"] = json!([{"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "f", "arguments": "{\"a\":1}"}]);
        },
        |r| calls(r, &[("call_9", "f", r#"{"a":1}"#)]),
    ),
    (
        "tool calls without type, with and without an id",
        |v| {
            v["output"] =
                json!([{"name": "f", "arguments": "{}"}, {"name": "g", "id": "fc_2"}, {"name": "h", "call_id": ""}]);
        },
        |r| calls(r, &[("call_1", "f", "{}"), ("fc_2", "g", "{}"), ("call_3", "h", "{}")]),
    ),
    (
        "arguments as an object",
        |v| {
            v["output"] = json!([{"type": "function_call", "call_id": "c", "name": "f", "arguments": {"a": [1]}}]);
        },
        |r| calls(r, &[("c", "f", r#"{"a":[1]}"#)]),
    ),
    (
        "arguments null and empty",
        |v| {
            let call = |arguments: Value| json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments});
            v["output"] = json!([call(Value::Null), call(json!(""))]);
        },
        |r| calls(r, &[("c", "f", "{}"), ("c", "f", "{}")]),
    ),
    (
        "a tool call after a text",
        |v| {
            let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
            v["output"].as_array_mut().unwrap().push(call);
        },
        |r| {
            calls(r, &[("c", "f", "{}")]);
            r.text = "Because.".to_owned();
        },
    ),
];

const FIGURES: &[Variant] = &[
    (
        "usage by the names of the other API",
        |v| {
            v["usage"] =
                json!({"prompt_tokens": 5, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 2}});
        },
        |r| tokens(r, 5, 2, 6),
    ),
    (
        "usage in floats and texts",
        |v| {
            v["usage"] = json!({"input_tokens": 5.0, "output_tokens": "6"});
        },
        |r| tokens(r, 5, 0, 6),
    ),
    ("usage with one figure", |v| v["usage"] = json!({"output_tokens": 6}), |r| r.tokens = None),
    (
        "usage beyond belief",
        |v| {
            v["usage"] = json!({"input_tokens": -1, "output_tokens": 1e300});
        },
        |r| r.tokens = None,
    ),
    (
        "a cost, as by OpenRouter",
        |v| v["usage"]["cost"] = json!(0.0125),
        |r| {
            r.stated_cost = Some(Usd::from_dollars(0.0125));
        },
    ),
    ("a cost of another type", |v| v["usage"]["cost"] = json!({"total": 1}), same),
    ("a negative cost", |v| v["usage"]["cost"] = json!(-1.0), same),
];

#[tokio::test]
async fn fields_may_be_absent() {
    read_variants(ApiKind::Responses, responses_answer, ABSENT).await;
}

#[tokio::test]
async fn texts_come_in_many_forms() {
    read_variants(ApiKind::Responses, responses_answer, TEXTS).await;
}

#[tokio::test]
async fn endings_are_recognised() {
    read_variants(ApiKind::Responses, responses_answer, ENDINGS).await;
}

#[tokio::test]
async fn tool_calls_come_in_many_forms() {
    read_variants(ApiKind::Responses, responses_answer, CALLS).await;
}

#[tokio::test]
async fn figures_are_taken_where_they_are() {
    read_variants(ApiKind::Responses, responses_answer, FIGURES).await;
    let header = answer_json(200, &responses_answer()).header("x-litellm-response-cost", "0.25");
    let reply = read(ApiKind::Responses, header).await.unwrap();
    assert_eq!(reply, Reply { stated_cost: Some(Usd::from_dollars(0.25)), ..because() });
}

#[tokio::test]
async fn a_refusal_in_place_of_a_text_is_one() {
    let mut answer = responses_answer();
    answer["output"] = message(json!([{"type": "refusal", "refusal": "I cannot\nhelp\u{7} with that."}]));
    let failed = read(ApiKind::Responses, answer_json(200, &answer)).await.unwrap_err();
    assert_eq!(failed, ModelError::Filtered { message: "I cannot help with that.".to_owned() });
}

#[tokio::test]
async fn what_ended_badly_is_no_answer() {
    for status in ["failed", "cancelled"] {
        let mut answer = responses_answer();
        answer["status"] = json!(status);
        let failed = read(ApiKind::Responses, answer_json(200, &answer)).await.unwrap_err();
        assert!(matches!(failed, ModelError::Broken { .. }), "{failed:?}");
    }
}

#[tokio::test]
async fn a_failure_without_a_text_is_named() {
    let failed = json!({"object": "response", "status": "failed", "output": [], "error": null});
    let events =
        format!("event: response.failed\ndata: {}\n\n", json!({"type": "response.failed", "response": failed}));
    for answer in [answer_json(200, &failed), answer_events([events], Delivery::Whole)] {
        let failed = read(ApiKind::Responses, answer).await.unwrap_err();
        assert!(failed.to_string().contains("its status is `failed`"), "{failed}");
    }
    let error = json!({"code": "server_error", "message": "The upstream model is out of memory."});
    let failed = json!({"object": "response", "status": "failed", "output": [], "error": error});
    let failed = read(ApiKind::Responses, answer_json(200, &failed)).await.unwrap_err();
    assert!(failed.to_string().contains("out of memory"), "{failed}");
}
