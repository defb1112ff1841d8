//! Failures: each is one kind of [`ModelError`], with a message that says what the server said.

use tokio::net::TcpListener;

use super::*;

const BOTH: [ApiKind; 2] = [ApiKind::Responses, ApiKind::Chat];

/// What both APIs make of an answer.
async fn failure(answer: HttpAnswer) -> ModelError {
    let responses = read(ApiKind::Responses, answer.clone()).await.unwrap_err();
    let chat = read(ApiKind::Chat, answer).await.unwrap_err();
    assert_eq!(responses, chat);
    chat
}

fn error(status: u16, message: &str) -> HttpAnswer {
    answer_json(status, &json!({"error": {"message": message, "type": "x", "param": null, "code": null}}))
}

fn limited(message: &str) -> ModelError {
    ModelError::RateLimited { status: 429, retry_after: None, message: message.to_owned() }
}

fn server_failed(status: u16, message: &str) -> ModelError {
    ModelError::ServerFailed { status, retry_after: None, message: message.to_owned() }
}

fn unauthorized(status: u16, message: &str) -> ModelError {
    ModelError::Unauthorized { status, message: message.to_owned() }
}

fn refused(status: u16, message: &str) -> ModelError {
    ModelError::Refused { status, message: message.to_owned() }
}

fn no_credit(status: u16, message: &str) -> ModelError {
    ModelError::NoCredit { status, message: message.to_owned() }
}

#[tokio::test]
async fn each_status_is_a_kind_of_failure() {
    for status in [404, 405, 410] {
        let failed = read(ApiKind::Chat, error(status, "no")).await.unwrap_err();
        let ModelError::Refused { message, .. } = failed else { panic!("{failed:?}") };
        let url = message.strip_prefix("no (http://127.0.0.1:").unwrap();
        assert!(url.ends_with("/v1/chat/completions)"), "{message}");
    }
    for status in [400, 403, 406, 413, 415, 422, 451, 501] {
        let expected = if status == 501 { server_failed(501, "no") } else { refused(status, "no") };
        assert_eq!(failure(error(status, "no")).await, expected);
    }
    assert_eq!(failure(error(401, "no")).await, unauthorized(401, "no"));
    assert_eq!(failure(error(402, "no")).await, no_credit(402, "no"));
    for status in [408, 409, 424, 425, 499, 500, 520] {
        assert_eq!(failure(error(status, "no")).await, server_failed(status, "no"));
    }
    for status in [502, 503, 504, 529] {
        let failed = failure(error(status, "no")).await;
        let message = "no".to_owned();
        assert_eq!(failed, ModelError::Unavailable { status, retry_after: None, message });
        assert!(failed.is_server_gone());
        // After a 200, the model has begun to work.
        let inside = json!({"error": {"message": "no", "code": status}});
        assert_eq!(failure(answer_json(200, &inside)).await, server_failed(status, "no"));
    }
    assert_eq!(failure(error(429, "no")).await, limited("no"));
}

#[tokio::test]
async fn an_exhausted_quota_is_not_waited_for() {
    for fields in [
        json!({"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}),
        json!({"message": "pay", "type": "insufficient_quota", "code": null}),
        json!({"message": "pay", "type": "insufficient_quota", "code": 429}),
        json!({"message": "pay", "code": "insufficient_quota"}),
    ] {
        assert_eq!(failure(answer_json(429, &json!({"error": fields}))).await, no_credit(429, "pay"));
        assert_eq!(failure(answer_json(200, &json!({"error": fields}))).await, no_credit(429, "pay"));
        // A proxy's own error around it.
        assert_eq!(failure(answer_json(500, &json!({"error": fields}))).await, no_credit(500, "pay"));
    }
    // Moonshot, Anthropic, Zhipu.
    for fields in [
        json!({"message": "pay", "type": "exceeded_current_quota_error"}),
        json!({"message": "pay", "type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}),
        json!({"message": "pay", "code": "1113"}),
    ] {
        assert_eq!(failure(answer_json(429, &json!({"error": fields}))).await, no_credit(429, "pay"), "{fields}");
    }
    let said = "Insufficient balance or no resource package. Please recharge.";
    assert_eq!(failure(error(429, said)).await, no_credit(429, said));
    // A request may be about balances.
    assert_eq!(failure(error(500, said)).await, server_failed(500, said));
}

#[tokio::test]
async fn credit_that_comes_back_is_waited_for() {
    let answer = error(402, "in-flight budget exhausted").header("retry-after", "3");
    let limited = ModelError::RateLimited {
        status: 402,
        retry_after: Some(Duration::from_secs(3)),
        message: "in-flight budget exhausted".to_owned(),
    };
    assert_eq!(failure(answer).await, limited);
    assert_eq!(failure(error(402, "no credit")).await, no_credit(402, "no credit"));
}

#[tokio::test]
async fn a_request_that_is_too_long_is_known_in_every_wording() {
    let exceeded = |message: &str| ModelError::ContextExceeded { message: message.to_owned() };
    for (status, fields) in [
        (400, json!({"message": "'input' is too long", "code": "context_length_exceeded"})),
        (400, json!({"message": "too long", "code": 400, "type": "exceed_context_size_error", "n_ctx": 4096})),
        (200, json!({"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"})),
        (200, json!({"message": "the request exceeds the available context size. try increasing it", "code": 500})),
    ] {
        let failed = failure(answer_json(status, &json!({"error": fields}))).await;
        assert!(matches!(failed, ModelError::ContextExceeded { .. }) && !failed.is_transient(), "{failed:?}");
    }
    for said in [
        "This model's maximum context length is 4097 tokens. However, your messages resulted in 5613 tokens.",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: too many",
        "You passed 1015 input tokens. However, the model's context length is only 1024 tokens.",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055).",
        "Trying to keep the first 111490 tokens when context the overflows.",
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "prompt is too long: 206331 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
        "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
        "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    ] {
        for status in [400, 413, 422, 500] {
            assert_eq!(failure(error(status, said)).await, exceeded(said));
        }
        // A limit on tokens per minute is one of rate, whatever it says besides.
        assert_eq!(failure(error(429, said)).await, limited(said));
    }
    for said in ["max_tokens is too large: 99999. This model supports at most 16384 completion tokens", "too long"] {
        assert_eq!(failure(error(400, said)).await, refused(400, said));
    }
}

#[tokio::test]
async fn what_was_said_is_found_in_every_shape() {
    for (body, message) in [
        (json!({"error": {"message": "why"}}), "why"),
        (json!({"error": {"message": "why", "code": 400}}), "why"),
        (json!({"error": "why"}), "why"),
        (json!({"message": "why", "object": "error", "code": 400}), "why"),
        (json!({"error": "SyntaxError", "message": "why"}), "SyntaxError: why"),
        (json!({"error": "SyntaxError", "detail": "why"}), "SyntaxError: why"),
        (json!({"error": "Bad Request", "message": "why", "statusCode": 400}), "Bad Request: why"),
        (json!({"error": "it failed", "message": "it failed: why"}), "it failed: why"),
        (json!({"error": {"message": "why"}, "message": "why"}), "why"),
        (json!({"error": {"code": 400}, "message": "why"}), "why"),
        (json!({"error": null, "message": "why"}), "why"),
        (json!({"error": true, "message": "why"}), "why"),
        (json!({"detail": "why"}), "why"),
        (json!({"detail": [{"loc": ["body"], "msg": "why"}]}), r#"[{"loc":["body"],"msg":"why"}]"#),
        (json!([{"error": {"code": 400, "message": "why", "status": "INVALID_ARGUMENT"}}]), "why"),
        (json!({"error": {"message": "provider failed", "metadata": {"raw": "why"}}}), "provider failed: why"),
        (json!({"error": {"message": ["why", 1]}}), r#"["why",1]"#),
        (json!({"error": {"message": " why\n\u{1b}[31m  now\u{0}"}}), "why [31m now"),
        (json!({"error": {}}), r#"{"error":{}}"#),
        (json!({"what": "why"}), r#"{"what":"why"}"#),
        (json!("why"), r#""why""#),
    ] {
        assert_eq!(failure(answer_json(400, &body)).await, refused(400, message), "{body}");
    }
    for (body, message) in [
        ("", "bad request"),
        ("why", "why"),
        ("{\"error\": {\"mess", "{\"error\": {\"mess"),
        ("<html><style>p{}</style><body><h1>Why</h1>\n<p>not</p></body></html>", "Why not"),
        ("a < b", "a < b"),
    ] {
        assert_eq!(failure(answer_text(400, body)).await, refused(400, message), "{body}");
    }
    assert_eq!(failure(answer_text(400, vec![0xff, 0xfe, b'!'])).await, refused(400, "\u{fffd}\u{fffd}!"));
}

#[tokio::test]
async fn long_messages_are_cut() {
    let ModelError::Refused { message, .. } = failure(error(400, &"é".repeat(30_000))).await else { panic!() };
    assert_eq!(message.chars().count(), 601);
    // A body that is not the API's, and longer than what is read of it.
    let ModelError::ServerFailed { message, .. } = failure(answer_text(500, "wide ".repeat(1 << 18))).await else {
        panic!()
    };
    assert_eq!(message.chars().count(), 201);
}

#[tokio::test]
async fn an_error_inside_a_good_status_is_one() {
    for (error, expected) in [
        (json!({"code": 429, "message": "slow"}), limited("slow")),
        (json!({"code": "429", "message": "slow"}), limited("slow")),
        (json!({"code": "rate_limit_exceeded", "message": "slow"}), limited("slow")),
        (json!({"code": 502, "message": "gone"}), server_failed(502, "gone")),
        (json!({"code": "server_error", "message": "gone"}), server_failed(500, "gone")),
        (json!({"type": "overloaded_error", "message": "busy"}), server_failed(503, "busy")),
        (json!({"code": null, "type": "overloaded_error", "message": "busy"}), server_failed(503, "busy")),
        (json!({"code": 401, "message": "who"}), unauthorized(401, "who")),
        (json!({"code": "invalid_api_key", "message": "who"}), unauthorized(401, "who")),
        (json!({"code": 403, "message": "not you"}), refused(403, "not you")),
        (json!({"code": "invalid_prompt", "message": "no"}), refused(400, "no")),
        (json!({"code": "model_not_found", "message": "which"}), refused(404, "which")),
        (json!({"code": "mystery", "message": "what"}), server_failed(200, "what")),
        (json!({"code": 42, "message": "what"}), server_failed(200, "what")),
        (json!({"code": "mystery"}), server_failed(200, "mystery")),
        (json!("what"), server_failed(200, "what")),
    ] {
        let alone = json!({ "error": error });
        assert_eq!(failure(answer_json(200, &alone)).await, expected, "{alone}");
        let beside = json!({"error": error, "choices": [], "output": [], "status": "failed"});
        assert_eq!(failure(answer_json(200, &beside)).await, expected, "{beside}");
    }
}

#[tokio::test]
async fn what_is_not_an_answer_is_broken() {
    for (body, says) in [
        ("", "EOF while parsing"),
        ("<html><body>Welcome</body></html>", "Welcome"),
        ("I am fine, thank you", "I am fine, thank you"),
        ("{\"choices\": [{\"message\"", "{\"choices\""),
        ("\"text\"", "text"),
        ("null", "null"),
        ("[]", "[]"),
        ("{}", "{}"),
        ("{\"ok\": true}", "{\"ok\": true}"),
        ("{\"choices\": null, \"output\": null}", "null"),
        ("{\"choices\": \"x\", \"output\": 3}", "x"),
    ] {
        for api in BOTH {
            let failed = read(api, answer_text(200, body)).await.unwrap_err();
            let ModelError::Broken { message } = &failed else { panic!("{body}: {failed:?}") };
            assert!(message.contains(says), "{body}: {message}");
        }
    }
    assert!(matches!(failure(answer_text(204, "")).await, ModelError::Broken { .. }));
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

/// An answer whose length is not declared.
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
async fn a_server_that_hangs_up_without_a_word_broke_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let hanging_up = tokio::spawn(async move {
        loop {
            drop(listener.accept().await.unwrap());
        }
    });
    let client = OpenAiClient::new(endpoint(&url, ApiKind::Chat), &http_client(None).unwrap()).unwrap();
    let failed = complete(&client, &request()).await.unwrap_err();
    hanging_up.abort();
    assert!(
        matches!(&failed, ModelError::Broken { message } if message.starts_with("it was interrupted")),
        "{failed:?}"
    );
    assert!(failed.is_transient());
}

#[tokio::test]
async fn redirects_are_named_and_not_followed() {
    let elsewhere = Server::with(|seen| regular(&seen.path));
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/chat/completions?token=t", elsewhere.base_url());
        let failed = failure(answer_text(status, "").header("location", &target)).await;
        let shown = target.split('?').next().unwrap();
        assert_eq!(failed, refused(status, &format!("it redirects to {shown}, which is refused")));
    }
    let relative = failure(answer_text(302, "").header("location", "/login?next=x")).await;
    assert_eq!(relative, refused(302, "it redirects to /login, which is refused"));
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
    // Inside an answer that has begun, no code is free.
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
    // A stated usage is believed.
    let usage = json!({"usage": {"prompt_tokens": 7, "completion_tokens": 1}, "error": {"message": "no"}});
    assert_eq!(failed(answer_json(504, &usage)).await.usage.tokens.map(dialectic_base::call::Tokens::total), Some(8));
}
