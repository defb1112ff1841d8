//! Bodies and streams of real servers, each as the first answer of a call; further answers are regular.
//!
//! A body is a file of its own in `dialects`, or a section of a text there: `=== <APIs>: <name>`, then optional parts
//! after `|` (a status, a header, `schema` or `stream` for a request for one), and the body in the lines below. A file is
//! played with retries, a section as one attempt. `dialects.txt` is the table of outcomes, which `UPDATE_DIALECTS=1`
//! writes:
//! `<API>: <name> | requests | end | tokens | cost | text or error | the rest`.

use std::fs;
use std::path::PathBuf;

use futures_util::{StreamExt as _, stream};

use crate::{Caller, FailedCall, FinishReason, ToolSpec, Turn};
use dialectic_base::call::{ToolCall, ToolResult};

use super::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/openai/tests/dialects")
}

/// The file names, sorted.
fn files() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    files
}

/// The answer in a file, whose name contains its kind, and its status if not 200.
fn recorded(name: &str) -> HttpAnswer {
    let body = fs::read(folder().join(name)).unwrap();
    let mut parts = name.rsplit('.');
    let (kind, status) = (parts.next().unwrap(), parts.next().and_then(|part| part.parse().ok()).unwrap_or(200));
    match kind {
        "sse" => HttpAnswer::raw("text/event-stream", body),
        "body" => HttpAnswer::raw("application/json", body).header("content-encoding", "gzip"),
        _ => HttpAnswer::raw("application/json", body),
    }
    .status(status)
}

/// What to request.
#[derive(Clone, Copy, Default)]
struct Wishes {
    schema: bool,
    stream: bool,
    retries: bool,
}

/// The answers in the sections of a text, with their APIs, names and requests.
fn sections(text: &str) -> impl Iterator<Item = (Vec<&str>, &str, HttpAnswer, Wishes)> {
    text.split("=== ").skip(1).map(|section| {
        let (head, body) = section.split_once('\n').unwrap();
        let body = body.strip_suffix('\n').unwrap_or(body).to_owned();
        let mut parts = head.split(" | ");
        let (apis, name) = parts.next().unwrap().split_once(": ").unwrap();
        let is_stream = ["data:", "event:", ":"].iter().any(|field| body.starts_with(field));
        let kind = if is_stream { "text/event-stream" } else { "application/json" };
        let (mut answer, mut wishes) = (HttpAnswer::raw(kind, body), Wishes { stream: is_stream, ..Wishes::default() });
        for part in parts {
            match (part.parse(), part.split_once(": ")) {
                (Ok(status), _) => answer = answer.status(status),
                (_, Some((name, value))) => answer = answer.header(name, value),
                _ if part == "schema" => wishes.schema = true,
                _ if part == "stream" => wishes.stream = true,
                _ => panic!("{head}"),
            }
        }
        (apis.split(", ").collect(), name, answer, wishes)
    })
}

fn api_of(name: &str) -> ApiKind {
    if name.contains("responses") { ApiKind::Responses } else { ApiKind::Chat }
}

fn caller(client: OpenAiClient) -> Caller {
    fixture::caller(Arc::new(client), Timeouts { first_token: IDLE, idle: IDLE }, 2)
}

/// How the last request differs from the first.
fn changes(requests: &[Arc<Incoming>]) -> String {
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return String::new() };
    if first.path != last.path {
        return format!("by {}", last.path);
    }
    let fields = first.body.as_object().unwrap().iter();
    let changed =
        fields.filter(|(name, value)| last.body.get(*name) != Some(value)).map(|(name, _)| match last.body.get(name) {
            Some(value) if value.is_number() => format!("{name} {value}"),
            Some(value) if name == "messages" => format!("messages by {}", value[0]["role"]),
            Some(_) => name.clone(),
            None => format!("no {name}"),
        });
    changed.collect::<Vec<_>>().join(", ")
}

/// A row of the table.
async fn played(http: &HttpClient, name: String, api: ApiKind, answer: HttpAnswer, wishes: Wishes) -> String {
    let has_retries = wishes.retries;
    let server = Server::with(move |seen| if seen.index == 0 { answer.clone() } else { regular(&seen.path) });
    let endpoint = Endpoint { streams: wishes.stream, ..endpoint(&server.base_url(), api) };
    let client = OpenAiClient::new(endpoint, http).unwrap();
    let answer = wishes.schema.then(score);
    let request = Request { max_tokens: Some(9000), answer, ..request() };
    let (outcome, heard) = if has_retries {
        let outcome = caller(client).call(&request).await;
        let outcome = outcome.map(|reply| {
            let usage = StatedUsage { tokens: reply.record.tokens, cost: reply.record.cost_usd };
            (reply, usage)
        });
        let failed = outcome.map_err(|FailedCall { error, spent, .. }| {
            let spent = spent.as_deref();
            let usage = StatedUsage { tokens: spent.and_then(|it| it.tokens), cost: spent.and_then(|it| it.cost_usd) };
            FailedAttempt { error, usage, may_be_billed: false }
        });
        (failed, Vec::new())
    } else {
        let (outcome, heard) = follow(&client, &request, IDLE).await;
        (
            outcome.map(|reply| {
                let usage = reply.usage();
                (reply, usage)
            }),
            heard,
        )
    };
    let mut rest = Vec::new();
    let (end, usage, text) = match outcome {
        Ok((reply, usage)) => {
            let word = reply.finish_word.map(|word| format!(" {word}")).unwrap_or_default();
            let calls = reply.tool_calls.iter();
            rest.extend(calls.map(|call| format!("{} calls {}({})", call.id, call.name, call.arguments)));
            rest.extend(reply.served_model.filter(|_| !has_retries));
            (format!("{:?}{word}", reply.finish).to_lowercase(), usage, reply.text)
        }
        Err(FailedAttempt { error, usage, may_be_billed }) => {
            rest.extend(error.is_server_gone().then(|| "gone".to_owned()));
            rest.extend(error.retry_after().filter(|_| !has_retries).map(|wait| format!("after {wait:?}")));
            rest.extend(may_be_billed.then(|| "billed".to_owned()));
            (error.kind().to_owned(), usage, error.to_string().replace(&server.base_url(), "<url>"))
        }
    };
    let said = heard.concat();
    rest.extend((!heard.is_empty() && said != text).then(|| format!("heard {said:?}")));
    let tokens = usage.tokens.map_or("-".to_owned(), |tokens| {
        let cached = tokens.cached_input_tokens;
        let cached = if cached > 0 { format!(" ({cached} cached)") } else { String::new() };
        format!("{}{cached}+{}", tokens.input_tokens, tokens.output_tokens)
    });
    let cost = usage.cost.map_or("-".to_owned(), |cost| cost.dollars().to_string());
    let requests = server.requests();
    rest.extend(Some(changes(&requests)).filter(|changes| !changes.is_empty()));
    let line = format!("{name} | {} | {end} | {tokens} | {cost} | {text:?} | {}", requests.len(), rest.join("; "));
    line.trim_end_matches([' ', '|']).to_owned()
}

#[tokio::test]
async fn every_dialect_is_understood() {
    // Creating a client takes longer than using it.
    let http = http_client(None).unwrap();
    let mut plays = Vec::new();
    for file in files() {
        // Pairs have their own test.
        if file.rsplit('.').next() == Some("txt") {
            for (apis, name, answer, wishes) in sections(&fs::read_to_string(folder().join(&file)).unwrap()) {
                for api in apis {
                    let kind = match api {
                        "auto" => ApiKind::Auto,
                        "responses" => ApiKind::Responses,
                        "chat" => ApiKind::Chat,
                        other => panic!("{other}: {name}"),
                    };
                    plays.push(played(&http, format!("{api}: {name}"), kind, answer.clone(), wishes));
                }
            }
        } else if !file.starts_with("tools-") {
            let wishes = Wishes { stream: true, retries: true, schema: false };
            plays.push(played(&http, file.clone(), api_of(&file), recorded(&file), wishes));
        }
    }
    let lines: Vec<String> = stream::iter(plays).buffered(256).collect().await;
    let table = folder().with_extension("txt");
    let expected = fs::read_to_string(&table).unwrap_or_default();
    if std::env::var_os("UPDATE_DIALECTS").is_some() {
        fs::write(&table, lines.join("\n") + "\n").unwrap();
    }
    let expected: Vec<&str> = expected.lines().collect();
    let differences: Vec<&String> = lines.iter().filter(|line| !expected.contains(&line.as_str())).collect();
    assert!(differences.is_empty(), "not in the table: {differences:#?}");
    assert_eq!(expected.len(), lines.len(), "the table has lines without a body");
}

/// Whether `sent` contains all of `part`: an object's fields, and a list's elements in order.
fn contains(sent: &Value, part: &Value) -> bool {
    match (sent, part) {
        (Value::Object(sent), Value::Object(part)) => {
            part.iter().all(|(name, part)| sent.get(name).is_some_and(|sent| contains(sent, part)))
        }
        (Value::Array(sent), Value::Array(part)) => {
            sent.len() == part.len() && sent.iter().zip(part).all(|(sent, part)| contains(sent, part))
        }
        (sent, part) => sent == part,
    }
}

/// What must be returned: the original message without nulls and indices of calls.
fn must_return(name: &str) -> Value {
    if name.ends_with("sse") {
        return json!({"tool_calls": [{"extra_content": {"google": {"thought_signature": "c2ln"}}}]});
    }
    let answer: Value = serde_json::from_slice(&fs::read(folder().join(name)).unwrap()).unwrap();
    let mut message = answer.get("output").unwrap_or(&answer["choices"][0]["message"]).clone();
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        fields["tool_calls"].as_array_mut().unwrap().iter_mut().for_each(|call| {
            call.as_object_mut().unwrap().remove("index");
        });
    }
    message
}

#[tokio::test]
async fn a_message_with_tool_calls_goes_back_as_it_came() {
    let pairs = files().into_iter().filter(|name| name.contains(".first-answer."));
    for name in pairs {
        let (part, first) = (must_return(&name), recorded(&name));
        let refusal = recorded(&format!("{}.400.json", name.split('.').next().unwrap()));
        let server = Server::with(move |seen| {
            let sent = match seen.body["input"].as_array() {
                Some(input) => Value::from(input[1..input.len().min(3)].to_vec()),
                None => seen.body["messages"][2].clone(),
            };
            match seen.index {
                0 => first.clone(),
                _ if contains(&sent, &part) => regular(&seen.path),
                _ => refusal.clone(),
            }
        });
        let client = caller(streaming(&server, api_of(&name)));
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: "Reads a file.".to_owned(),
            parameters: json!({"type": "object"}),
        };
        let mut request = Request { tools: Arc::new([spec("file_read")]), ..request() };
        let reply = client.call(&request).await.unwrap();
        let result = ToolResult {
            tool_call_id: reply.tool_calls[0].id.clone(),
            role: "tool".to_owned(),
            content: "{}".to_owned(),
        };
        let Reply { text, tool_calls: calls, message, .. } = reply;
        request.turns = vec![Turn::Assistant { text, calls, message }, Turn::ToolResults(vec![result])];
        let answered = client.call(&request).await;
        let sent = server.requests().last().unwrap().sent.clone();
        assert_eq!(answered.map(|call| call.text).as_deref(), Ok("Because."), "{name}: {sent}");
        assert_eq!(server.paths().len(), 2, "{name}");
    }
}

#[tokio::test]
async fn a_model_that_takes_back_no_more_than_text_and_calls_gets_no_more() {
    let refusal = json!({"error": {"message": "property 'messages.2.reasoning_content' is unsupported"}});
    let server = Server::with(move |seen| {
        if seen.sent.contains("reasoning_content") { answer_json(400, &refusal) } else { regular(&seen.path) }
    });
    let client = client(&server, ApiKind::Chat);
    let message = json!({"role": "assistant", "content": "Hm.", "reasoning_content": "Perhaps."});
    let turn = Turn::Assistant { text: "Hm.".to_owned(), calls: vec![], message: Some(message) };
    let request = Request { turns: vec![turn, Turn::User("And?".to_owned())], ..request() };
    for requests in [2, 3] {
        assert_eq!(complete(&client, &request).await, Ok(because()));
        assert_eq!(server.paths().len(), requests);
    }

    // It keeps its tools, although the refusal names tool calls.
    let refusal = json!({"error": {"message": "'messages.2.tool_calls.0': property 'extra_content' is unsupported"}});
    let server = Server::with(move |seen| {
        if seen.sent.contains("extra_content") { answer_json(400, &refusal) } else { regular(&seen.path) }
    });
    let client = self::client(&server, ApiKind::Chat);
    let function = json!({"name": "look", "arguments": "{}"});
    let call = json!({"id": "call_1", "type": "function", "function": function, "extra_content": {"google": {}}});
    let request = after_a_call(Some(json!({"role": "assistant", "content": null, "tool_calls": [call]})));
    for requests in [2, 3] {
        assert_eq!(complete(&client, &request).await, Ok(because()));
        assert_eq!(server.paths().len(), requests);
    }
    assert!(server.requests().iter().all(|seen| seen.body["tools"].is_array()));
}

/// A request with optional tools, after the model called one. `message` is its original message.
fn after_a_call(message: Option<Value>) -> Request {
    let call = ToolCall { id: "call_1".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() };
    let results = vec![ToolResult::error(&call, "nothing there")];
    let turn = Turn::Assistant { text: String::new(), calls: vec![call], message };
    let tool = ToolSpec { name: "look".to_owned(), description: String::new(), parameters: json!({}) };
    let turns = vec![turn, Turn::ToolResults(results)];
    Request { turns, tools: [tool].into(), tools_are_optional: true, ..request() }
}

#[tokio::test]
async fn a_model_that_has_called_tools_keeps_them() {
    let refusal = json!({"error": {"message": "messages.2.tool_calls: an empty content is unsupported"}});
    let server = Server::with(move |_| answer_json(400, &refusal));
    complete(&client(&server, ApiKind::Chat), &after_a_call(None)).await.unwrap_err();
    assert_eq!(server.paths().len(), 1);
}

#[tokio::test]
async fn a_model_without_tools_is_not_offered_optional_ones_again() {
    for (status, refusal) in [
        (400, "registry.ollama.ai/library/gemma3:latest does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        (500, "tools param requires --jinja flag"),
        (400, "deepseek-reasoner does not support Function Calling"),
        (400, "Function calling is not enabled for this model"),
        (400, "Unsupported parameter: 'tools'"),
    ] {
        let body = json!({"error": {"message": refusal}});
        let server =
            Server::with(
                move |seen| {
                    if seen.body["tools"].is_array() { answer_json(status, &body) } else { regular(&seen.path) }
                },
            );
        let client = client(&server, ApiKind::Chat);
        let tool = ToolSpec { name: "look".to_owned(), description: String::new(), parameters: json!({}) };
        let request = Request { tools: [tool].into(), ..request() };
        assert!(complete(&client, &request).await.is_err(), "{refusal}");
        let optional = Request { tools_are_optional: true, ..request };
        for requests in [3, 4] {
            assert_eq!(complete(&client, &optional).await, Ok(because()), "{refusal}");
            assert_eq!(server.paths().len(), requests, "{refusal}");
        }
    }
}

#[tokio::test]
async fn a_server_whose_streams_break_twice_alike_is_asked_for_whole_answers() {
    let broken = regular_stream(CHAT)[..2].concat();
    let server = Server::with(move |seen| {
        let streams = seen.body["stream"] == true;
        if streams { HttpAnswer::raw("text/event-stream", broken.clone()) } else { regular(&seen.path) }
    });
    let call = caller(streaming(&server, ApiKind::Chat));
    for (model, attempts, requests) in [("m-1", 2, 3), ("m-1", 1, 4), ("m-2", 1, 5)] {
        let answered = call.call(&request_for(model)).await.unwrap();
        assert_eq!((answered.text.as_str(), answered.finish), ("Because.", FinishReason::Complete));
        assert_eq!((answered.record.attempts, server.paths().len()), (attempts, requests), "{model}");
    }
}

#[tokio::test]
async fn what_a_model_refuses_is_left_out_of_all_that_follows() {
    for (name, field) in [
        ("temp-kimi.400.json", "temperature"),
        ("system-gemma.400.json", "instructions"),
        ("maxtokens-groq.400.json", "max_tokens"),
    ] {
        let refusal = recorded(name);
        let server = Server::with(move |seen| {
            let has_system = seen.messages.iter().any(|message| message.role == "system");
            let is_refused = match field {
                "instructions" => has_system,
                "max_tokens" => seen.max_tokens() > Some(8192),
                field => seen.body.get(field).is_some(),
            };
            if is_refused { refusal.clone() } else { regular(&seen.path) }
        });
        let client = client(&server, ApiKind::Chat);
        let request = Request { max_tokens: Some(9000), ..request() };
        for requests in [2, 3] {
            assert_eq!(complete(&client, &request).await, Ok(because()), "{name}");
            assert_eq!(server.paths().len(), requests, "{name}");
        }
        if field == "instructions" {
            let sent = server.requests()[2].body["messages"].clone();
            assert_eq!(sent, json!([{"role": "user", "content": "Be brief.\n\nWhy?"}]));
        }
    }
}
