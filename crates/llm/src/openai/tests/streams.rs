//! Streams: how they arrive and end, and how their texts and usage are read.

use crate::FinishReason;

use super::*;

const APIS: [(ApiKind, &str); 2] = [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)];

/// The result of a stream, and its words.
async fn followed(
    api: ApiKind,
    answer: HttpAnswer,
    idle_timeout: Duration,
) -> (Result<Reply, FailedAttempt>, Vec<String>) {
    let server = Server::with(move |_| answer.clone());
    let followed = follow(&streaming(&server, api), &request(), idle_timeout).await;
    assert_eq!(server.paths().len(), 1, "there is no second request");
    followed
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
async fn a_stream_is_read_alike_in_any_chunks_and_with_comments() {
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
                let (reply, heard) = followed(api, answer_events(pieces, Delivery::Whole), IDLE).await;
                assert_eq!(reply, Ok(Reply { text: text.to_owned(), ..because() }), "{end:?} {size}");
                assert_eq!(heard.concat(), text);
            }
        }
    }
}

#[tokio::test]
async fn an_answer_is_read_with_any_content_type() {
    for (api, path) in APIS {
        let whole = if path == RESPONSES { responses_answer() } else { chat_answer() };
        let stream = regular_stream(path).concat();
        for (name, answer) in [
            ("whole", regular(path)),
            ("whole, as text/event-stream", answer_events([format!("\r\n  {whole}")], Delivery::Whole)),
            (
                "events, as application/json",
                answer_text(200, stream.clone()).header("content-type", "application/json"),
            ),
            ("events without a content type", answer_text(200, stream.clone())),
            ("events without an empty line at the end", answer_text(200, stream.trim_end().to_owned())),
        ] {
            assert_eq!(followed(api, answer, IDLE).await.0, Ok(because()), "{name}");
        }
        // A stream that was not requested.
        assert_eq!(read(api, answer_events([stream], Delivery::Whole)).await, Ok(because()));
    }
}

async fn failed(api: ApiKind, pieces: Vec<String>, end: Delivery, idle_timeout: Duration) -> (FailedAttempt, String) {
    let (result, heard) = followed(api, answer_events(pieces, end), idle_timeout).await;
    (result.unwrap_err(), heard.concat())
}

#[tokio::test]
async fn a_stream_without_an_end_is_broken() {
    for (api, path) in APIS {
        let stream = regular_stream(path);
        // Up to the last words, without a finish reason.
        let open = stream.iter().position(|event| event.contains("use.")).unwrap() + 1;
        for end in [Delivery::Whole, Delivery::Cut] {
            let (failed, heard) = failed(api, stream[..open].to_vec(), end, IDLE).await;
            let ModelError::Broken { message } = &failed.error else { panic!("{failed:?}") };
            let expected = if end == Delivery::Cut {
                "it was interrupted: "
            } else {
                "the stream ended before the answer was complete"
            };
            assert!(message.starts_with(expected), "{message}");
            assert!(failed.error.is_transient());
            assert_eq!(heard, "Because.");
        }
        // An event that is cut in two.
        let cut = vec![stream.concat().split_at(stream[..open].concat().len() - 20).0.to_owned()];
        let (cut, heard) = self::failed(api, cut, Delivery::Whole, IDLE).await;
        assert_eq!(cut.to_string(), "the answer is broken: the stream ended before the answer was complete");
        assert_eq!(heard, "Beca");
    }
    // A finish reason of "null" does not end the answer.
    let open = events(&[json!({"choices": [{"delta": {"content": "Beca"}, "finish_reason": "null"}]})]);
    let (open, heard) = failed(ApiKind::Chat, open, Delivery::Whole, IDLE).await;
    assert_eq!(
        (open.to_string().as_str(), heard.as_str()),
        ("the answer is broken: the stream ended before the answer was complete", "Beca")
    );
    let damaged = vec!["data: {\"choices\": [{\"del\n\n".to_owned(), regular_stream(CHAT).concat()];
    let (failed, _) = failed(ApiKind::Chat, damaged, Delivery::Whole, IDLE).await;
    assert_eq!(failed.to_string(), "the answer is broken: a chunk of the stream is not valid JSON");
}

#[tokio::test]
async fn a_failure_after_the_answer_is_ignored() {
    let chat = regular_stream(CHAT);
    let finished = chat.iter().position(|event| event.contains("\"stop\"")).unwrap() + 1;
    let without_done = &chat[..chat.len() - 1];
    let done = [&chat[..finished - 1], &chat[chat.len() - 1..]].concat();
    for (name, api, pieces, end, tokens) in [
        ("no [DONE]", ApiKind::Chat, without_done.to_vec(), Delivery::Whole, because().tokens),
        ("cut before [DONE]", ApiKind::Chat, without_done.to_vec(), Delivery::Cut, because().tokens),
        ("cut before the usage", ApiKind::Chat, chat[..finished].to_vec(), Delivery::Cut, None),
        ("[DONE] without a finish reason", ApiKind::Chat, done, Delivery::Whole, None),
        ("silence after [DONE]", ApiKind::Chat, chat.clone(), Delivery::Silent, because().tokens),
        ("silence after the answer", ApiKind::Responses, regular_stream(RESPONSES), Delivery::Silent, because().tokens),
    ] {
        let (reply, _) = followed(api, answer_events(pieces, end), IDLE).await;
        assert_eq!(reply, Ok(Reply { tokens, ..because() }), "{name}");
    }
}

#[tokio::test]
async fn a_silent_stream_is_broken_and_a_comment_is_no_silence() {
    let idle = Duration::from_millis(250);
    let beginning = vec![regular_stream(CHAT)[1].clone()];
    let (failed, heard) = failed(ApiKind::Chat, beginning.clone(), Delivery::Silent, idle).await;
    assert_eq!(failed.to_string(), "the answer is broken: the stream was idle for 250ms");
    assert_eq!((failed.error.is_transient(), heard.as_str()), (true, "Beca"));
    // Until the first token the caller limits the time, since servers process long prompts silently. A role is not a
    // token.
    let first = vec![regular_stream(CHAT)[0].clone()];
    for (api, beginning) in [(ApiKind::Responses, Vec::new()), (ApiKind::Chat, first)] {
        let answer = answer_events(beginning, Delivery::Silent);
        let server = Server::with(move |_| answer.clone());
        let client = streaming(&server, api);
        assert!(tokio::time::timeout(2 * idle, follow(&client, &request(), idle)).await.is_err(), "{api:?}");
    }
    // 200 comments take at least 400 ms, longer than the limit.
    let comments = vec![": thinking\n\n".to_owned(); 200];
    let stream = answer_events([comments, regular_stream(CHAT)].concat(), Delivery::Whole);
    assert_eq!(followed(ApiKind::Chat, stream, idle).await.0, Ok(because()));
}

#[tokio::test]
async fn comments_after_the_end_of_an_answer_do_not_hold_the_call() {
    let chat = regular_stream(CHAT);
    let finished = chat.iter().position(|event| event.contains("\"stop\"")).unwrap() + 1;
    // 2,000 comments take at least 4 s.
    let pieces = [chat[..finished].to_vec(), vec![": ping\n\n".to_owned(); 2000]].concat();
    let stream = answer_events(pieces, Delivery::Silent);
    let answered = followed(ApiKind::Chat, stream, Duration::from_millis(250));
    let (reply, _) = tokio::time::timeout(Duration::from_secs(3), answered).await.unwrap();
    assert_eq!(reply, Ok(Reply { tokens: None, ..because() }));
}

#[tokio::test]
async fn an_error_ends_a_stream_at_once() {
    for (api, path) in APIS {
        let pieces = [&regular_stream(path)[..1], &["event: error\ndata: {\"code\": 500}\n\n".to_owned()]].concat();
        let (failed, _) = failed(api, pieces, Delivery::Silent, IDLE).await;
        assert_eq!(failed.to_string(), "the server failed (500): 500", "{api:?}");
    }
}

#[tokio::test]
async fn a_model_that_streams_without_figures_is_asked_for_whole_answers() {
    let server = Server::with(|seen| {
        if seen.body.get("stream").is_none() {
            return regular(&seen.path);
        }
        let usage = seen.body["model"] == "m-2";
        let stream = regular_stream(&seen.path).into_iter();
        answer_events(stream.filter(|event| usage || !event.contains("total_tokens")), Delivery::Whole)
    });
    let client = streaming(&server, ApiKind::Chat);
    for (model, is_streamed) in [("m-1", true), ("m-1", false), ("m-2", true)] {
        assert_eq!(follow(&client, &request_for(model), IDLE).await.0.unwrap().text, "Because.");
        let sent = server.requests().last().unwrap().body.clone();
        assert_eq!((sent.get("stream").is_some(), sent.get("stream_options").is_some()), (is_streamed, is_streamed));
    }
}

/// The result of a text from either API, as a whole and streamed in pieces of several characters, and what is heard of
/// the stream.
async fn all_ways(text: &str) -> Vec<(Result<Reply, ModelError>, Option<String>)> {
    let mut ways = Vec::new();
    for (api, path) in APIS {
        let mut answer = if path == RESPONSES { responses_answer() } else { chat_answer() };
        let place = if path == RESPONSES { "/output/0/content/0/text" } else { "/choices/0/message/content" };
        *answer.pointer_mut(place).unwrap() = json!(text);
        ways.push((read(api, answer_json(200, &answer)).await, None));
        for size in [1, 5, 1000] {
            let chars: Vec<char> = text.chars().collect();
            let mut pieces: Vec<Value> = chars
                .chunks(size)
                .map(|piece| match path {
                    RESPONSES => json!({"type": "response.output_text.delta", "delta": String::from_iter(piece)}),
                    _ => json!({"choices": [{"delta": {"content": String::from_iter(piece)}}]}),
                })
                .collect();
            pieces.push(if path == RESPONSES {
                json!({"type": "response.completed", "response": answer})
            } else {
                json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "model": "m-1-2025", "usage": answer["usage"]})
            });
            let stream = answer_events([events(&pieces).concat()], Delivery::Whole);
            let server = Server::with(move |_| stream.clone());
            let (reply, heard) = follow(&client(&server, api), &request(), IDLE).await;
            ways.push((reply.map_err(|failed| failed.error), Some(heard.concat())));
        }
    }
    ways
}

#[tokio::test]
async fn an_end_of_reasoning_alone_is_seen_and_remembered() {
    let text = "Perhaps A.\n</think>\n\nB.";
    for (reply, _) in all_ways(text).await {
        assert_eq!(reply.unwrap().text, "B.");
    }
    let stream = events(&[
        json!({"choices": [{"delta": {"content": "Perhaps A.\n</think>\n\n"}}]}),
        json!({"choices": [{"delta": {"content": "B."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 9}}),
    ]);
    let server = Server::with(move |_| answer_events(stream.clone(), Delivery::Whole));
    let client = client(&server, ApiKind::Chat);
    for model in ["m-1", "m-1", "deepseek-r1-distill"] {
        let is_new = model == "m-1" && server.requests().is_empty();
        let (reply, heard) = follow(&client, &request_for(model), IDLE).await;
        assert_eq!(reply.unwrap().text, "B.");
        // Nothing is known yet about the first answer of a model.
        assert_eq!(heard.concat() == "B.", !is_new, "{model}");
    }
}

#[tokio::test]
async fn reasoning_alone_is_no_text_and_a_sign_of_life() {
    for (reply, heard) in all_ways("<think>Perhaps").await {
        assert!(matches!(reply, Err(ModelError::Unusable { .. })), "{reply:?}");
        assert!(heard.is_none_or(|heard| heard.is_empty()));
    }
    let thoughts = [json!({"choices": [{"delta": {"content": "<think>Per"}}]})];
    let stream = events(&thoughts);
    let server = Server::with(move |_| answer_events(stream.clone(), Delivery::Whole));
    let (_, heard) = follow(&client(&server, ApiKind::Chat), &request(), IDLE).await;
    assert_eq!(heard, [""], "tokens come in, though none that are shown");
}

#[tokio::test]
async fn reasoning_among_the_parts_of_a_stream_is_a_sign_of_life() {
    let chunk = |content: Value| json!({"choices": [{"delta": {"content": content}}]});
    let thought = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]);
    let answer =
        json!({"choices": [{"delta": {"content": [{"type": "text", "text": "B."}]}, "finish_reason": "stop"}]});
    // The second model's answers usually start with reasoning, so their beginning is held back until that ends.
    for model in ["magistral-medium", "m-1-thinking"] {
        let stream = events(&[chunk(thought.clone()), chunk(thought.clone()), answer.clone()]);
        let server = Server::with(move |_| answer_events(stream.clone(), Delivery::Whole));
        let (reply, heard) = follow(&client(&server, ApiKind::Chat), &request_for(model), IDLE).await;
        assert_eq!(reply.unwrap().text, "B.");
        assert_eq!(heard, ["", "", "B."], "{model}");
    }
    // Usage from the middle of the reasoning is not final.
    let early =
        json!({"choices": [{"delta": {"content": "A"}}], "usage": {"prompt_tokens": 12, "completion_tokens": 1}});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let stream = answer_events(events(&[early, chunk(thought), end]), Delivery::Whole);
    assert_eq!(read(ApiKind::Chat, stream).await.unwrap().tokens, None);
}

#[tokio::test]
async fn what_is_no_text_is_replaced() {
    let chat = |content: &str| {
        format!(r#"{{"choices": [{{"message": {{"content": "{content}"}}, "finish_reason": "stop"}}]}}"#)
    };
    let responses = |text: &str| {
        format!(
            r#"{{"status": "completed", "output": [{{"content": [{{"type": "output_text", "text": "{text}"}}]}}]}}"#
        )
    };
    for (said, text) in [(&b"a\xffb"[..], "a\u{fffd}b"), (br"a\ud800b", "a\u{fffd}b"), (br"\ud83d\ude00", "😀")] {
        for (api, body) in [(ApiKind::Chat, chat("@")), (ApiKind::Responses, responses("@"))] {
            let (before, behind) = body.split_once('@').unwrap();
            for mark in [&b""[..], b"\xef\xbb\xbf"] {
                let body = [mark, before.as_bytes(), said, behind.as_bytes()].concat();
                let reply = read(api, answer_text(200, body).header("content-type", "application/json")).await;
                assert_eq!(reply.unwrap().text, text);
            }
        }
        for (api, event) in [
            (ApiKind::Chat, r#"data: {"choices": [{"delta": {"content": "@"}}]}"#),
            (ApiKind::Responses, r#"data: {"type": "response.output_text.delta", "delta": "@"}"#),
        ] {
            let (before, behind) = event.split_once('@').unwrap();
            let end = match api {
                ApiKind::Chat => json!({"choices": [{"finish_reason": "stop"}]}),
                _ => json!({"type": "response.completed"}),
            };
            let bytes = [b"\xef\xbb\xbf", before.as_bytes(), said, behind.as_bytes(), b"\n\n"].concat();
            let mut pieces: Vec<Vec<u8>> = bytes.chunks(3).map(<[u8]>::to_vec).collect();
            pieces.push(events(&[end]).concat().into_bytes());
            assert_eq!(read(api, answer_events(pieces, Delivery::Whole)).await.unwrap().text, text, "{event}");
        }
    }
    assert_eq!(
        read(ApiKind::Chat, answer_text(200, "\u{feff}".to_owned() + &chat("\\ufeffA."))).await.unwrap().text,
        "A."
    );
    // A surrogate pair with each half in its own event.
    let halves = [r"a\ud83d", r"\ude00b"]
        .map(|half| format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"{half}\"}}}}]}}\n\n"));
    let stream = [halves.concat(), events(&[json!({"choices": [{"finish_reason": "stop"}]})]).concat()];
    assert_eq!(read(ApiKind::Chat, answer_events(stream, Delivery::Whole)).await.unwrap().text, "a😀b");
}

#[tokio::test]
async fn as_many_tokens_as_were_allowed_are_a_cut() {
    for (api, path) in APIS {
        for (limit, finish) in [(3, FinishReason::Length), (4, FinishReason::Complete)] {
            for answer in [regular(path), answer_events(regular_stream(path), Delivery::Whole)] {
                let server = Server::with(move |_| answer.clone());
                let limited = Request { max_tokens: Some(limit), ..request() };
                let reply = complete(&client(&server, api), &limited).await;
                assert_eq!(reply, Ok(Reply { finish, ..because() }), "{api:?} {limit}");
            }
        }
    }
    // A tool call that ends there is complete.
    let call = json!({"id": "c", "function": {"name": "read", "arguments": "{}"}});
    let answer = json!({
        "choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 3},
    });
    let server = Server::with(move |_| answer_json(200, &answer));
    let limited = Request { max_tokens: Some(3), ..request() };
    assert_eq!(complete(&client(&server, ApiKind::Chat), &limited).await.unwrap().finish, FinishReason::Complete);
}

#[tokio::test]
async fn a_stream_that_broke_before_its_figures_says_nothing_about_the_next() {
    let stream = regular_stream(CHAT);
    let finished = stream.iter().position(|event| event.contains("\"stop\"")).unwrap() + 1;
    let broken = answer_events(stream[..finished].to_vec(), Delivery::Cut);
    let server = Server::with(move |_| broken.clone());
    let client = streaming(&server, ApiKind::Chat);
    for _ in 0..3 {
        assert_eq!(complete(&client, &request()).await, Ok(Reply { tokens: None, ..because() }));
    }
    let streams: Vec<Value> = server.requests().iter().map(|seen| seen.body["stream"].clone()).collect();
    assert_eq!(streams, [true, true, true]);
}
