//! Which API serves a model, and what it does not take: found out once, and cheaply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::server::{Seen, Server, answer, error, good, ready};
use super::{SCORE, ask, client_of, request};
use crate::debate::ApiKind;
use crate::llm::ModelError;

type Refuse = fn() -> Response;

/// A server that answers `/responses` with `refusal` and serves Chat Completions.
async fn without_responses(refusal: Refuse) -> Server {
    Server::start(move |seen| ready(if seen.path.ends_with("/responses") { refusal() } else { good(&seen.path) })).await
}

fn count(server: &Server, path: &str) -> usize {
    server.paths().iter().filter(|seen| *seen == path).count()
}

#[tokio::test]
async fn each_way_of_lacking_the_responses_api_leads_to_chat() {
    let ways: [Refuse; 9] = [
        || answer(404, &[], "404 page not found"),
        || answer(404, &[], r#"{"detail":"Not Found"}"#),
        || answer(404, &[], ""),
        || error(404, "Invalid URL (POST /v1/responses)", None, None),
        || error(404, "The model m is not supported by /v1/responses", Some("unsupported"), Some("model")),
        || answer(405, &[], r#"{"detail":"Method Not Allowed"}"#),
        || answer(501, &[], "not implemented"),
        || error(400, "The Responses API is not supported for this model", None, None),
        || answer(200, &[], r#"{"error":{"message":"no such page","code":404}}"#),
    ];
    for (way, refusal) in ways.into_iter().enumerate() {
        let server = without_responses(refusal).await;
        let client = client_of("local", &server.url, ApiKind::Auto);
        for _ in 0..2 {
            assert_eq!(ask(&client, &request("m")).await.unwrap().text, "from chat", "way {way}");
        }
        assert_eq!(server.paths(), ["/responses", "/chat/completions", "/chat/completions"], "way {way}");
    }
}

#[tokio::test]
async fn a_missing_model_is_not_a_missing_api() {
    let ways: [Refuse; 4] = [
        || error(404, "The model `m` does not exist or you do not have access to it.", Some("model_not_found"), None),
        || error(404, "model \"m\" not found, try pulling it first", None, None),
        || answer(404, &[], r#"{"object":"error","message":"The model `m` does not exist.","code":404}"#),
        || error(404, "No endpoints found for m.", None, None),
    ];
    for (way, refusal) in ways.into_iter().enumerate() {
        let server = without_responses(refusal).await;
        let failed = ask(&client_of("local", &server.url, ApiKind::Auto), &request("m")).await.unwrap_err();
        assert!(matches!(failed, ModelError::Refused { status: 404, .. }), "way {way}: {failed:?}");
        assert_eq!(server.paths(), ["/responses"], "way {way}");
    }
}

#[tokio::test]
async fn other_errors_are_not_paid_twice() {
    for status in [400, 401, 403, 422, 429, 500, 502, 503] {
        let server = Server::constant(status, r#"{"error":{"message":"no"}}"#).await;
        ask(&client_of("local", &server.url, ApiKind::Auto), &request("m")).await.unwrap_err();
        assert_eq!(server.paths(), ["/responses"], "{status}");
    }
}

#[tokio::test]
async fn what_the_user_fixed_is_not_second_guessed() {
    let server = without_responses(|| answer(404, &[], "404 page not found")).await;
    let failed = ask(&client_of("local", &server.url, ApiKind::Responses), &request("m")).await.unwrap_err();
    assert!(matches!(failed, ModelError::Refused { status: 404, .. }));
    assert_eq!(server.paths(), ["/responses"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_first_calls_at_once_are_refused_once_for_each_model() {
    let server = without_responses(|| answer(404, &[], "404 page not found")).await;
    let mut client = client_of("local", &server.url, ApiKind::Auto);
    // A machine under load must not decide the test.
    client.finding_wait = Duration::from_secs(10);
    let client = Arc::new(client);
    let calls = (0..8).map(|call| {
        let client = Arc::clone(&client);
        tokio::spawn(async move { ask(&client, &request(if call % 2 == 0 { "even" } else { "odd" })).await })
    });
    for reply in join_all(calls).await {
        assert_eq!(reply.unwrap().unwrap().text, "from chat");
    }
    assert_eq!(count(&server, "/responses"), 2);
    assert_eq!(count(&server, "/chat/completions"), 8);
}

#[tokio::test]
async fn a_slow_first_answer_holds_nobody_up() {
    let slow = Duration::from_millis(800);
    let server = Server::start(move |seen: Seen| {
        Box::pin(async move {
            tokio::time::sleep(slow).await;
            good(&seen.path)
        })
    })
    .await;
    let client = client_of("local", &server.url, ApiKind::Auto);
    let started = Instant::now();
    let model = request("m");
    let replies = join_all((0..8).map(|_| ask(&client, &model))).await;
    assert!(replies.into_iter().all(|reply| reply.unwrap().text == "from responses"));
    // One after the other, or the others after the first, would take twice as long at least.
    assert!(started.elapsed() < 2 * slow, "{:?}", started.elapsed());
    assert_eq!(count(&server, "/responses"), 8);
}

#[tokio::test]
async fn a_slow_answer_in_chat_holds_nobody_up_either() {
    let slow = Duration::from_millis(800);
    let server = Server::start(move |seen: Seen| {
        Box::pin(async move {
            if seen.path.ends_with("/responses") {
                return answer(404, &[], "");
            }
            tokio::time::sleep(slow).await;
            good(&seen.path)
        })
    })
    .await;
    let mut client = client_of("local", &server.url, ApiKind::Auto);
    client.finding_wait = Duration::from_secs(10);
    let started = Instant::now();
    let model = request("m");
    join_all((0..4).map(|_| ask(&client, &model))).await.into_iter().for_each(|reply| drop(reply.unwrap()));
    assert!(started.elapsed() < 2 * slow, "{:?}", started.elapsed());
    assert_eq!(count(&server, "/responses"), 1);
}

#[tokio::test]
async fn a_first_call_that_fails_or_is_given_up_leaves_the_finding_to_the_next() {
    let server = Server::start(|seen: Seen| {
        Box::pin(async move {
            match seen.body["input"].as_str() {
                Some("hang") => std::future::pending().await,
                Some("fail") => error(500, "no", None, None),
                Some(_) => answer(404, &[], ""),
                None => good(&seen.path),
            }
        })
    })
    .await;
    let client = client_of("local", &server.url, ApiKind::Auto);
    for first in ["hang", "fail"] {
        let mut bad = request("m");
        bad.prompt = Arc::from(first);
        let _ = tokio::time::timeout(Duration::from_millis(100), ask(&client, &bad)).await;
    }
    assert_eq!(ask(&client, &request("m")).await.unwrap().text, "from chat");
    assert_eq!(count(&server, "/responses"), 3);
}

/// A server that refuses requests that have `field` and serves the rest.
async fn refusing(field: &'static str, refusal: Refuse) -> Server {
    Server::start(move |seen| ready(if seen.body.pointer(field).is_some() { refusal() } else { good(&seen.path) }))
        .await
}

#[tokio::test]
async fn structured_output_that_a_model_lacks_is_left_out_from_then_on() {
    let ways: [(ApiKind, &str, Refuse); 5] = [
        (ApiKind::Chat, "/response_format", || {
            error(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported", None, None)
        }),
        (ApiKind::Chat, "/response_format", || error(400, "Unsupported", None, Some("response_format"))),
        (ApiKind::Chat, "/response_format", || {
            answer(
                422,
                &[],
                r#"{"detail":[{"loc":["body","response_format"],"msg":"Extra inputs are not permitted"}]}"#,
            )
        }),
        (ApiKind::Responses, "/text", || error(400, "Invalid value", None, Some("text.format"))),
        (ApiKind::Auto, "/text", || error(400, "json_schema is not supported", None, None)),
    ];
    for (way, (api, field, refusal)) in ways.into_iter().enumerate() {
        let server = refusing(field, refusal).await;
        let client = client_of("local", &server.url, api);
        let mut asked = request("m");
        asked.answer = Some(&SCORE);
        for _ in 0..2 {
            ask(&client, &asked).await.unwrap();
        }
        let with_format: Vec<bool> = server.seen().iter().map(|seen| seen.body.pointer(field).is_some()).collect();
        assert_eq!(with_format, [true, false, false], "way {way}");
    }
}

#[tokio::test]
async fn a_temperature_that_a_model_does_not_take_is_left_out_from_then_on() {
    let server = refusing("/temperature", || {
        error(
            400,
            "Unsupported value: 'temperature' does not support 0.7 with this model.",
            Some("unsupported_value"),
            Some("temperature"),
        )
    })
    .await;
    let client = client_of("openai", &server.url, ApiKind::Auto);
    for _ in 0..2 {
        assert_eq!(ask(&client, &request("o3")).await.unwrap().text, "from responses");
    }
    let temperatures: Vec<Value> = server.seen().iter().map(|seen| seen.body["temperature"].clone()).collect();
    assert_eq!(temperatures, [json!(0.7), Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_temperature_out_of_range_is_for_the_user_to_correct() {
    let server = Server::constant(400, r#"{"error":{"message":"temperature: range: 0..1","type":"x"}}"#).await;
    let failed = ask(&client_of("anthropic", &server.url, ApiKind::Chat), &request("m")).await.unwrap_err();
    assert_eq!(failed, ModelError::Refused { status: 400, message: "temperature: range: 0..1".to_owned() });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_name_of_the_output_limit_is_learned() {
    let server = refusing("/max_tokens", || {
        error(
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            None,
            Some("max_tokens"),
        )
    })
    .await;
    let client = client_of("local", &server.url, ApiKind::Chat);
    let mut asked = request("o3");
    asked.max_tokens = Some(64);
    for _ in 0..2 {
        ask(&client, &asked).await.unwrap();
    }
    let limits: Vec<Value> = server.seen().iter().map(|seen| seen.body["max_completion_tokens"].clone()).collect();
    assert_eq!(limits, [Value::Null, json!(64), json!(64)]);
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_asked_a_handful_of_times() {
    let body = r#"{"error":{"message":"unsupported: /responses response_format temperature max_tokens max_completion_tokens"}}"#;
    let server = Server::constant(400, body).await;
    let mut asked = request("m");
    asked.max_tokens = Some(1);
    asked.answer = Some(&SCORE);
    let client = client_of("local", &server.url, ApiKind::Auto);
    let failed = tokio::time::timeout(Duration::from_secs(5), ask(&client, &asked));
    assert!(matches!(failed.await.unwrap(), Err(ModelError::Refused { status: 400, .. })));
    assert!(server.seen().len() <= 6, "{}", server.seen().len());
}
