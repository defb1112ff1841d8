//! Keys never leak, even if a server echoes everything that it received.

use super::*;

const HEADER_SECRET: &str = "hdr-secret-98765";
const QUERY_SECRET: &str = "qry-secret-43210";

/// Answers of servers that contain `secret`.
fn echoes(secret: &str) -> Vec<HttpAnswer> {
    let error = |status, fields: Value| answer_json(status, &json!({ "error": fields }));
    let mut echoes = vec![
        error(200, json!({"message": secret})),
        error(200, json!({"code": secret})),
        error(200, json!(format!("bad key {secret}"))),
        answer_text(200, secret.to_owned()),
        answer_text(200, format!("<html><body>Your key is {secret}!</body></html>")),
        answer_json(200, &json!(secret)),
        answer_json(200, &json!([secret])),
        answer_json(200, &json!({"you sent": secret})),
        answer_json(200, &json!({"choices": secret, "output": secret})),
        // Some servers escape slashes.
        answer_text(200, json!({"you sent": secret}).to_string().replace('/', "\\/")),
        answer_text(302, "").header("location", format!("http://127.0.0.1/{secret}")),
        answer_text(302, "").header("location", format!("http://{}@h/x?k={secret}", secret.replace('/', "%2F"))),
        answer_text(500, format!("<p>{}{secret}</p>", "x ".repeat(90))),
        refusal_of_the_model(secret),
    ];
    for status in [400, 401, 403, 404, 429, 500, 503] {
        echoes.push(error(status, json!({"message": format!("Incorrect API key provided: {secret}.")})));
        echoes.push(error(status, json!({"message": "m", "metadata": {"raw": {"authorization": secret}}})));
        echoes.push(answer_json(status, &json!({"detail": format!("Bearer {secret}")})));
        echoes.push(answer_text(status, format!("authorization: Bearer {secret}\r\n")));
        echoes.push(answer_text(status, json!({"said": secret}).to_string().replace('/', "\\/")));
    }
    echoes
}

fn refusal_of_the_model(secret: &str) -> HttpAnswer {
    let parts = json!([{"type": "refusal", "refusal": format!("I was given {secret}.")}]);
    answer_json(
        200,
        &json!({"choices": [{"message": {"content": parts}}], "output": [{"type": "message", "content": parts}]}),
    )
}

#[tokio::test]
async fn no_error_tells_a_secret() {
    let http = http_client(None).unwrap();
    for secret in [KEY, HEADER_SECRET, QUERY_SECRET] {
        for echo in echoes(secret) {
            for api in [ApiKind::Auto, ApiKind::Responses, ApiKind::Chat] {
                let server = Server::with({
                    let echo = echo.clone();
                    move |_| echo.clone()
                });
                let token = SecretString::from(format!("Token {HEADER_SECRET}"));
                let endpoint = Endpoint {
                    headers: vec![("x-auth".to_owned(), token)],
                    ..endpoint(&format!("{}?api_key={QUERY_SECRET}", server.base_url()), api)
                };
                let failed = complete(&OpenAiClient::new(endpoint, &http).unwrap(), &request()).await.unwrap_err();
                let told = format!("{failed} {failed:?}");
                assert!(!told.contains(secret), "{told} tells it, of {echo:?}");
                assert!(!told.contains(&secret.replace('/', "\\/")), "{told} tells it, of {echo:?}");
            }
        }
    }
}

#[test]
fn an_endpoint_shows_no_secret() {
    let endpoint = Endpoint {
        headers: vec![("x-auth".to_owned(), SecretString::from(HEADER_SECRET))],
        ..endpoint(&format!("https://user:pass-word@h/v1?api_key={QUERY_SECRET}"), ApiKind::Auto)
    };
    let shown = format!("{endpoint:?}");
    for secret in [KEY, HEADER_SECRET, QUERY_SECRET, "pass-word"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("x-auth") && shown.contains("local"), "{shown}");
}

#[tokio::test]
async fn a_short_key_does_not_garble_messages() {
    let server = Server::with(|_| answer_text(500, "an example of six words here"));
    let endpoint = Endpoint { api_key: Some(SecretString::from("x")), ..endpoint(&server.base_url(), ApiKind::Chat) };
    let client = OpenAiClient::new(endpoint, &http_client(None).unwrap()).unwrap();
    let failed = complete(&client, &request()).await.unwrap_err();
    assert!(failed.to_string().ends_with("an example of six words here"), "{failed}");
}
