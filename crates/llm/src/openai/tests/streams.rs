//! Streams that reach their end, in whatever shape.

use super::*;

const APIS: [(ApiKind, &str); 2] = [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)];

/// What a client makes of a stream, and what is heard of it.
async fn followed(api: ApiKind, answer: HttpAnswer) -> (Result<Reply, FailedAttempt>, Vec<String>) {
    let server = Server::with(move |_| answer.clone());
    let followed = follow(&streaming(&server, api), &request(), IDLE).await;
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
