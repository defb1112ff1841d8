//! What goes wrong, and what the caller is told.

use std::time::{Duration, SystemTime};

use axum::body::Body;
use futures_util::stream;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::SecretString;

use super::super::failure::retry_after;
use super::server::{Server, answer, error, raw, ready};
use super::{KEY, ask, client_of, quick_http_client, request};
use crate::debate::ApiKind;
use crate::llm::ModelError;
use crate::llm::openai::{Endpoint, OpenAiClient};

async fn failure(status: u16, body: &str) -> ModelError {
    let server = Server::constant(status, body).await;
    ask(&client_of("local", &server.url, ApiKind::Chat), &request("m")).await.unwrap_err()
}

#[tokio::test]
async fn statuses_become_kinds_of_failures() {
    let message = || "no".to_owned();
    for status in [400, 402, 404, 405, 413, 422] {
        assert_eq!(
            failure(status, r#"{"error":{"message":"no"}}"#).await,
            ModelError::Refused { status, message: message() }
        );
    }
    for status in [401, 403] {
        assert_eq!(
            failure(status, r#"{"error":{"message":"no"}}"#).await,
            ModelError::Unauthorized { status, message: message() }
        );
    }
    for status in [408, 409, 425, 500, 502, 503, 504, 529] {
        assert_eq!(
            failure(status, r#"{"error":{"message":"no"}}"#).await,
            ModelError::ServerFailed { status, retry_after: None, message: message() }
        );
    }
    assert_eq!(
        failure(429, r#"{"error":{"message":"no","code":"rate_limit_exceeded"}}"#).await,
        ModelError::RateLimited { retry_after: None, message: message() }
    );
    for body in [
        r#"{"error":{"message":"no","code":"insufficient_quota"}}"#,
        r#"{"error":{"message":"no","type":"insufficient_quota","code":null}}"#,
    ] {
        assert_eq!(failure(429, body).await, ModelError::Refused { status: 429, message: message() });
    }
}

#[tokio::test]
async fn messages_are_found_in_whatever_shape_they_come() {
    for (body, expected) in [
        (r#"{"error":{"message":"no such thing"}}"#, "no such thing"),
        (r#"{"error":{"message":"no","code":400,"type":7,"param":null}}"#, "no"),
        (r#"{"error":"no such thing"}"#, "no such thing"),
        (r#"{"message":"no such thing"}"#, "no such thing"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"detail":[{"loc":["body"],"msg":"bad"}]}"#, r#"[{"loc":["body"],"msg":"bad"}]"#),
        (r#"[{"error":{"code":400,"message":"API key not valid"}}]"#, "API key not valid"),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"too hot"}}}"#,
            "Provider returned error: too hot",
        ),
        (r#"{"object":"error","message":{"detail":"bad"}}"#, r#"{"detail":"bad"}"#),
        ("plain\n  words", "plain words"),
        ("a < b", "a < b"),
        ("\u{1b}[31mred\u{7}", "[31mred"),
        (
            "<html><head><style>p{}</style><title>Bad Gateway</title></head><body><h1>502</h1></body></html>",
            "Bad Gateway 502",
        ),
        ("", "bad request"),
        ("{}", "{}"),
    ] {
        let failed = failure(400, body).await;
        assert_eq!(failed, ModelError::Refused { status: 400, message: expected.to_owned() }, "{body}");
    }
    let ModelError::Refused { message, .. } = failure(400, &"é".repeat(5000)).await else { panic!() };
    assert_eq!(message.chars().count(), 201);
}

#[tokio::test]
async fn an_error_inside_a_good_answer_is_an_error() {
    for (api, body, kind) in [
        (ApiKind::Chat, r#"{"error":{"message":"slow down","code":429}}"#, "rate"),
        (ApiKind::Chat, r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#, "rate"),
        (ApiKind::Chat, r#"{"error":{"message":"x","code":"502"}}"#, "server 502"),
        (ApiKind::Chat, r#"{"error":{"message":"x","code":400}}"#, "refused 400"),
        (ApiKind::Chat, r#"{"error":"something"}"#, "server 200"),
        (
            ApiKind::Chat,
            r#"{"choices":[{"error":{"message":"x","code":503},"finish_reason":"error","message":{"content":""}}]}"#,
            "server 503",
        ),
        (
            ApiKind::Responses,
            r#"{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}"#,
            "server 500",
        ),
        (ApiKind::Responses, r#"{"status":"failed","error":null,"output":[]}"#, "server 200"),
        (ApiKind::Responses, r#"{"status":"failed","error":{"code":"invalid_prompt","message":"x"}}"#, "refused 400"),
        (ApiKind::Auto, r#"{"error":{"message":"pay first","code":"insufficient_quota"}}"#, "refused 429"),
    ] {
        let server = Server::constant(200, body).await;
        let failed = ask(&client_of("local", &server.url, api), &request("m")).await.unwrap_err();
        let found = match &failed {
            ModelError::RateLimited { .. } => "rate".to_owned(),
            ModelError::ServerFailed { status, .. } => format!("server {status}"),
            ModelError::Refused { status, .. } => format!("refused {status}"),
            other => format!("{other:?}"),
        };
        assert_eq!(found, kind, "{body}");
        assert_eq!(server.seen().len(), 1, "{body}");
    }
}

#[tokio::test]
async fn what_is_not_the_api_is_broken() {
    for (body, expected) in [
        ("<html><body>Welcome</body></html>", "HTML in place of JSON: Welcome"),
        ("", "it has no body"),
        (r#"{"choices":[{"message":{"content":"half"#, "the JSON ends in its middle"),
        ("data: {\"x\":1}\n\n", "an event stream"),
        ("hello", "it is not JSON: hello"),
        ("[]", "it has no `choices`"),
        ("17", "not the API's"),
        ("{}", "it has no `choices`"),
    ] {
        let failed = failure(200, body).await;
        let ModelError::Broken { message } = &failed else { panic!("{body}: {failed:?}") };
        assert!(message.contains(expected), "{body}: {message}");
    }
}

#[tokio::test]
async fn a_cut_or_missing_answer_is_broken_and_may_be_retried() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":["[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cho",
        b"HTTP/1.1 200",
        b"",
    ] {
        let client = client_of("local", &raw(bytes).await, ApiKind::Chat);
        let failed = ask(&client, &request("m")).await.unwrap_err();
        assert!(matches!(failed, ModelError::Broken { .. }), "{failed:?}");
        assert!(failed.is_transient());
    }
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let endless = |status| {
        Server::start(move |_| {
            let chunks = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 16]));
            ready(answer(status, &[], Body::from_stream(chunks)))
        })
    };
    let server = endless(200).await;
    let failed = ask(&client_of("local", &server.url, ApiKind::Chat), &request("m")).await.unwrap_err();
    assert_eq!(failed, ModelError::Broken { message: "it is longer than 8 MiB".to_owned() });
    let server = endless(500).await;
    let failed = ask(&client_of("local", &server.url, ApiKind::Chat), &request("m")).await.unwrap_err();
    assert!(matches!(failed, ModelError::ServerFailed { status: 500, .. }));
    let declared = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{";
    let failed = ask(&client_of("local", &raw(declared).await, ApiKind::Chat), &request("m")).await.unwrap_err();
    assert_eq!(failed, ModelError::Broken { message: "it is longer than 8 MiB".to_owned() });
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = client_of("local", &format!("{origin}/v1?token=geheim"), ApiKind::Auto);
    let failed = ask(&client, &request("m")).await.unwrap_err();
    let ModelError::Unreachable { message } = &failed else { panic!("{failed:?}") };
    assert!(message.contains("refused") && message.contains(&origin), "{message}");
    assert!(!message.contains("geheim") && message.len() < 150, "{message}");

    let client = client_of("local", "http://no-such-host.invalid/v1", ApiKind::Auto);
    let failed = ask(&client, &request("m")).await.unwrap_err();
    assert!(matches!(failed, ModelError::Unreachable { .. }), "{failed:?}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_unreachable() {
    let url = raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.replace("http:", "https:");
    let failed = ask(&client_of("local", &url, ApiKind::Auto), &request("m")).await.unwrap_err();
    assert!(matches!(failed, ModelError::Unreachable { .. }), "{failed:?}");
}

#[tokio::test]
async fn redirects_are_told_not_followed() {
    let server = Server::start(|_| ready(answer(308, &[("location", "https://elsewhere.test/v1?secret=1")], ""))).await;
    let failed = ask(&client_of("local", &server.url, ApiKind::Auto), &request("m")).await.unwrap_err();
    let expected = "it redirects to https://elsewhere.test/v1, which is not followed".to_owned();
    assert_eq!(failed, ModelError::Refused { status: 308, message: expected });
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn retry_after_in_all_its_forms() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let date = "Sun, 06 Nov 1994 08:49:47 GMT";
    for (name, value, expected) in [
        ("retry-after", "2", Some(2_000)),
        ("retry-after", " 0.25 ", Some(250)),
        ("retry-after", "0", Some(0)),
        ("retry-after", date, Some(10_000)),
        ("retry-after", "Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
        ("retry-after-ms", "1500", Some(1_500)),
        ("retry-after", "-3", None),
        ("retry-after", "soon", None),
        ("retry-after", "NaN", None),
        ("retry-after", "1e300", None),
        ("retry-after", "", None),
        ("x-other", "2", None),
    ] {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers, now), expected.map(Duration::from_millis), "{name}: {value}");
    }
}

#[tokio::test]
async fn retry_after_reaches_the_caller() {
    let server = Server::start(|seen| {
        let status = if seen.body["model"] == "limited" { 429 } else { 503 };
        ready(answer(status, &[("retry-after", "7")], "<html>busy</html>"))
    })
    .await;
    let client = client_of("local", &server.url, ApiKind::Auto);
    let seven = Some(Duration::from_secs(7));
    for (model, expected) in [
        ("limited", ModelError::RateLimited { retry_after: seven, message: "busy".to_owned() }),
        ("down", ModelError::ServerFailed { status: 503, retry_after: seven, message: "busy".to_owned() }),
    ] {
        assert_eq!(ask(&client, &request(model)).await.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn the_key_is_in_no_message() {
    let echo = format!("Incorrect API key provided: {KEY}. Header: Bearer {KEY}; also other-secret-value");
    let bodies = [
        (401, error(401, &echo, None, None)),
        (400, answer(400, &[], echo.clone())),
        // The cut must not leave a piece of the key that is too short to be recognised.
        (500, answer(500, &[], format!("{}{KEY}", "x".repeat(190)))),
        (200, answer(200, &[], format!("<p>{echo}</p>"))),
        (200, answer(200, &[], format!(r#"{{"error":"{echo}"}}"#))),
        (200, answer(200, &[], format!(r#"{{"output":[{{"content":[{{"type":"refusal","refusal":"{echo}"}}]}}]}}"#))),
        (302, answer(302, &[("location", &format!("https://h/{KEY}"))], "")),
    ];
    for (status, response) in bodies {
        let response = std::sync::Arc::new(std::sync::Mutex::new(Some(response)));
        let server = Server::start(move |_| ready(response.lock().unwrap().take().unwrap())).await;
        let endpoint = Endpoint {
            name: "local".into(),
            base_url: server.url.clone(),
            api_key: Some(SecretString::from(format!(" {KEY}\n"))),
            headers: vec![("x-other".to_owned(), SecretString::from("other-secret-value"))],
            api: ApiKind::Auto,
        };
        let debug = format!("{endpoint:?}");
        let client = OpenAiClient::new(endpoint, quick_http_client()).unwrap();
        let failed = ask(&client, &request("m")).await.unwrap_err();
        let shown = format!("{debug} {client:?} {failed} {failed:?}");
        assert!(!shown.contains("sk-top") && !shown.contains("other-secret"), "{status}: {shown}");
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let server = Server::constant(200, r#"{"output_text":"ok"}"#).await;
    let endpoint = Endpoint {
        name: "ollama".into(),
        base_url: server.url.clone(),
        api_key: None,
        headers: vec![],
        api: ApiKind::Auto,
    };
    let client = OpenAiClient::new(endpoint, quick_http_client()).unwrap();
    ask(&client, &request("m")).await.unwrap();
    assert!(!server.seen()[0].headers.contains_key("authorization"));
}
