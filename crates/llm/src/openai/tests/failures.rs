//! Failures: each results in one kind of [`ModelError`] with the server's message.

use std::time::SystemTime;

use tokio::net::TcpListener;

use super::*;

const BOTH: [ApiKind; 2] = [ApiKind::Responses, ApiKind::Chat];

/// The error that both APIs derive from an answer.
async fn failure(answer: HttpAnswer) -> ModelError {
    let responses = read(ApiKind::Responses, answer.clone()).await.unwrap_err();
    let chat = read(ApiKind::Chat, answer).await.unwrap_err();
    assert_eq!(responses, chat);
    chat
}

fn error(status: u16, message: &str) -> HttpAnswer {
    answer_json(status, &json!({"error": {"message": message, "type": "x", "param": null, "code": null}}))
}

fn refused(status: u16, message: &str) -> ModelError {
    ModelError::Refused { status, message: message.to_owned() }
}

#[tokio::test]
async fn long_messages_are_cut() {
    let ModelError::Refused { message, .. } = failure(error(400, &"é".repeat(30_000))).await else { panic!() };
    assert_eq!(message.chars().count(), 601);
    // A body of another API, longer than the part that is read.
    let ModelError::ServerFailed { message, .. } = failure(answer_text(500, "wide ".repeat(1 << 18))).await else {
        panic!()
    };
    assert_eq!(message.chars().count(), 201);
    assert_eq!(failure(answer_text(400, vec![0xff, 0xfe, b'!'])).await, refused(400, "\u{fffd}\u{fffd}!"));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_broken() {
    for status in [200, 500] {
        for api in BOTH {
            let failed = read(api, answer_json(status, &chat_answer()).cut()).await.unwrap_err();
            let ModelError::Broken { message } = &failed else { panic!("{failed:?}") };
            assert!(message.starts_with("it was interrupted: "), "{message}");
        }
    }
}

/// An answer without a declared length.
fn chunked(body: &Value) -> HttpAnswer {
    let body = body.to_string().into_bytes();
    HttpAnswer::pieces("application/json", body.chunks(1 << 16).map(<[u8]>::to_vec), Delivery::Whole)
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let mut long = chat_answer();
    long["choices"][0]["message"]["content"] = json!("x".repeat(8 << 20));
    for answer in [answer_json(200, &long), chunked(&long)] {
        let failed = read(ApiKind::Chat, answer).await.unwrap_err();
        assert_eq!(failed, ModelError::Broken { message: "it is longer than 8 MiB".to_owned() });
    }
    let text = "x".repeat((8 << 20) - 1000);
    long["choices"][0]["message"]["content"] = json!(text);
    assert_eq!(read(ApiKind::Chat, chunked(&long)).await.unwrap().text.len(), text.len());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://user:pass-word@127.0.0.1:{port}/v1?key=query-secret");
    let client = OpenAiClient::new(endpoint(&url, ApiKind::Auto), &http_client(None).unwrap()).unwrap();
    let failed = complete(&client, &request()).await.unwrap_err();
    let ModelError::Unreachable { message } = &failed else { panic!("{failed:?}") };
    assert!(message.contains("onnection refused") && message.contains(&format!("127.0.0.1:{port}")), "{message}");
    assert!(!message.contains("pass-word") && !message.contains("query-secret"), "{message}");
}

#[tokio::test]
async fn redirects_are_named_and_not_followed() {
    let elsewhere = Server::with(|seen| regular(&seen.path));
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/chat/completions?token=t", elsewhere.base_url());
        let failed = failure(answer_text(status, "").header("location", &target)).await;
        let shown = target.split('?').next().unwrap();
        assert_eq!(failed, refused(status, &format!("refusing to follow the redirect to {shown}")));
    }
    let relative = failure(answer_text(302, "").header("location", "/login?next=x")).await;
    assert_eq!(relative, refused(302, "refusing to follow the redirect to /login"));
    assert_eq!(elsewhere.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn what_no_model_worked_for_is_free_and_everything_else_may_be_billed() {
    let failed = async |answer: HttpAnswer| {
        let server = Server::with(move |_| answer.clone());
        follow(&client(&server, ApiKind::Chat), &request(), IDLE).await.0.unwrap_err()
    };
    for status in [301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 407, 410, 413, 422, 429, 503, 529] {
        assert!(!failed(error(status, "no")).await.may_be_billed, "{status}");
    }
    for status in [408, 409, 425, 451, 500, 501, 502, 504, 520, 521, 522, 523, 524] {
        assert!(failed(error(status, "no")).await.may_be_billed, "{status}");
    }
    // No code is free of charge once the answer has started.
    for code in [400, 401, 402, 404, 422, 429, 500, 503, 529] {
        let inside = json!({"error": {"code": code, "message": "no"}});
        let stream = answer_events(events(std::slice::from_ref(&inside)), Delivery::Whole);
        let late = answer_events(
            events(&[json!({"choices": [{"delta": {"content": "Yes"}}]}), inside.clone()]),
            Delivery::Whole,
        );
        for answer in [answer_json(200, &inside), stream, late] {
            assert!(failed(answer).await.may_be_billed, "{code}");
        }
    }
    // Stated usage is trusted.
    let usage = json!({"usage": {"prompt_tokens": 7, "completion_tokens": 1}, "error": {"message": "no"}});
    assert_eq!(failed(answer_json(504, &usage)).await.usage.tokens.map(dialectic_base::call::Tokens::total), Some(8));
}

#[tokio::test]
async fn a_wait_may_be_told_by_a_date_from_now_on() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
    let failed = read(ApiKind::Chat, error(429, "slow down").header("retry-after", date)).await.unwrap_err();
    let wait = failed.retry_after().unwrap();
    assert!((Duration::from_mins(1)..=Duration::from_secs(90)).contains(&wait), "{wait:?}");
}
