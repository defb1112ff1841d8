//! The mock refuses what real servers refuse.

use serde_json::{Value, json};

use crate::support::{Api, Incoming, violations};

fn path(api: Api) -> &'static str {
    match api {
        Api::Responses => "/v1/responses",
        Api::Chat => "/v1/chat/completions",
    }
}

const APIS: [Api; 2] = [Api::Responses, Api::Chat];

/// A request for text as this project would send it.
fn question(api: Api, system: &str, prompt: &str) -> Value {
    match api {
        Api::Responses => json!({"model": "gpt-4", "temperature": 0.5, "instructions": system, "input": prompt}),
        Api::Chat => json!({"model": "gpt-4", "temperature": 0.5, "messages": [
            {"role": "system", "content": system}, {"role": "user", "content": prompt},
        ]}),
    }
}

fn incoming(api: Api, body: &Value) -> Incoming {
    let headers = [("content-type", "application/json"), ("authorization", "Bearer k")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Incoming::read("POST", path(api), headers, body.to_string().as_bytes())
}

/// The one violation of a request that is right but for a change.
fn violation(api: Api, change: impl Fn(&mut Value)) -> String {
    let mut body = question(api, "s", "p");
    change(&mut body);
    let found = violations(&incoming(api, &body));
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn every_kind_of_violation_is_found() {
    for api in APIS {
        assert_eq!(violation(api, |body| body["temprature"] = json!(1)), "unknown field `temprature`");
        assert_eq!(violation(api, |body| body["temperature"] = json!("hot")), "`temperature` is not Number");
        assert_eq!(violation(api, |body| body["temperature"] = json!(2.5)), "`temperature` is not within 0 and 2");
        assert_eq!(violation(api, |body| body["model"] = json!(null)), "`model` is missing");
        assert_eq!(violation(api, |body| body["stream"] = json!("yes")), "`stream` is not Flag");
    }
    let unstreamed = violation(Api::Chat, |body| body["stream_options"] = json!({"include_usage": true}));
    assert_eq!(unstreamed, "`stream_options` without `stream`");
    let options = |body: &mut Value| (body["stream"], body["stream_options"]) = (json!(true), json!({}));
    assert_eq!(violation(Api::Responses, options), "unknown field `stream_options`");
    assert_eq!(violation(Api::Responses, |body| body["max_tokens"] = json!(1)), "unknown field `max_tokens`");
    assert_eq!(violation(Api::Chat, |body| body["max_output_tokens"] = json!(1)), "unknown field `max_output_tokens`");
    assert_eq!(violation(Api::Responses, |body| body["input"] = json!("")), "`input` has no text of the user");
    let unanswered = violation(Api::Responses, |body| {
        let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
        body["input"] = json!([{"role": "user", "content": "p"}, call]);
    });
    assert_eq!(unanswered, "the call `c` has no result");
    let uncalled = violation(Api::Chat, |body| {
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
        body["messages"] = json!([{"role": "user", "content": "p"}, result]);
    });
    assert_eq!(uncalled, "item 1 of the conversation: answers no call");
    let nested = violation(Api::Chat, |body| {
        body["tools"] = json!([{"type": "function", "name": "f", "parameters": {}}]);
    });
    assert_eq!(nested, "tool `` needs `type`, `name` and `parameters` where the API has them");
    let wordless = violation(Api::Chat, |body| body["response_format"] = json!({"type": "json_object"}));
    assert_eq!(wordless, "the answer's format is not one that the API has: {\"type\":\"json_object\"}");
}

#[test]
fn strict_schemas_are_held_to_their_rules() {
    let check = |required: Value, is_open: bool, of: fn(Value) -> Value| {
        let properties = json!({"a": {"type": "string"}, "b": {"type": "string"}});
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": is_open,
        });
        let format = json!({"type": "json_schema", "name": "n", "strict": true, "schema": of(schema)});
        violation(Api::Responses, |body| body["text"] = json!({"format": format}))
    };
    let open = check(json!(["a", "b"]), true, |schema| schema);
    assert_eq!(open, "the answer's format: strict, but `additionalProperties` is not false");
    let optional = check(json!(["a"]), false, |schema| json!({"type": "array", "items": schema}));
    assert_eq!(optional, "the answer's format: strict, but `b` is not required");
}

#[test]
fn the_head_of_a_request_is_checked_too() {
    let body = question(Api::Chat, "s", "p").to_string();
    let bare = Incoming::read("PUT", "/v1/chat/completions", Vec::new(), body.as_bytes());
    let expected = ["the endpoint takes POST only", "content-type is not application/json", "no bearer token"];
    assert_eq!(violations(&bare), expected);
    let doubled = Incoming::read("POST", "/v1//responses", Vec::new(), body.as_bytes());
    assert_eq!(violations(&doubled), ["no such endpoint"]);
    let garbage = Incoming::read("POST", "/v1/responses", bare.headers.clone(), b"{");
    assert_eq!(violations(&garbage).last().unwrap(), "the body is not a JSON object");
}
