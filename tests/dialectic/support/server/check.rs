//! Whether a request is what the API documents, as strictly as OpenAI's servers are.
//!
//! Field lists from the reference of `POST /responses` and `POST /chat/completions`.

use std::collections::HashSet;

use serde_json::Value;

use super::{Api, Incoming};

/// The JSON type that a field must have.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number,
    Integer,
    Flag,
    Object,
    List,
    TextOrList,
    TextOrObject,
}

const RESPONSES_FIELDS: &[(&str, Kind)] = &[
    ("background", Kind::Flag),
    ("conversation", Kind::TextOrObject),
    ("include", Kind::List),
    ("input", Kind::TextOrList),
    ("instructions", Kind::Text),
    ("max_output_tokens", Kind::Integer),
    ("max_tool_calls", Kind::Integer),
    ("metadata", Kind::Object),
    ("model", Kind::Text),
    ("parallel_tool_calls", Kind::Flag),
    ("previous_response_id", Kind::Text),
    ("prompt_cache_key", Kind::Text),
    ("prompt_cache_retention", Kind::Text),
    ("reasoning", Kind::Object),
    ("safety_identifier", Kind::Text),
    ("service_tier", Kind::Text),
    ("store", Kind::Flag),
    ("stream", Kind::Flag),
    ("temperature", Kind::Number),
    ("text", Kind::Object),
    ("tool_choice", Kind::TextOrObject),
    ("tools", Kind::List),
    ("top_logprobs", Kind::Integer),
    ("top_p", Kind::Number),
    ("truncation", Kind::Text),
];

const CHAT_FIELDS: &[(&str, Kind)] = &[
    ("frequency_penalty", Kind::Number),
    ("logit_bias", Kind::Object),
    ("logprobs", Kind::Flag),
    ("max_completion_tokens", Kind::Integer),
    ("messages", Kind::List),
    ("metadata", Kind::Object),
    ("model", Kind::Text),
    ("n", Kind::Integer),
    ("parallel_tool_calls", Kind::Flag),
    ("presence_penalty", Kind::Number),
    ("prompt_cache_key", Kind::Text),
    ("reasoning_effort", Kind::Text),
    ("response_format", Kind::Object),
    ("safety_identifier", Kind::Text),
    ("seed", Kind::Integer),
    ("service_tier", Kind::Text),
    ("stop", Kind::TextOrList),
    ("store", Kind::Flag),
    ("stream", Kind::Flag),
    ("stream_options", Kind::Object),
    ("temperature", Kind::Number),
    ("tool_choice", Kind::TextOrObject),
    ("tools", Kind::List),
    ("top_logprobs", Kind::Integer),
    ("top_p", Kind::Number),
    ("verbosity", Kind::Text),
];

/// Everything that is wrong with a request.
pub(crate) fn violations(request: &Incoming) -> Vec<String> {
    let Some(api) = request.api else { return vec!["no such endpoint".to_owned()] };
    let mut found = Vec::new();
    if request.method != "POST" {
        found.push("the endpoint takes POST only".to_owned());
    }
    if !request.header("content-type").is_some_and(|value| value.starts_with("application/json")) {
        found.push("content-type is not application/json".to_owned());
    }
    if request.header("authorization").is_none_or(|value| value.strip_prefix("Bearer ").is_none_or(str::is_empty)) {
        found.push("no bearer token".to_owned());
    }
    let Some(fields) = request.body.as_object() else {
        found.push("the body is not a JSON object".to_owned());
        return found;
    };
    let (known, conversation) = match api {
        Api::Responses => (RESPONSES_FIELDS, "input"),
        Api::Chat => (CHAT_FIELDS, "messages"),
    };
    for (name, value) in fields {
        match known.iter().find(|(known, _)| known == name) {
            None => found.push(format!("unknown field `{name}`")),
            // Optional fields may be null.
            Some((_, kind)) if !value.is_null() && !kind.fits(value) => found.push(format!("`{name}` is not {kind:?}")),
            Some(_) => {}
        }
    }
    if request.model().is_empty() {
        found.push("`model` is missing".to_owned());
    }
    if request.messages.iter().all(|message| message.role != "user" || message.text.is_empty()) {
        found.push(format!("`{conversation}` has no text of the user"));
    }
    if request.body["temperature"].as_f64().is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        found.push("`temperature` is not within 0 and 2".to_owned());
    }
    if request.body.get("stream_options").is_some() && request.body["stream"] != true {
        found.push("`stream_options` without `stream`".to_owned());
    }
    check_conversation(api, &request.body[conversation], &mut found);
    check_tools(api, &request.body["tools"], &mut found);
    check_format(api, request, &mut found);
    found
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_u64() || value.is_i64(),
            Self::Flag => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::TextOrList => value.is_string() || value.is_array(),
            Self::TextOrObject => value.is_string() || value.is_object(),
        }
    }
}

/// Every item has a known form, and every tool result answers a call that was made before it, every call is answered.
fn check_conversation(api: Api, items: &Value, found: &mut Vec<String>) {
    let mut open = HashSet::new();
    for (position, item) in items.as_array().into_iter().flatten().enumerate() {
        let mut complain = |what: &str| found.push(format!("item {position} of the conversation: {what}"));
        let (kind, role) = (item["type"].as_str(), item["role"].as_str());
        match (api, kind, role) {
            (Api::Responses, Some("function_call"), _) => {
                if !item["name"].is_string() || !item["arguments"].is_string() {
                    complain("a function call needs `name` and `arguments`");
                }
                open.insert(item["call_id"].as_str().unwrap_or_default());
            }
            (Api::Responses, Some("function_call_output"), _) => {
                if !item["output"].is_string() {
                    complain("`output` is not text");
                }
                if !open.remove(item["call_id"].as_str().unwrap_or_default()) {
                    complain("answers no call");
                }
            }
            (Api::Chat, _, Some("tool")) => {
                if !open.remove(item["tool_call_id"].as_str().unwrap_or_default()) {
                    complain("answers no call");
                }
            }
            (Api::Responses, None | Some("message"), Some("system" | "developer" | "user" | "assistant"))
            | (Api::Chat, None, Some("system" | "developer" | "user" | "assistant")) => {
                let calls = item["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
                if !(item["content"].is_string() || item["content"].is_array() || !calls.is_empty()) {
                    complain("`content` is missing");
                }
                for call in calls {
                    if call["type"] != "function" || !call["function"]["arguments"].is_string() {
                        complain("a tool call needs `type`, `function.name` and `function.arguments`");
                    }
                    open.insert(call["id"].as_str().unwrap_or_default());
                }
            }
            _ => complain("neither a message nor a tool's call or result"),
        }
    }
    for call in open {
        found.push(format!("the call `{call}` has no result"));
    }
}

fn check_tools(api: Api, tools: &Value, found: &mut Vec<String>) {
    for tool in tools.as_array().into_iter().flatten() {
        let function = if api == Api::Chat { &tool["function"] } else { tool };
        let name = function["name"].as_str().unwrap_or_default();
        if tool["type"] != "function" || !is_identifier(name) || !function["parameters"].is_object() {
            found.push(format!("tool `{name}` needs `type`, `name` and `parameters` where the API has them"));
        }
        if function["strict"] == true {
            check_strict(&function["parameters"], &format!("tool `{name}`"), found);
        }
    }
}

fn check_format(api: Api, request: &Incoming, found: &mut Vec<String>) {
    let (format, spec) = match api {
        Api::Responses => (&request.body["text"]["format"], &request.body["text"]["format"]),
        Api::Chat => (&request.body["response_format"], &request.body["response_format"]["json_schema"]),
    };
    match format["type"].as_str() {
        None if format.is_null() => {}
        Some("text") => {}
        // The servers refuse this mode unless the word occurs.
        Some("json_object") if request.text().to_lowercase().contains("json") => {}
        Some("json_schema") => {
            if !is_identifier(spec["name"].as_str().unwrap_or_default()) || !spec["schema"].is_object() {
                found.push("the answer's format needs `name` and `schema`".to_owned());
            }
            if spec["strict"] == true {
                check_strict(&spec["schema"], "the answer's format", found);
            }
        }
        _ => found.push(format!("the answer's format is not one that the API has: {format}")),
    }
}

fn is_identifier(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Strict schemas: every object lists all its properties as required and allows no others.
fn check_strict(schema: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        let required: HashSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(missing) = properties.keys().find(|name| !required.contains(name.as_str())) {
            found.push(format!("{place}: strict, but `{missing}` is not required"));
        }
        if schema["additionalProperties"] != false {
            found.push(format!("{place}: strict, but `additionalProperties` is not false"));
        }
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| check_strict(value, place, found)),
        Value::Array(items) => items.iter().for_each(|value| check_strict(value, place, found)),
        _ => {}
    }
}
