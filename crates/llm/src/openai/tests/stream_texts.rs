//! What is made of the text and the figures of answers, whole and streamed alike.

use crate::FinishReason;

use super::*;

/// What comes of a text that either API says, as a whole and as a stream in pieces of some characters, and what is
/// heard of the stream.
async fn all_ways(text: &str) -> Vec<(Result<Reply, ModelError>, Option<String>)> {
    let mut ways = Vec::new();
    for (api, path) in [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)] {
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
        // Of the first answer of an unknown model nobody can know.
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
    // The second model's answers usually begin inside reasoning: their beginning is held back until that ends.
    for model in ["magistral-medium", "m-1-thinking"] {
        let stream = events(&[chunk(thought.clone()), chunk(thought.clone()), answer.clone()]);
        let server = Server::with(move |_| answer_events(stream.clone(), Delivery::Whole));
        let (reply, heard) = follow(&client(&server, ApiKind::Chat), &request_for(model), IDLE).await;
        assert_eq!(reply.unwrap().text, "B.");
        assert_eq!(heard, ["", "", "B."], "{model}");
    }
    // Figures from the middle of the reasoning are not those of its end.
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
            let reply = read(api, answer_events(pieces, Delivery::Whole)).await;
            assert_eq!(reply.unwrap().text, text, "{event}");
        }
    }
    assert_eq!(
        read(ApiKind::Chat, answer_text(200, "\u{feff}".to_owned() + &chat("\\ufeffA."))).await.unwrap().text,
        "A."
    );
    // A pair of which each half comes in an event of its own.
    let halves = [r"a\ud83d", r"\ude00b"]
        .map(|half| format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"{half}\"}}}}]}}\n\n"));
    let stream = [halves.concat(), events(&[json!({"choices": [{"finish_reason": "stop"}]})]).concat()];
    assert_eq!(read(ApiKind::Chat, answer_events(stream, Delivery::Whole)).await.unwrap().text, "a😀b");
}

#[tokio::test]
async fn as_many_tokens_as_were_allowed_are_a_cut() {
    for (api, path) in [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)] {
        for (limit, finish) in [(3, FinishReason::Length), (4, FinishReason::Complete)] {
            for answer in [regular(path), answer_events(regular_stream(path), Delivery::Whole)] {
                let server = Server::with(move |_| answer.clone());
                let limited = Request { max_tokens: Some(limit), ..request() };
                let reply = complete(&client(&server, api), &limited).await;
                assert_eq!(reply, Ok(Reply { finish, ..because() }), "{api:?} {limit}");
            }
        }
    }
    // A call of a tool that ends there is whole.
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
