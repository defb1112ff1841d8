//! What a model does not take is left out of the second try and of everything after it.

use super::*;

/// What a server says of a field that it does not take.
type Refuses = (&'static str, fn() -> HttpAnswer);

fn error(status: u16, message: &str, param: &str, code: &str) -> HttpAnswer {
    let error = json!({"message": message, "type": "invalid_request_error", "param": param, "code": code});
    answer_json(status, &json!({ "error": error }))
}

const NO_SCHEMA: [Refuses; 5] = [
    ("openai", || {
        let message = "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.";
        error(400, message, "text.format", "unsupported_value")
    }),
    ("openai chat", || {
        let message = "'response_format' of type 'json_schema' is not supported with this model";
        error(400, message, "response_format", "unsupported_value")
    }),
    ("by parameter alone", || error(400, "Invalid value", "response_format.type", "")),
    ("text", || answer_text(400, "this model does not support structured outputs")),
    ("fastapi", || answer_json(422, &json!({"detail": [{"loc": ["body", "response_format"], "msg": "extra fields"}]}))),
];

const NO_TEMPERATURE: [Refuses; 4] = [
    ("openai", || {
        let message = "Unsupported parameter: 'temperature' is not supported with this model.";
        error(400, message, "temperature", "unsupported_parameter")
    }),
    ("only the default", || {
        let message = "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) is.";
        error(400, message, "temperature", "unsupported_value")
    }),
    ("anthropic", || {
        answer_json(400, &json!({"type": "error", "error": {"message": "`temperature` is deprecated for this model."}}))
    }),
    ("fastapi", || answer_json(422, &json!({"detail": "temperature: extra inputs are not permitted"}))),
];

fn has(body: &Value, field: &str) -> bool {
    match field {
        "schema" => body.get("text").or(body.get("response_format")).is_some(),
        field => body.get(field).is_some(),
    }
}

/// Asks twice a server that refuses `field`, and asks it for another model; says which requests had the field.
async fn ask(api: ApiKind, field: &'static str, refusal: fn() -> HttpAnswer, request: &Request) -> Vec<bool> {
    let server = Server::with(move |seen| {
        let body = &seen.body;
        let picky = body["model"] == "m-1" && has(body, field);
        if picky { refusal() } else { regular(&seen.path) }
    });
    let client = client(&server, api);
    let other = Request { model: "m-2".into(), ..request.clone() };
    for request in [request, request, &other] {
        assert_eq!(complete(&client, request).await, Ok(because()));
    }
    let path = if api == ApiKind::Chat { CHAT } else { RESPONSES };
    assert!(server.paths().iter().all(|asked| asked == path), "{:?}", server.paths());
    server.requests().iter().map(|seen| has(&seen.body, field)).collect()
}

#[tokio::test]
async fn a_schema_that_is_refused_is_left_out_and_not_sent_again() {
    let request = Request { answer: Some(score()), ..request() };
    for (name, refusal) in NO_SCHEMA {
        for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
            let sent = ask(api, "schema", refusal, &request).await;
            assert_eq!(sent, [true, false, false, true], "{name} {api:?}");
        }
    }
}

#[tokio::test]
async fn a_schema_that_a_server_fails_on_is_learned_at_the_first_refusal() {
    let request = Request { answer: Some(score()), ..request() };
    for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
        let sent = ask(api, "schema", || answer_text(500, "Internal Server Error"), &request).await;
        assert_eq!(sent, [true, false, false, true], "{api:?}");
    }
}

#[tokio::test]
async fn a_temperature_that_is_refused_is_left_out_and_not_sent_again() {
    for (name, refusal) in NO_TEMPERATURE {
        for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
            let sent = ask(api, "temperature", refusal, &request()).await;
            assert_eq!(sent, [true, false, false, true], "{name} {api:?}");
        }
    }
}

#[tokio::test]
async fn the_new_name_of_the_limit_is_learned() {
    let request = Request { max_tokens: Some(500), ..request() };
    let refusal = || {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        error(400, message, "max_tokens", "unsupported_parameter")
    };
    assert_eq!(ask(ApiKind::Chat, "max_tokens", refusal, &request).await, [true, false, false, true]);
    assert_eq!(
        ask(
            ApiKind::Chat,
            "max_completion_tokens",
            || panic!("it is not for m-1"),
            &Request { model: "m-3".into(), ..request }
        )
        .await,
        [false, false, false]
    );
}

#[tokio::test]
async fn the_old_name_of_the_limit_is_learned() {
    let server = Server::with(|seen| {
        let refused = has(&seen.body, "max_completion_tokens");
        if refused { answer_text(400, "Unrecognized request argument: max_completion_tokens") } else { regular(CHAT) }
    });
    let endpoint = Endpoint { name: "openai".into(), ..endpoint(&server.base_url(), ApiKind::Chat) };
    let client = OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap();
    let request = Request { max_tokens: Some(500), ..request() };
    for _ in 0..2 {
        assert_eq!(complete(&client, &request).await, Ok(because()));
    }
    let old: Vec<bool> = server.requests().iter().map(|seen| has(&seen.body, "max_tokens")).collect();
    assert_eq!(old, [false, true, true]);
}

#[tokio::test]
async fn a_model_may_lack_everything() {
    let server = Server::with(|seen| {
        let body = &seen.body;
        match seen.path.as_str() {
            RESPONSES => answer_text(404, "404 page not found"),
            _ if has(body, "schema") => NO_SCHEMA[1].1(),
            _ if has(body, "temperature") => NO_TEMPERATURE[0].1(),
            _ if has(body, "max_tokens") => answer_text(400, "use max_completion_tokens"),
            _ => regular(CHAT),
        }
    });
    let client = client(&server, ApiKind::Auto);
    let request = Request { answer: Some(score()), max_tokens: Some(9), ..request() };
    assert_eq!(complete(&client, &request).await, Ok(because()));
    assert_eq!(server.paths(), [RESPONSES, CHAT, CHAT, CHAT, CHAT]);
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]);
    let left = json!({"model": "m-1", "messages": messages, "max_completion_tokens": 9});
    assert_eq!(server.requests()[4].body, left);
    complete(&client, &request).await.unwrap();
    assert_eq!((server.paths().len(), server.requests()[5].sent == server.requests()[4].sent), (6, true));
}

#[tokio::test]
async fn what_is_the_users_to_correct_is_not_left_out() {
    for (answer, request) in [
        // Out of range, not unsupported.
        (error(400, "Invalid 'temperature': expected a value <= 1", "temperature", "decimal_above_max"), request()),
        // Nothing was asked for that could be left out.
        (NO_SCHEMA[0].1(), request()),
        (error(400, "Unsupported parameter: 'tools'", "tools", "unsupported_parameter"), request()),
        // Not a status that speaks of parameters.
        (error(403, "'temperature' is not supported", "temperature", "x"), request()),
    ] {
        for api in [ApiKind::Auto, ApiKind::Chat] {
            let server = Server::with({
                let answer = answer.clone();
                move |_| answer.clone()
            });
            let failed = complete(&client(&server, api), &request).await.unwrap_err();
            assert!(!failed.is_transient(), "{failed:?}");
            assert_eq!(server.paths().len(), 1, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_same_for_ever_is_given_up() {
    let server = Server::with(|_| NO_TEMPERATURE[0].1());
    let client = client(&server, ApiKind::Auto);
    for requests in [2, 3] {
        let failed = complete(&client, &request()).await.unwrap_err();
        assert!(matches!(failed, ModelError::Refused { status: 400, .. }), "{failed:?}");
        assert_eq!(server.paths().len(), requests);
    }
}
