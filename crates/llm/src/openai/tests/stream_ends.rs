//! Streams that end as they should not, and servers that want none.

use super::*;

async fn failed(api: ApiKind, pieces: Vec<String>, end: Delivery, idle_timeout: Duration) -> (FailedAttempt, String) {
    let answer = answer_events(pieces, end);
    let server = Server::with(move |_| answer.clone());
    let (result, heard) = follow(&streaming(&server, api), &request(), idle_timeout).await;
    assert_eq!(server.paths().len(), 1, "there is no second request");
    (result.unwrap_err(), heard.concat())
}

#[tokio::test]
async fn a_stream_without_an_end_is_broken() {
    for (api, path) in [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)] {
        let stream = regular_stream(path);
        // Everything up to the last words, and nothing that says that they are the last.
        let open = stream.iter().position(|event| event.contains("use.")).unwrap() + 1;
        for end in [Delivery::Whole, Delivery::Cut] {
            let (failed, heard) = failed(api, stream[..open].to_vec(), end, IDLE).await;
            let ModelError::Broken { message } = &failed.error else { panic!("{failed:?}") };
            let expected =
                if end == Delivery::Cut { "it was interrupted: " } else { "the stream ended before the answer did" };
            assert!(message.starts_with(expected), "{message}");
            assert!(failed.error.is_transient());
            assert_eq!(heard, "Because.");
        }
        // An event that is cut in two.
        let cut = vec![stream.concat().split_at(stream[..open].concat().len() - 20).0.to_owned()];
        let (cut, heard) = self::failed(api, cut, Delivery::Whole, IDLE).await;
        assert_eq!(cut.to_string(), "the answer is broken: the stream ended before the answer did");
        assert_eq!(heard, "Beca");
    }
    // No end, though every chunk has a word for one.
    let open = events(&[json!({"choices": [{"delta": {"content": "Beca"}, "finish_reason": "null"}]})]);
    let (open, heard) = failed(ApiKind::Chat, open, Delivery::Whole, IDLE).await;
    assert_eq!(
        (open.to_string().as_str(), heard.as_str()),
        ("the answer is broken: the stream ended before the answer did", "Beca")
    );
    let damaged = vec!["data: {\"choices\": [{\"del\n\n".to_owned(), regular_stream(CHAT).concat()];
    let (failed, _) = failed(ApiKind::Chat, damaged, Delivery::Whole, IDLE).await;
    assert_eq!(failed.to_string(), "the answer is broken: a chunk of the stream is not JSON");
}

#[tokio::test]
async fn what_comes_behind_the_end_of_an_answer_breaks_nothing() {
    let chat = regular_stream(CHAT);
    let finished = chat.iter().position(|event| event.contains("\"stop\"")).unwrap() + 1;
    let without_done = &chat[..chat.len() - 1];
    let done = [&chat[..finished - 1], &chat[chat.len() - 1..]].concat();
    for (name, api, pieces, end, tokens) in [
        ("no mark", ApiKind::Chat, without_done.to_vec(), Delivery::Whole, because().tokens),
        ("a break before the mark", ApiKind::Chat, without_done.to_vec(), Delivery::Cut, because().tokens),
        ("a break before the usage", ApiKind::Chat, chat[..finished].to_vec(), Delivery::Cut, None),
        ("the mark alone", ApiKind::Chat, done, Delivery::Whole, None),
        ("silence behind the mark", ApiKind::Chat, chat.clone(), Delivery::Silent, because().tokens),
        (
            "silence behind the answer",
            ApiKind::Responses,
            regular_stream(RESPONSES),
            Delivery::Silent,
            because().tokens,
        ),
    ] {
        let server = Server::with(move |_| answer_events(pieces.clone(), end));
        let (reply, _) = follow(&streaming(&server, api), &request(), IDLE).await;
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
    // Until the first token it is the caller who waits: servers read a long prompt in silence. A role is no token.
    let first = vec![regular_stream(CHAT)[0].clone()];
    for (api, beginning) in [(ApiKind::Responses, Vec::new()), (ApiKind::Chat, first)] {
        let answer = answer_events(beginning, Delivery::Silent);
        let server = Server::with(move |_| answer.clone());
        let client = streaming(&server, api);
        assert!(tokio::time::timeout(4 * idle, follow(&client, &request(), idle)).await.is_err(), "{api:?}");
    }
    // 200 comments take 400 ms and more: together longer than the limit.
    let comments = vec![": thinking\n\n".to_owned(); 200];
    let pieces = [comments, regular_stream(CHAT)].concat();
    let server = Server::with(move |_| answer_events(pieces.clone(), Delivery::Whole));
    assert_eq!(follow(&streaming(&server, ApiKind::Chat), &request(), idle).await.0, Ok(because()));
}

#[tokio::test]
async fn comments_after_the_end_of_an_answer_do_not_hold_the_call() {
    let chat = regular_stream(CHAT);
    let finished = chat.iter().position(|event| event.contains("\"stop\"")).unwrap() + 1;
    // 2,000 comments take 4 s and more.
    let pieces = [chat[..finished].to_vec(), vec![": ping\n\n".to_owned(); 2000]].concat();
    let server = Server::with(move |_| answer_events(pieces.clone(), Delivery::Silent));
    let (client, request) = (streaming(&server, ApiKind::Chat), request());
    let answered = follow(&client, &request, Duration::from_millis(250));
    let (reply, _) = tokio::time::timeout(Duration::from_secs(3), answered).await.unwrap();
    assert_eq!(reply, Ok(Reply { tokens: None, ..because() }));
}

/// Asks three times a server that answers as told, and says of each request whether it wanted a stream and figures.
async fn wishes(
    api: ApiKind,
    answer: impl Fn(&Value, &str) -> HttpAnswer + Send + Sync + 'static,
) -> Vec<(bool, bool)> {
    let server = Server::with(move |seen| answer(&seen.body, &seen.path));
    let client = streaming(&server, api);
    for model in ["m-1", "m-1", "m-2"] {
        let reply = follow(&client, &request_for(model), IDLE).await.0.unwrap();
        assert_eq!(reply.text, "Because.");
    }
    let wish = |seen: &Arc<Incoming>| (seen.body.get("stream").is_some(), seen.body.get("stream_options").is_some());
    server.requests().iter().map(wish).collect()
}

#[tokio::test]
async fn a_stream_that_is_refused_is_not_wished_for_again() {
    let refusals: [fn() -> HttpAnswer; 4] = [
        || {
            let message = "Your organization must be verified to stream this model.";
            answer_json(
                400,
                &json!({"error": {"message": message, "type": "invalid_request_error", "param": "stream", "code": "unsupported_value"}}),
            )
        },
        || answer_json(400, &json!({"error": "streaming is not supported"})),
        || answer_json(422, &json!({"detail": [{"loc": ["body", "stream"], "msg": "Extra inputs are not permitted"}]})),
        || answer_text(400, "stream=true is not available for this model"),
    ];
    for refusal in refusals {
        for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
            let sent = wishes(api, move |body, path| {
                let picky = body["model"] == "m-1" && body.get("stream").is_some();
                if picky {
                    refusal()
                } else if body.get("stream").is_some() {
                    answer_events(regular_stream(path), Delivery::Whole)
                } else {
                    regular(path)
                }
            })
            .await;
            let streams: Vec<bool> = sent.into_iter().map(|(stream, _)| stream).collect();
            assert_eq!(streams, [true, false, false, true], "{api:?} {:?}", refusal());
        }
    }
}

#[tokio::test]
async fn figures_that_may_not_be_asked_for_are_not_asked_for_again() {
    let sent = wishes(ApiKind::Chat, |body, path| {
        if body["model"] == "m-1" && body.get("stream_options").is_some() {
            let message = "Unrecognized request argument supplied: stream_options";
            return answer_json(400, &json!({"error": {"message": message, "type": "invalid_request_error"}}));
        }
        answer_events(regular_stream(path), Delivery::Whole)
    })
    .await;
    assert_eq!(sent, [(true, true), (true, false), (true, false), (true, true)]);
}

#[tokio::test]
async fn a_model_that_streams_without_figures_is_asked_for_whole_answers() {
    let sent = wishes(ApiKind::Chat, |body, path| {
        if body.get("stream").is_none() {
            return regular(path);
        }
        let usage = body["model"] == "m-2";
        let stream = regular_stream(path).into_iter().filter(move |event| usage || !event.contains("total_tokens"));
        answer_events(stream, Delivery::Whole)
    })
    .await;
    assert_eq!(sent, [(true, true), (false, false), (true, true)]);
}

#[tokio::test]
async fn an_error_ends_a_stream_at_once() {
    for (api, path) in [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)] {
        let pieces = [&regular_stream(path)[..1], &["event: error\ndata: {\"code\": 500}\n\n".to_owned()]].concat();
        let (failed, _) = failed(api, pieces, Delivery::Silent, IDLE).await;
        assert_eq!(failed.to_string(), "the server failed (500): 500", "{api:?}");
    }
}
