//! What a model rejects is omitted from the second request and from all later ones.

use crate::{ToolSpec, Turn};

use super::*;

fn error(status: u16, message: &str, param: &str, code: &str) -> HttpAnswer {
    let error = json!({"message": message, "type": "invalid_request_error", "param": param, "code": code});
    answer_json(status, &json!({ "error": error }))
}

fn no_temperature() -> HttpAnswer {
    let message = "Unsupported parameter: 'temperature' is not supported with this model.";
    error(400, message, "temperature", "unsupported_parameter")
}

fn has(body: &Value, field: &str) -> bool {
    match field {
        "schema" => body.get("text").or(body.get("response_format")).is_some(),
        field => body.get(field).is_some(),
    }
}

/// Sends a request twice to a server that refuses `field`, then once for another model. Returns which requests had the
/// field.
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
async fn a_schema_or_temperature_that_is_refused_is_left_out_and_not_sent_again() {
    let with_schema = Request { answer: Some(score()), ..request() };
    for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
        let schemas = ask(api, "schema", || answer_text(500, "Internal Server Error"), &with_schema).await;
        let temperatures = ask(api, "temperature", no_temperature, &request()).await;
        assert_eq!([schemas, temperatures], [[true, false, false, true]; 2], "{api:?}");
    }
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
async fn a_server_that_refuses_the_same_for_ever_is_given_up() {
    let server = Server::with(|_| no_temperature());
    let client = client(&server, ApiKind::Auto);
    for requests in [2, 3] {
        let failed = complete(&client, &request()).await.unwrap_err();
        assert!(matches!(failed, ModelError::Refused { status: 400, .. }), "{failed:?}");
        assert_eq!(server.paths().len(), requests);
    }
}

#[tokio::test]
async fn a_model_that_rejects_one_thing_after_another_answers_in_the_end() {
    let refusals = [
        "Invalid schema: 'minLength' is not permitted",
        "Invalid schema: 'minimum' is not permitted",
        "response_format is not supported",
        "temperature is not supported",
        "System role not supported",
        "`max_tokens` must be less than or equal to `100`",
        "property 'reasoning_content' is unsupported",
        "This model does not support tools",
        "Unrecognized request argument: max_tokens; use max_completion_tokens",
        "stream_options is not supported",
        "stream is not supported",
    ];
    let server = Server::with(move |seen| match refusals.get(seen.index) {
        Some(message) => answer_json(400, &json!({"error": {"message": message}})),
        None => regular(CHAT),
    });
    let client = streaming(&server, ApiKind::Chat);
    let message = json!({"role": "assistant", "content": "Hm.", "reasoning_content": "Perhaps."});
    let turn = Turn::Assistant { text: "Hm.".to_owned(), calls: vec![], message: Some(message) };
    let properties = json!({"why": {"type": "string", "minLength": 1}, "score": {"type": "integer", "minimum": 0}});
    let schema = json!({"type": "object", "properties": properties});
    let request = Request {
        max_tokens: Some(200),
        turns: vec![turn, Turn::User("And?".to_owned())],
        answer: Some(Arc::new(AnswerSchema { name: "score", schema })),
        tools: [ToolSpec { name: "look".to_owned(), description: String::new(), parameters: json!({}) }].into(),
        tools_are_optional: true,
        ..request()
    };
    assert_eq!(complete(&client, &request).await, Ok(because()));
    assert_eq!(server.paths().len(), refusals.len() + 1);
    let left = server.requests().last().unwrap().body.clone();
    let fields: Vec<&String> = left.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["model", "messages", "max_completion_tokens"]);
    complete(&client, &request).await.unwrap();
    assert_eq!(server.requests().last().unwrap().body, left);
}
