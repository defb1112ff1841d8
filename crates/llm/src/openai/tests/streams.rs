//! Streams that reach their end, in whatever shape.

use dialectic_base::tool_call::ToolCall;

use super::*;

const APIS: [(ApiKind, &str); 2] = [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)];

/// What a client makes of a stream, and what is heard of it.
async fn followed(api: ApiKind, answer: HttpAnswer) -> (Result<Reply, FailedAttempt>, Vec<String>) {
    let server = Server::with(move |_| answer.clone());
    let followed = follow(&streaming(&server, api), &request(), IDLE).await;
    assert_eq!(server.paths().len(), 1, "there is no second request");
    followed
}

/// A stream of these events, and what it says.
async fn said(api: ApiKind, values: &[Value]) -> Reply {
    followed(api, answer_events(events(values), Delivery::Whole)).await.0.unwrap()
}

#[tokio::test]
async fn a_stream_is_asked_for_and_says_what_the_whole_answer_says() {
    for (api, path) in APIS {
        let server = Server::with(|seen| match seen.body.get("stream") {
            None => regular(&seen.path),
            Some(_) => answer_events(regular_stream(&seen.path), Delivery::Whole),
        });
        let (reply, heard) = follow(&streaming(&server, api), &request(), IDLE).await;
        assert_eq!((reply, heard), (Ok(because()), vec!["Beca".to_owned(), "use.".to_owned()]));
        assert_eq!(complete(&client(&server, api), &request()).await, Ok(because()));
        let [streamed, whole] = server.requests().try_into().unwrap();
        let mut expected = whole.body.clone();
        expected["stream"] = json!(true);
        if api == ApiKind::Chat {
            expected["stream_options"] = json!({"include_usage": true});
        }
        assert_eq!(streamed.body, expected, "{path}");
    }
}

#[tokio::test]
async fn it_is_the_same_however_the_network_cuts_it_and_with_comments_between() {
    let text = "Grüße, 東京 👩‍💻";
    for (api, path) in APIS {
        let whole = regular_stream(path).concat().replace("\"Because.\"", &format!("\"{text}\""));
        let whole = whole.replace("\"Beca\"", "\"Grüße, 東\"").replace("\"use.\"", "\"京 👩‍💻\"");
        let whole = format!(": PROCESSING\n\n{whole}");
        for end in ["\n", "\r\n"] {
            let whole = whole.replace("\n\n", "\n\n: still there\nid: 4\nretry: 3000\nevent:\ndata:\n\n");
            let whole = whole.replace('\n', end);
            for size in [1, 7, 1 << 20] {
                let pieces: Vec<Vec<u8>> =
                    whole.as_bytes().chunks(size.max(whole.len() / 100)).map(<[u8]>::to_vec).collect();
                let (reply, heard) = followed(api, answer_events(pieces, Delivery::Whole)).await;
                assert_eq!(reply, Ok(Reply { text: text.to_owned(), ..because() }), "{end:?} {size}");
                assert_eq!(heard.concat(), text);
            }
        }
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[tokio::test]
async fn tool_calls_of_chat_completions_are_put_together() {
    let chunk = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let both = [call("c1", "read", r#"{"path":"a"}"#), call("c2", "list", "{}")];
    for (name, chunks) in [
        (
            "openai",
            vec![
                json!([{"index": 0, "id": "c1", "type": "function", "function": function("read", "")}]),
                json!([{"index": 0, "function": {"arguments": "{\"path\":"}}]),
                json!([{"index": 1, "id": "c2", "type": "function", "function": function("list", "")}]),
                json!([{"index": 0, "function": {"arguments": "\"a\"}"}}]),
                json!([{"index": 1, "function": {"arguments": "{}"}}]),
            ],
        ),
        (
            "one index for all",
            vec![
                json!([{"index": 0, "id": "c1", "function": function("read", "{\"path\":\"a\"}")}]),
                json!([{"index": 0, "id": "c2", "function": function("list", "{}")}]),
            ],
        ),
        (
            "no index",
            vec![
                json!([{"id": "c1", "function": function("read", "{\"path\"")}]),
                json!([{"function": {"arguments": ":\"a\"}"}}]),
                json!([{"id": "c2", "function": function("list", "")}]),
            ],
        ),
        (
            "the id and the name in each piece",
            vec![
                json!([{"index": 0, "id": "c1", "function": function("read", "{\"path\":")}]),
                json!([{"index": 0, "id": "c1", "function": function("read", "\"a\"}")}]),
                json!([{"index": 1, "id": "c2", "function": function("list", "{}")}]),
            ],
        ),
        (
            "arguments as they are, and surprises",
            vec![
                json!([{"id": "c1", "function": {"name": "read", "arguments": {"path": "a"}}}, "surprise", {"index": "x"}]),
                json!([{"id": "c2", "function": {"name": "list", "arguments": null}}, {"id": "c3"}]),
            ],
        ),
        (
            "one index for all and no id, as by Google",
            vec![
                json!([{"index": 0, "id": "", "function": function("read", "{\"path\":\"a\"}")}]),
                json!([{"index": 0, "id": "", "function": function("list", "{}")}]),
            ],
        ),
        (
            "arguments null in later pieces",
            vec![
                json!([{"index": 0, "id": "c1", "function": function("read", "{\"path\":\"a\"}")}]),
                json!([{"index": 0, "function": {"name": null, "arguments": null}}]),
                json!([{"index": 1, "id": "c2", "function": function("list", "{}")}]),
                json!([{"index": 1, "id": "c2", "function": {"arguments": null}}]),
            ],
        ),
        (
            "the whole arguments once more, with an id and without",
            vec![
                json!([{"index": 0, "id": "c1", "function": function("read", "{\"path\":")}]),
                json!([{"index": 0, "function": {"arguments": "\"a\"}"}}]),
                json!([{"index": 0, "id": "c1", "function": function("read", "{\"path\": \"a\"}")}]),
                json!([{"index": 0, "function": {"arguments": "{\"path\":\"a\"}"}}]),
                json!([{"index": 1, "id": "c2", "function": function("list", "{}")}]),
                json!([{"index": 1, "function": function("list", "{}")}]),
            ],
        ),
        (
            "an empty object before the pieces",
            vec![
                json!([{"index": 0, "id": "c1", "function": function("read", "{}")}]),
                json!([{"index": 0, "function": {"arguments": "{\"path\":"}}]),
                json!([{"index": 0, "function": {"arguments": "\"a\"}"}}]),
                json!([{"index": 1, "id": "c2", "function": function("list", "{}")}]),
            ],
        ),
    ] {
        let mut values: Vec<Value> = chunks.into_iter().map(chunk).collect();
        values.push(finish.clone());
        let mut calls = said(ApiKind::Chat, &values).await.tool_calls;
        if name.contains("no id") {
            let ids: Vec<String> =
                calls.iter_mut().zip(&both).map(|(call, it)| std::mem::replace(&mut call.id, it.id.clone())).collect();
            assert_eq!(ids, ["call_1", "call_2"], "{name}");
        }
        assert_eq!(calls, both, "{name}");
    }
}

#[tokio::test]
async fn function_calls_of_the_responses_api_are_there_in_every_shape() {
    let item = |arguments: &str| json!({"type": "function_call", "id": "f1", "call_id": "c1", "name": "read", "arguments": arguments});
    let whole = r#"{"path":"a"}"#;
    let piece = |kind: &str, more: Value| {
        let mut piece = json!({"type": format!("response.{kind}"), "output_index": 1});
        piece.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        piece
    };
    let completed =
        |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let delta = |text: &str| piece("function_call_arguments.delta", json!({"delta": text}));
    for (name, values) in [
        ("at the end alone", vec![completed(json!([item(whole)]))]),
        ("in an item", vec![piece("output_item.done", json!({"item": item(whole)})), completed(json!([]))]),
        (
            "in pieces",
            vec![
                piece("output_item.added", json!({"item": item("")})),
                delta("{\"path\""),
                delta(":\"a\"}"),
                json!("[DONE]"),
            ],
        ),
        (
            "in pieces and again",
            vec![
                piece("output_item.added", json!({"item": item("")})),
                delta("{"),
                piece("function_call_arguments.done", json!({"arguments": whole})),
                piece("output_item.done", json!({"item": item(whole)})),
                completed(json!([item(whole)])),
            ],
        ),
    ] {
        let values: Vec<String> =
            events(&values).into_iter().map(|event| event.replace("\"[DONE]\"", "[DONE]")).collect();
        let reply = followed(ApiKind::Responses, answer_events(values, Delivery::Whole)).await.0.unwrap();
        assert_eq!(reply.tool_calls, [call("c1", "read", whole)], "{name}");
    }
}

#[tokio::test]
async fn what_servers_leave_out_or_add_costs_no_answer() {
    let delta = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
    let chat: [(&str, Vec<Value>); 6] = [
        ("bare", vec![delta("Because."), json!({"choices": [{"finish_reason": "stop"}]})]),
        (
            "parts",
            vec![
                json!({"choices": [{"delta": {"content": [{"type": "text", "text": "Because."}]}, "finish_reason": "stop"}]}),
            ],
        ),
        ("as text", vec![json!({"choices": [{"text": "Because.", "finish_reason": "stop"}]})]),
        ("as a message", vec![json!({"choices": [{"message": {"content": "Because."}, "finish_reason": "stop"}]})]),
        (
            "both",
            vec![
                delta("Because."),
                json!({"choices": [{"message": {"content": "Because."}, "finish_reason": "stop"}]}),
            ],
        ),
        (
            "surprises",
            vec![
                json!("what"),
                json!(3),
                json!({"choices": 3, "error": null}),
                json!({"choices": [7], "usage": "x", "error": {}}),
                json!({"choices": [{"delta": {"reasoning_content": "Hm.", "content": null}, "finish_reason": ""}]}),
                delta("Because."),
                json!({"choices": [{"delta": null, "finish_reason": "unheard_of"}]}),
            ],
        ),
    ];
    for (name, values) in chat {
        assert_eq!(said(ApiKind::Chat, &values).await.text, "Because.", "{name}");
    }
    let delta = json!({"type": "response.output_text.delta", "delta": "Because."});
    let completed = |response: Value| json!({"type": "response.completed", "response": response});
    let responses = [
        ("no output at the end", vec![delta.clone(), completed(json!({"status": "completed", "output": []}))]),
        ("nothing at the end", vec![delta.clone(), completed(Value::Null)]),
        ("no deltas", vec![completed(responses_answer())]),
        (
            "surprises",
            vec![
                json!({"type": "response.reasoning_summary_text.delta", "delta": "Hm."}),
                json!({"type": 3}),
                json!([]),
                json!({"type": "response.to_come", "response": 7, "delta": {}}),
                delta.clone(),
                completed(responses_answer()),
            ],
        ),
    ];
    for (name, values) in responses {
        assert_eq!(said(ApiKind::Responses, &values).await.text, "Because.", "{name}");
    }
    // The name of the event alone says what it is.
    let named = [
        "event: response.output_text.delta\ndata: {\"delta\": \"Because.\"}\n\n",
        "event: response.completed\ndata: {}\n\n",
    ];
    let (reply, heard) = followed(ApiKind::Responses, answer_events(named, Delivery::Whole)).await;
    assert_eq!((reply.unwrap().text.as_str(), heard.concat().as_str()), ("Because.", "Because."));
}

#[tokio::test]
async fn why_it_ended_is_known() {
    use crate::FinishReason::{Filtered, Length};
    let chat = |reason| [json!({"choices": [{"delta": {"content": "Be"}, "finish_reason": reason}]})];
    assert_eq!(said(ApiKind::Chat, &chat("length")).await.finish, Length);
    assert_eq!(said(ApiKind::Chat, &chat("content_filter")).await.finish, Filtered);
    // Every chunk has a finish reason, and only the last is right; `null` as text is no reason; one comes too late.
    let word = |text: &str, reason: &str| json!({"choices": [{"delta": {"content": text}, "finish_reason": reason}]});
    for (chunks, finish) in [
        ([word("B", "stop"), word("e", "stop"), word("", "length")], Length),
        ([word("B", "stop"), word("e", "stop"), word("", "content_filter")], Filtered),
        ([word("B", "null"), word("e", "null"), word("", "length")], Length),
        ([word("B", ""), word("e", "length"), word("", "stop")], Length),
    ] {
        let reply = said(ApiKind::Chat, &chunks).await;
        assert_eq!((reply.text.as_str(), reply.finish), ("Be", finish), "{chunks:?}");
    }
    let incomplete = |reason| {
        let response = json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []});
        [
            json!({"type": "response.output_text.delta", "delta": "Be"}),
            json!({"type": "response.incomplete", "response": response}),
        ]
    };
    for (reason, finish) in [("max_output_tokens", Length), ("content_filter", Filtered)] {
        let reply = said(ApiKind::Responses, &incomplete(reason)).await;
        assert_eq!((reply.text.as_str(), reply.finish), ("Be", finish));
    }
    let refused =
        [json!({"type": "response.refusal.delta", "delta": "I will not."}), json!({"type": "response.completed"})];
    let (failed, heard) = followed(ApiKind::Responses, answer_events(events(&refused), Delivery::Whole)).await;
    assert_eq!(failed.unwrap_err().error, ModelError::Filtered { message: "I will not.".to_owned() });
    assert_eq!(heard.concat(), "", "a refusal is no answer, but shows that the model is at work");
}

#[tokio::test]
async fn what_is_queued_or_in_progress_is_no_answer() {
    for word in ["queued", "in_progress"] {
        let chat = [json!({"choices": [{"delta": {"content": "Be"}, "finish_reason": word}]})];
        let mut whole = responses_answer();
        whole["status"] = json!(word);
        let ended = [json!({"type": "response.completed", "response": whole})];
        for (api, events) in [(ApiKind::Chat, events(&chat)), (ApiKind::Responses, events(&ended))] {
            let (reply, _) = followed(api, answer_events(events, Delivery::Whole)).await;
            let error = reply.unwrap_err().error.to_string();
            assert!(error.contains("it contains no answer"), "{word}: {error}");
        }
    }
    // How it stood when it began says nothing of how it ended.
    let begun = json!({"status": "in_progress", "output": []});
    let pieces = [
        json!({"type": "response.in_progress", "response": begun}),
        json!({"type": "response.output_text.delta", "delta": "Because."}),
    ];
    let pieces = [events(&pieces), vec!["data: [DONE]\n\n".to_owned()]].concat();
    let (reply, _) = followed(ApiKind::Responses, answer_events(pieces, Delivery::Whole)).await;
    assert_eq!(reply.unwrap().text, "Because.");
}

#[tokio::test]
async fn a_server_may_answer_as_a_whole_or_under_a_false_name() {
    for (api, path) in APIS {
        let whole = if path == RESPONSES { responses_answer() } else { chat_answer() };
        let stream = regular_stream(path).concat();
        for (name, answer) in [
            ("whole", regular(path)),
            ("whole, called events", answer_events([format!("\r\n  {whole}")], Delivery::Whole)),
            ("events, called JSON", answer_text(200, stream.clone()).header("content-type", "application/json")),
            ("events, not called anything", answer_text(200, stream.clone())),
            ("events without an empty line at the end", answer_text(200, stream.trim_end().to_owned())),
        ] {
            assert_eq!(followed(api, answer).await.0, Ok(because()), "{name}");
        }
        // Nobody asked for a stream.
        assert_eq!(read(api, answer_events([stream], Delivery::Whole)).await, Ok(because()));
    }
}
