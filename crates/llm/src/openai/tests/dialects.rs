//! Bodies and streams that real servers send, a file each: what comes of a call whose first answer is the file, and any
//! further one regular. The table is `dialects.txt`.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use futures_util::future::join_all;

use crate::{Caller, CallerLimits, ConcurrencyLimit, FinishReason, ToolSpec, Turn};
use dialectic_base::money::Usd;
use dialectic_base::tool_call::ToolResult;

use super::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/openai/tests/dialects")
}

/// The names of the files, sorted.
fn files() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    files
}

/// The answer in a file: its name has the status, if that is not 200, and the kind.
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

fn api_of(name: &str) -> ApiKind {
    if name.contains("responses") { ApiKind::Responses } else { ApiKind::Chat }
}

fn caller(client: OpenAiClient) -> Caller {
    Caller {
        chat: Arc::new(client),
        provider: "local".into(),
        price: None,
        timeouts: Timeouts { first_token: IDLE, idle: IDLE },
        silence: None,
        limits: CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 2 },
        account: None,
        observer: None,
    }
}

/// The fields of the last request that the first had otherwise.
fn changes(requests: &[Arc<Incoming>]) -> String {
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return String::new() };
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

/// A line of the table: file, requests, how it ended, tokens, cost, text or message, changes of the last request.
async fn played(name: &str) -> String {
    let answer = recorded(name);
    let server = Server::with(move |seen| {
        let is_first = seen.index == 0;
        if is_first { answer.clone() } else { regular(&seen.path) }
    });
    let call = caller(streaming(&server, api_of(name)));
    let outcome = call.call(&Request { max_tokens: Some(9000), ..request() }).await;
    let (end, tokens, cost, text) = match outcome {
        Ok(call) => {
            let word = call.reply.finish_word.map(|word| format!(" {word}")).unwrap_or_default();
            let end = format!("{:?}{word}", call.reply.finish).to_lowercase();
            (end, call.record.tokens, call.record.cost_usd, call.reply.text)
        }
        Err(failed) => {
            let spent = failed.spent.as_deref();
            let (tokens, cost) = (spent.and_then(|it| it.tokens), spent.and_then(|it| it.cost_usd));
            (failed.error.kind().to_owned(), tokens, cost, failed.error.to_string())
        }
    };
    let tokens = tokens.map_or("-".to_owned(), |tokens| format!("{}+{}", tokens.input_tokens, tokens.output_tokens));
    let cost = cost.map_or("-".to_owned(), |cost| Usd::dollars(cost).to_string());
    let requests = server.requests();
    let text = text.replace(&server.base_url(), "<url>");
    let line = format!("{name} | {} | {end} | {tokens} | {cost} | {text:?} | {}", requests.len(), changes(&requests));
    line.trim_end_matches([' ', '|']).to_owned() + "\n"
}

#[tokio::test]
async fn every_dialect_is_understood() {
    let files = files();
    // Pairs have a test of their own.
    let lines = join_all(files.iter().filter(|name| !name.starts_with("tools-")).map(|name| played(name))).await;
    let expected = fs::read_to_string(folder().with_extension("txt")).unwrap_or_default();
    let mut differences = String::new();
    for line in &lines {
        if !expected.contains(line) {
            write!(differences, "{line}").unwrap();
        }
    }
    assert!(differences.is_empty(), "not in the table:\n{differences}");
    assert_eq!(expected.lines().count(), lines.len(), "the table has lines without a file");
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

/// What must come back: the message as it came, without its nulls and the positions of its calls.
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
        let reply = client.call(&request).await.unwrap().reply;
        let result = ToolResult {
            tool_call_id: reply.tool_calls[0].id.clone(),
            role: "tool".to_owned(),
            content: "{}".to_owned(),
        };
        let Reply { text, tool_calls: calls, message, .. } = reply;
        request.turns = vec![Turn::Assistant { text, calls, message }, Turn::ToolResults(vec![result])];
        let answered = client.call(&request).await;
        let sent = server.requests().last().unwrap().sent.clone();
        assert_eq!(answered.map(|call| call.reply.text).as_deref(), Ok("Because."), "{name}: {sent}");
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
        assert_eq!((answered.reply.text.as_str(), answered.reply.finish), ("Because.", FinishReason::Complete));
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
