//! Answers of Chat Completions as servers send them, not as the reference has them.

use crate::FinishReason;
use dialectic_base::money::Usd;
use dialectic_base::tool_call::ToolCall;

use super::*;

fn content(answer: &mut Value, content: Value) {
    answer["choices"][0]["message"]["content"] = content;
}

/// Tool calls in place of the text.
fn ask_for(answer: &mut Value, calls: Value) {
    let message = json!({"role": "assistant", "content": null});
    answer["choices"][0] = json!({"message": message, "finish_reason": "tool_calls"});
    answer["choices"][0]["message"]["tool_calls"] = calls;
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
    ("id, created and object missing", |v| ["id", "created", "object"].iter().for_each(|f| without(v, f)), same),
    (
        "id null, created a float",
        |v| {
            v["id"] = Value::Null;
            v["created"] = json!(1.5);
        },
        same,
    ),
    (
        "index and logprobs missing",
        |v| {
            for field in ["index", "logprobs"] {
                without(&mut v["choices"][0], field);
            }
        },
        same,
    ),
    ("role missing", |v| without(&mut v["choices"][0]["message"], "role"), same),
    ("finish_reason missing", |v| without(&mut v["choices"][0], "finish_reason"), same),
    ("finish_reason null", |v| v["choices"][0]["finish_reason"] = Value::Null, same),
    ("refusal missing", |v| without(&mut v["choices"][0]["message"], "refusal"), same),
    ("model missing", |v| without(v, "model"), |r| r.served_model = None),
    ("usage missing", |v| without(v, "usage"), |r| r.tokens = None),
    ("usage null", |v| v["usage"] = Value::Null, |r| r.tokens = None),
    ("usage as a list", |v| v["usage"] = json!([]), |r| r.tokens = None),
    ("usage details missing", |v| without(&mut v["usage"], "prompt_tokens_details"), |r| tokens(r, 12, 0, 3)),
    (
        "everything missing but the message",
        |v| *v = json!({"choices": [{"message": {"content": "Because."}}]}),
        |r| {
            r.served_model = None;
            r.tokens = None;
        },
    ),
];

const TEXTS: &[Variant] = &[
    (
        "content as parts",
        |v| content(v, json!([{"type": "text", "text": "Be"}, {"type": "text", "text": "cause."}])),
        same,
    ),
    ("content as one part", |v| content(v, json!({"type": "text", "text": "Because."})), same),
    ("parts without type", |v| content(v, json!([{"text": "Because."}])), same),
    (
        "thoughts among the parts, as by Mistral",
        |v| {
            let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]});
            content(v, json!([thinking, {"type": "text", "text": "Because."}]));
        },
        same,
    ),
    ("content null", |v| content(v, Value::Null), |r| r.text = String::new()),
    ("content missing", |v| without(&mut v["choices"][0]["message"], "content"), |r| r.text = String::new()),
    ("content of another type", |v| content(v, json!(true)), |r| r.text = String::new()),
    ("text of the old completions", |v| v["choices"][0] = json!({"text": "Because.", "finish_reason": "stop"}), same),
    ("text beside a message", |v| v["choices"][0]["text"] = json!("Because."), same),
    ("reasoning beside the content", |v| v["choices"][0]["message"]["reasoning_content"] = json!("Hm."), same),
    ("choices that are none", |v| v["choices"].as_array_mut().unwrap().insert(0, Value::Null), same),
    (
        "two choices",
        |v| {
            let second = json!({"message": {"content": "Or not."}, "finish_reason": "length"});
            v["choices"].as_array_mut().unwrap().push(second);
        },
        same,
    ),
    (
        "unknown fields everywhere",
        |v| {
            v["x_new"] = json!({"a": [1, {"b": null}]});
            v["usage"]["x_new"] = json!("1");
            v["choices"][0]["x_new"] = json!([]);
            v["choices"][0]["message"]["x_new"] = json!(1.5);
        },
        same,
    ),
    ("an error that is null", |v| v["error"] = Value::Null, same),
    ("an error that says nothing", |v| v["error"] = json!({"message": null, "code": null}), same),
];

const ENDINGS: &[Variant] = &[
    ("another word for the end", |v| v["choices"][0]["finish_reason"] = json!("eos_token"), same),
    (
        "an unknown finish_reason",
        |v| v["choices"][0]["finish_reason"] = json!("because"),
        |r| (r.finish, r.finish_word) = (FinishReason::Unknown, Some("because".to_owned())),
    ),
    (
        "broken off",
        |v| v["choices"][0]["finish_reason"] = json!("abort"),
        |r| (r.finish, r.finish_word) = (FinishReason::Interrupted, Some("abort".to_owned())),
    ),
    ("a finish_reason of another type", |v| v["choices"][0]["finish_reason"] = json!({"stop": 1}), same),
    ("cut at the limit", |v| v["choices"][0]["finish_reason"] = json!("length"), |r| r.finish = FinishReason::Length),
    (
        "cut, in Anthropic's word",
        |v| v["choices"][0]["finish_reason"] = json!("max_tokens"),
        |r| {
            r.finish = FinishReason::Length;
        },
    ),
    (
        "filtered in the middle",
        |v| v["choices"][0]["finish_reason"] = json!("content_filter"),
        |r| {
            r.finish = FinishReason::Filtered;
        },
    ),
    (
        "spent before any text",
        |v| {
            v["choices"][0] = json!({"message": {"content": ""}, "finish_reason": "length"});
        },
        |r| {
            r.text = String::new();
            r.finish = FinishReason::Length;
        },
    ),
];

const CALLS: &[Variant] = &[
    (
        "a tool call",
        |v| {
            ask_for(v, json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]));
        },
        |r| calls(r, &[("c", "f", r#"{"a":1}"#)]),
    ),
    (
        "tool calls without type or id",
        |v| {
            let nameless = |id: Value| json!({"id": id, "function": {"name": "f", "arguments": "{}"}});
            ask_for(
                v,
                json!([{"function": {"name": "f", "arguments": "{}"}}, nameless(Value::Null), nameless(json!(""))]),
            );
        },
        |r| calls(r, &[("call_1", "f", "{}"), ("call_2", "f", "{}"), ("call_3", "f", "{}")]),
    ),
    (
        "arguments as an object",
        |v| {
            ask_for(v, json!([{"id": "c", "function": {"name": "f", "arguments": {"a": {"b": null}}}}]));
        },
        |r| calls(r, &[("c", "f", r#"{"a":{"b":null}}"#)]),
    ),
    (
        "arguments missing, null and empty",
        |v| {
            let call = |function: Value| json!({"id": "c", "function": function});
            let functions =
                [json!({"name": "f"}), json!({"name": "f", "arguments": null}), json!({"name": "f", "arguments": " "})];
            ask_for(v, functions.into_iter().map(call).collect());
        },
        |r| calls(r, &[("c", "f", "{}"); 3]),
    ),
    (
        "calls that are none among them",
        |v| {
            ask_for(v, json!([null, {"id": "x"}, {"id": "c", "function": {"name": "f", "arguments": "{}"}}]));
        },
        |r| calls(r, &[("c", "f", "{}")]),
    ),
    ("tool_calls null", |v| v["choices"][0]["message"]["tool_calls"] = Value::Null, same),
    (
        "finish_reason of a stop",
        |v| {
            ask_for(v, json!([{"id": "c", "function": {"name": "f", "arguments": "{}"}}]));
            v["choices"][0]["finish_reason"] = json!("stop");
        },
        |r| calls(r, &[("c", "f", "{}")]),
    ),
];

const FIGURES: &[Variant] = &[
    (
        "usage by the names of the other API",
        |v| {
            v["usage"] = json!({"input_tokens": 5, "output_tokens": 6, "input_tokens_details": {"cached_tokens": 2}});
        },
        |r| tokens(r, 5, 2, 6),
    ),
    (
        "usage in floats and texts",
        |v| {
            v["usage"] = json!({"prompt_tokens": 5.0, "completion_tokens": " 6 "});
        },
        |r| tokens(r, 5, 0, 6),
    ),
    ("usage with one figure", |v| v["usage"] = json!({"prompt_tokens": 5}), |r| r.tokens = None),
    ("a cost, as by OpenRouter", |v| v["usage"]["cost"] = json!(0), |r| r.stated_cost = Some(Usd::ZERO)),
    ("a cost in words", |v| v["usage"]["cost"] = json!("a lot"), same),
];

#[tokio::test]
async fn fields_may_be_absent() {
    read_variants(ApiKind::Chat, chat_answer, ABSENT).await;
}

#[tokio::test]
async fn texts_come_in_many_forms() {
    read_variants(ApiKind::Chat, chat_answer, TEXTS).await;
}

#[tokio::test]
async fn endings_are_recognised() {
    read_variants(ApiKind::Chat, chat_answer, ENDINGS).await;
}

#[tokio::test]
async fn tool_calls_come_in_many_forms() {
    read_variants(ApiKind::Chat, chat_answer, CALLS).await;
}

#[tokio::test]
async fn figures_are_taken_where_they_are() {
    read_variants(ApiKind::Chat, chat_answer, FIGURES).await;
    for (header, cost) in [("0.25", Some(0.25)), ("unknown", None), ("NaN", None), ("-3", None)] {
        let answer = answer_json(200, &chat_answer()).header("x-litellm-response-cost", header);
        let reply = read(ApiKind::Chat, answer).await.unwrap();
        assert_eq!(reply, Reply { stated_cost: cost.map(Usd::from_dollars), ..because() });
    }
}

#[tokio::test]
async fn a_refusal_in_place_of_a_text_is_one() {
    let refusals: [fn(&mut Value); 5] = [
        |v| v["choices"][0]["message"] = json!({"content": null, "refusal": "No."}),
        |v| content(v, json!([{"type": "refusal", "refusal": "No."}])),
        |v| content(v, json!([{"type": "refusal", "text": "No."}])),
        |v| content(v, json!([{"type": "refusal", "refusal": "N"}, {"type": "refusal", "refusal": "o."}])),
        |v| content(v, json!([[{"type": "refusal", "refusal": "N"}], [{"refusal": "o."}]])),
    ];
    for change in refusals {
        let mut answer = chat_answer();
        change(&mut answer);
        let delta = answer["choices"][0]["message"].clone();
        let chunk = json!({"choices": [{"delta": delta, "finish_reason": "stop"}]});
        for answer in [answer_json(200, &answer), answer_events(events(&[chunk]), Delivery::Whole)] {
            let failed = read(ApiKind::Chat, answer).await.unwrap_err();
            assert_eq!(failed, ModelError::Filtered { message: "No.".to_owned() }, "{delta}");
        }
    }
}

#[tokio::test]
async fn of_a_key_that_comes_twice_the_later_value_counts() {
    let choice = |name: &str| {
        format!(
            r#"[{{"{name}": {{"content": "Or not.", "content": "Because."}}, "finish_reason": null, "finish_reason": "length"}}]"#
        )
    };
    let answer = |choices: String| {
        let usage = r#"{"prompt_tokens": 1, "prompt_tokens": 12, "completion_tokens": 3}"#;
        format!(r#"{{"model": "m", "model": "m-1-2025", "choices": null, "choices": {choices}, "usage": {usage}}}"#)
    };
    let words = r#"{"choices": [{"delta": {"content": "Or not.", "content": "Be"}}]}"#;
    let rest = answer(choice("delta").replace("\"Because.\"", "\"cause.\""));
    let stream = [words.to_owned(), rest].map(|chunk| format!("data: {chunk}\n\n"));
    for answer in [answer_text(200, answer(choice("message"))), answer_events(stream, Delivery::Whole)] {
        let tokens = because().tokens.map(|tokens| Tokens { cached_input_tokens: 0, ..tokens });
        let expected = Reply { finish: FinishReason::Length, tokens, ..because() };
        assert_eq!(read(ApiKind::Chat, answer).await, Ok(expected));
    }
}

#[tokio::test]
async fn an_answer_that_failed_midway_is_none() {
    let mut answer = chat_answer();
    answer["choices"][0]["finish_reason"] = json!("error");
    let failed = read(ApiKind::Chat, answer_json(200, &answer)).await.unwrap_err();
    assert!(matches!(failed, ModelError::Broken { .. }), "{failed:?}");

    answer["choices"][0]["error"] = json!({"code": 502, "message": "upstream died"});
    let failed = read(ApiKind::Chat, answer_json(200, &answer)).await.unwrap_err();
    let message = "upstream died".to_owned();
    assert_eq!(failed, ModelError::ServerFailed { status: 502, retry_after: None, message });
}
