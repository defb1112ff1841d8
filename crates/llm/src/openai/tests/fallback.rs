//! Falls back from the Responses API to Chat Completions if a server has no other, and only then.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use crate::openai::capabilities::PROBE_TIMEOUT;

use super::*;

/// Longer than any delay, even on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// A client that waits this long for the first call to find out the API.
fn waiting(server: &Server, serves_responses: bool, probe_timeout: Duration) -> OpenAiClient {
    let mut client = client(server, ApiKind::Auto);
    (client.known.serves_responses, client.known.probe_timeout) = (serves_responses, probe_timeout);
    client
}

#[tokio::test]
async fn a_server_without_responses_refuses_one_call_only() {
    for refusal in [answer_text(404, "404 page not found"), answer_text(405, "Method Not Allowed")] {
        let said = refusal.clone();
        let server = Server::with(move |seen| if seen.path == RESPONSES { said.clone() } else { regular(CHAT) });
        // On a busy machine a refusal may take longer than calls to a local server wait; other calls then ask the same
        // way as the first.
        let client = waiting(&server, false, LONG);
        // With the same model, and with different ones.
        let requests: Vec<Request> = (0..8).map(|index| request_for(&format!("m-{}", index % 3))).collect();
        let replies = join_all(requests.iter().map(|request| complete(&client, request))).await;
        assert_eq!(replies, vec![Ok(because()); 8], "{refusal:?}");
        assert_eq!((server.count(RESPONSES), server.count(CHAT)), (1, 8), "{refusal:?}");

        complete(&client, &request_for("another")).await.unwrap();
        assert_eq!((server.count(RESPONSES), server.count(CHAT)), (1, 9), "it is remembered: {refusal:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_the_success_of_the_first() {
    let gate = Gate::shut();
    // Answers only after all requests have arrived, so calls that wait for the first would wait forever. Another test
    // checks how long they may wait, with a simulated clock.
    let server = Server::with(move |seen| {
        if seen.index == 7 {
            gate.open();
        }
        regular(&seen.path).held(&gate)
    });
    let client = client(&server, ApiKind::Auto);
    let request = request();
    let replies = join_all((0..8).map(|_| complete(&client, &request)));
    assert_eq!(timeout(LONG, replies).await.expect("the calls overlap"), vec![Ok(because()); 8]);
    assert_eq!((server.count(RESPONSES), server.count(CHAT)), (8, 0));
}

/// A server with this answer for the Responses API and regular Chat Completions.
fn half(answer: HttpAnswer) -> Server {
    Server::with(move |seen| if seen.path == RESPONSES { answer.clone() } else { regular(CHAT) })
}

#[tokio::test]
async fn what_is_not_about_the_request_is_tried_as_chat_once_and_remembered() {
    for answer in [
        answer_json(400, &json!({"error": {"code": 400, "message": "Cannot determine type of 'item'"}})),
        answer_text(200, "<html>Welcome</html>"),
    ] {
        let server = half(answer.clone());
        let client = client(&server, ApiKind::Auto);
        for _ in 0..2 {
            assert!(complete(&client, &request()).await.is_ok(), "{answer:?}");
        }
        assert_eq!(server.paths(), [RESPONSES, CHAT, CHAT], "{answer:?}");
    }
}

#[tokio::test]
async fn a_server_error_is_repeated_before_the_other_api_is_tried() {
    let server = half(answer_text(500, "boom"));
    let client = client(&server, ApiKind::Auto);
    assert!(attempt(&client, "m", 1).await.unwrap_err().error.is_transient());
    assert_eq!(attempt(&client, "m", 2).await, Ok(because()));
    assert_eq!(server.paths(), [RESPONSES, RESPONSES, CHAT]);
}

#[tokio::test]
async fn a_server_that_is_known_to_have_the_api_is_believed() {
    for status in [400, 404, 405, 422, 500, 501] {
        let server = half(answer_text(status, "boom"));
        let client = waiting(&server, true, PROBE_TIMEOUT);
        for _ in 0..3 {
            complete(&client, &request()).await.unwrap_err();
        }
        assert_eq!(server.paths(), [RESPONSES; 3], "{status}");
    }
}

#[tokio::test]
async fn schemas_that_are_not_heeded_go_to_chat() {
    let server = Server::with(|seen| {
        let mut chat = chat_answer();
        chat["choices"][0]["message"]["content"] = json!("{\"score\": 1}");
        let heeded = seen.path == CHAT && seen.body.get("response_format").is_some();
        if heeded { answer_json(200, &chat) } else { regular(&seen.path) }
    });
    let client = client(&server, ApiKind::Auto);
    let wanted = Request { answer: Some(score()), ..request() };
    for request in [&wanted, &wanted, &request(), &wanted] {
        complete(&client, request).await.unwrap();
    }
    assert_eq!(server.paths(), [RESPONSES, CHAT, RESPONSES, CHAT]);
}

#[tokio::test]
async fn a_server_whose_chat_does_no_better_keeps_its_schemas() {
    for (name, chat) in [
        ("another API's answer", answer_json(200, &json!({"object": "health", "ok": true}))),
        ("a failure", answer_text(500, "no such thing")),
        ("no such path", answer_text(404, "404 page not found")),
    ] {
        let chat = std::sync::Mutex::new(chat);
        let server = Server::with(move |seen| match seen.path.as_str() {
            CHAT => chat.lock().unwrap().clone(),
            path => regular(path),
        });
        let client = client(&server, ApiKind::Auto);
        let wanted = Request { answer: Some(score()), ..request() };
        for _ in 0..3 {
            complete(&client, &wanted).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!((server.count(RESPONSES), server.count(CHAT)), (3, 1), "{name}");
    }
}

#[tokio::test]
async fn of_two_failures_the_one_that_may_be_billed_is_told_of() {
    let server = Server::with(|seen| match seen.path.as_str() {
        CHAT => answer_text(500, "oops"),
        _ => answer_json(200, &json!({"object": "health", "ok": true})),
    });
    let error = complete(&client(&server, ApiKind::Auto), &request()).await.unwrap_err();
    assert!(error.may_be_billed(), "{error}");
    assert_eq!(server.paths(), [RESPONSES, CHAT]);
}

/// What LiteLLM says through Chat Completions if its Responses API fails without a reason.
fn too_long() -> HttpAnswer {
    let message = "litellm.ContextWindowExceededError: This model's maximum context length is 8192 tokens.";
    answer_json(400, &json!({"error": {"message": message, "type": "invalid_request_error", "code": "400"}}))
}

#[tokio::test]
async fn of_two_failures_the_one_that_names_the_cause_is_told_of() {
    let server = Server::with(|seen| if seen.path == RESPONSES { answer_text(500, "boom") } else { too_long() });
    let client = client(&server, ApiKind::Auto);
    assert!(attempt(&client, "m", 1).await.unwrap_err().error.is_transient());
    let failed = attempt(&client, "m", 2).await.unwrap_err().error;
    assert!(matches!(failed, ModelError::ContextExceeded { .. }), "{failed}");
    // A shorter request goes to the API that understood this one.
    let before = server.paths().len();
    attempt(&client, "m", 1).await.unwrap_err();
    assert_eq!(server.paths()[before..], [CHAT]);
}

#[tokio::test]
async fn what_is_named_without_a_schema_is_told_of() {
    let server =
        Server::with(|seen| if seen.body.get("response_format").is_some() { answer_text(500, "") } else { too_long() });
    let wanted = Request { answer: Some(score()), ..request() };
    let failed = complete(&client(&server, ApiKind::Chat), &wanted).await.unwrap_err();
    assert!(matches!(failed, ModelError::ContextExceeded { .. }), "{failed}");
}

#[tokio::test]
async fn a_server_that_fails_on_every_stream_is_asked_for_whole_answers() {
    let server = Server::with(|seen| {
        let streams = seen.body["stream"] == true;
        if streams { answer_text(500, "Internal Server Error") } else { regular(&seen.path) }
    });
    for (api, path) in [(ApiKind::Chat, CHAT), (ApiKind::Responses, RESPONSES)] {
        let client = streaming(&server, api);
        let before = server.paths().len();
        for model in ["m-1", "m-2"] {
            assert!(attempt(&client, model, 1).await.unwrap_err().error.is_transient(), "{api:?}");
            assert_eq!(attempt(&client, model, 2).await, Ok(because()), "{api:?}");
        }
        // The finding applies to all models of the server.
        for model in ["m-1", "m-2", "m-3"] {
            assert_eq!(attempt(&client, model, 1).await, Ok(because()), "{api:?}");
        }
        assert_eq!(server.paths()[before..], [path; 9], "{api:?}");
    }
}

/// A single attempt of a call.
async fn attempt(client: &OpenAiClient, model: &str, attempt: u32) -> Result<Reply, FailedAttempt> {
    let heard = Heard::default();
    client.ask(&request_for(model), Live { attempt, ..heard.live(IDLE) }).await
}

#[tokio::test]
async fn a_server_that_has_streamed_is_not_doubted() {
    let server = Server::with(|seen| match seen.index {
        0 => answer_events(regular_stream(CHAT), Delivery::Whole),
        _ => answer_text(500, "boom"),
    });
    let client = streaming(&server, ApiKind::Chat);
    attempt(&client, "m-1", 1).await.unwrap();
    attempt(&client, "m-1", 2).await.unwrap_err();
    assert_eq!(server.count(CHAT), 2);
}

#[tokio::test]
async fn after_a_failed_first_call_the_next_one_finds_out() {
    let server = Server::with(|seen| match seen.path.as_str() {
        RESPONSES if seen.index == 0 => answer_text(503, "starting"),
        RESPONSES => answer_text(404, "404 page not found"),
        _ => regular(CHAT),
    });
    let client = waiting(&server, false, LONG);
    let request = request();
    let replies = join_all((0..8).map(|_| complete(&client, &request))).await;
    assert_eq!(replies.iter().filter(|reply| reply.is_ok()).count(), 7);
    assert_eq!((server.count(RESPONSES), server.count(CHAT)), (2, 7), "one failed, one found out");
}

#[tokio::test]
async fn a_first_call_that_is_given_up_holds_up_nobody() {
    let server =
        Server::with(|seen| regular(&seen.path).after(if seen.index == 0 { 10 * LONG } else { Duration::ZERO }));
    let client = client(&server, ApiKind::Auto);
    let request = request();
    let mut first = Box::pin(complete(&client, &request));
    while server.paths().is_empty() {
        timeout(Duration::from_millis(100), &mut first).await.expect_err("the first call hangs");
    }
    drop(first);
    let started = Instant::now();
    for _ in 0..4 {
        complete(&client, &request).await.unwrap();
    }
    assert!(started.elapsed() < 4 * PROBE_TIMEOUT, "{:?}", started.elapsed());
    assert_eq!((server.count(RESPONSES), server.count(CHAT)), (5, 0));
}

#[tokio::test]
async fn one_model_without_responses_leaves_the_others_theirs() {
    let server = Server::with(|seen| {
        let message = "The model `old` is not supported by the Responses API.";
        if seen.path == RESPONSES && seen.body["model"] == "old" {
            return answer_json(400, &json!({"error": {"message": message, "param": "model"}}));
        }
        regular(&seen.path)
    });
    let client = client(&server, ApiKind::Auto);
    for model in ["old", "new", "old", "new"] {
        assert_eq!(complete(&client, &request_for(model)).await, Ok(because()));
    }
    assert_eq!(server.paths(), [RESPONSES, CHAT, RESPONSES, CHAT, RESPONSES]);
}

#[tokio::test]
async fn a_model_that_was_reached_stays_where_it_is() {
    let server = Server::with(|seen| match seen.index {
        0 => regular(&seen.path),
        _ => answer_text(404, "no such page"),
    });
    let client = client(&server, ApiKind::Auto);
    complete(&client, &request()).await.unwrap();
    let failed = complete(&client, &request()).await.unwrap_err();
    assert!(failed.to_string().contains("no such page"), "{failed}");
    assert_eq!(server.paths(), [RESPONSES, RESPONSES]);
}

#[tokio::test]
async fn a_configured_api_is_the_only_one() {
    for (api, path) in [(ApiKind::Responses, RESPONSES), (ApiKind::Chat, CHAT)] {
        let server = Server::with(|_| answer_text(404, "404 page not found"));
        let failed = complete(&client(&server, api), &request()).await.unwrap_err();
        assert!(failed.to_string().contains("404 page not found"), "{failed}");
        assert_eq!(server.paths(), [path]);
    }
}

/// The usage that a server bills for failed answers.
fn billed(input: u64) -> Value {
    json!({"usage": {"input_tokens": input, "prompt_tokens": input, "output_tokens": 1, "total_tokens": input + 1}})
}

/// Records the charges before further requests, under a cost limit.
#[derive(Default)]
struct Charged(std::sync::Mutex<Vec<FailedAttempt>>);

impl crate::Further for Charged {
    fn after(&self, failed: FailedAttempt) -> futures_util::future::BoxFuture<'_, Result<Option<u32>, FailedAttempt>> {
        self.0.lock().unwrap().push(failed);
        Box::pin(async { Ok(Some(77)) })
    }

    fn repeats_once(&self) -> bool {
        true
    }
}

/// The charges before the last request of an attempt, and the charge for that request.
async fn charges(client: &OpenAiClient, request: &Request, attempt: u32) -> (Vec<FailedAttempt>, FailedAttempt) {
    let (heard, charged) = (Heard::default(), Charged::default());
    let live = Live { attempt, further: Some(&charged), ..heard.live(IDLE) };
    let last = client.ask(request, live).await.unwrap_err();
    (charged.0.into_inner().unwrap(), last)
}

fn input(failed: &FailedAttempt) -> Option<u64> {
    failed.usage.tokens.map(|tokens| tokens.input_tokens)
}

#[tokio::test]
async fn what_both_apis_took_is_charged_once_each_and_before_the_second_is_asked() {
    for (chat, last_input, may_be_billed) in
        [(answer_text(404, "404 page not found"), None, false), (answer_json(200, &billed(100)), Some(100), true)]
    {
        let server =
            Server::with(move |seen| if seen.path == RESPONSES { answer_json(200, &billed(10)) } else { chat.clone() });
        let (charged, last) = charges(&client(&server, ApiKind::Auto), &request(), 1).await;
        assert_eq!(charged.iter().map(input).collect::<Vec<_>>(), [Some(10)]);
        assert_eq!((input(&last), last.may_be_billed), (last_input, may_be_billed), "{last:?}");
        let limits: Vec<Value> = server.requests().iter().map(|seen| seen.body["max_tokens"].clone()).collect();
        assert_eq!(limits, [Value::Null, json!(77)], "each has the limit that money was set aside for");
    }
}

#[tokio::test]
async fn a_server_error_before_the_other_api_is_charged_and_a_missing_route_is_not() {
    // Under a limit the second request is the last, so it goes to the other API.
    for (status, attempt, expected) in [(500, 2, 1), (500, 1, 1), (404, 1, 0)] {
        let server = Server::with(move |_| answer_text(status, "boom"));
        let (charged, _) = charges(&client(&server, ApiKind::Auto), &request(), attempt).await;
        assert_eq!(
            (charged.len(), server.paths()),
            (expected, vec![RESPONSES.to_owned(), CHAT.to_owned()]),
            "{status}"
        );
    }
}

#[tokio::test]
async fn what_a_try_without_a_schema_took_is_charged_though_it_failed() {
    let server = Server::with(|seen| {
        let has_schema = seen.body.get("response_format").is_some();
        if has_schema { answer_text(500, "") } else { answer_json(200, &billed(10)) }
    });
    let client = client(&server, ApiKind::Chat);
    let (charged, last) = charges(&client, &Request { answer: Some(score()), ..request() }, 1).await;
    assert_eq!(charged.iter().map(|failed| (input(failed), failed.may_be_billed)).collect::<Vec<_>>(), [(None, true)]);
    assert_eq!((input(&last), last.may_be_billed), (Some(10), true));
}
