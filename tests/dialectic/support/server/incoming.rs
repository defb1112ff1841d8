//! A request as the mock server saw it, whichever of the two APIs it used.

use serde_json::Value;

/// The API that a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/chat/completions`
    Chat,
}

/// What a request asks for, as far as its text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Purpose {
    /// `{"questions": []}`
    Clarify,
    Propose,
    Critique,
    Refine,
    Summarize,
    /// `{"reason": "", "confidence": 0}`
    Confidence,
    /// `{"reason": "", "choice": "1", "confidence": 0}`
    Vote,
    /// The judge's solution, and its assessment as a block of JSON.
    Synthesize,
    /// The assessment alone, of a solution that came without.
    Assess,
    /// An evaluator's scores.
    Evaluate,
    /// Text, and the kit cannot tell what for.
    Text,
}

/// A message of a request: system text, prompt, or what followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// `system`, `user`, `assistant`, or `tool`.
    pub(crate) role: String,
    /// Its text; of tool calls, their arguments.
    pub(crate) text: String,
}

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Counted from 0 over all requests of the server.
    pub(crate) index: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// Names in lower case, in the order of arrival.
    pub(crate) headers: Vec<(String, String)>,
    /// The body as it came.
    pub(crate) sent: String,
    /// The body; null when it is not JSON.
    pub(crate) body: Value,
    /// Absent when the path is none of theirs.
    pub(crate) api: Option<Api>,
    pub(crate) messages: Vec<Message>,
    pub(crate) purpose: Purpose,
    /// A hash of model and messages: the same for the same question, whichever API carries it.
    pub(crate) digest: u64,
    /// How many requests with the same digest and path came before: 0 for a first attempt.
    pub(crate) repeats: usize,
}

impl Incoming {
    /// Reads a request; `index` and `repeats` are the server's to set.
    pub(crate) fn read(method: &str, target: &str, headers: Vec<(String, String)>, body: &[u8]) -> Self {
        let sent = String::from_utf8_lossy(body).into_owned();
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let api = match path {
            "/v1/responses" => Some(Api::Responses),
            "/v1/chat/completions" => Some(Api::Chat),
            _ => None,
        };
        let messages = messages_of(&body);
        let purpose = purpose_of(&body, &messages);
        let mut digest = fnv(0xcbf2_9ce4_8422_2325, body["model"].as_str().unwrap_or_default());
        for message in &messages {
            digest = fnv(fnv(digest, &message.role), &message.text);
        }
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.map(str::to_owned));
        Self { index: 0, method, path, query, headers, sent, body, api, messages, purpose, digest, repeats: 0 }
    }

    /// The model that is asked.
    pub(crate) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The system text.
    pub(crate) fn system(&self) -> &str {
        self.first("system")
    }

    /// The user's text: the first one, second chances come after it.
    pub(crate) fn prompt(&self) -> &str {
        self.first("user")
    }

    /// What it is to do, in the words of the heading that every prompt ends with; empty where there is none. What
    /// stands before that heading is other agents' text and may hold anything.
    pub(crate) fn task(&self) -> &str {
        let prompt = self.prompt();
        let last = prompt.rfind("\n# ").map_or(prompt, |start| &prompt[start + 1..]);
        last.lines().next().and_then(|heading| heading.strip_prefix("# Your task: ")).unwrap_or_default()
    }

    /// All that the model reads, in its order.
    pub(crate) fn text(&self) -> String {
        self.messages.iter().map(|message| message.text.as_str()).collect()
    }

    /// What tools answered, in order.
    pub(crate) fn tool_results(&self) -> Vec<&str> {
        let of_tools = self.messages.iter().filter(|message| message.role == "tool");
        of_tools.map(|message| message.text.as_str()).collect()
    }

    /// The names of the tools that are offered.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["name"].as_str().or_else(|| tool["function"]["name"].as_str())).collect()
    }

    /// The output limit asked for, in tokens, by whichever name.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let names = ["max_output_tokens", "max_completion_tokens", "max_tokens"];
        names.iter().find_map(|name| self.body[name].as_u64())
    }

    /// The JSON schema that the answer must follow.
    pub(crate) fn schema(&self) -> Option<&Value> {
        schema_of(&self.body)
    }

    fn first(&self, role: &str) -> &str {
        self.messages.iter().find(|message| message.role == role).map_or("", |message| &message.text)
    }
}

fn schema_of(body: &Value) -> Option<&Value> {
    body.pointer("/text/format/schema").or_else(|| body.pointer("/response_format/json_schema/schema"))
}

fn messages_of(body: &Value) -> Vec<Message> {
    let message = |role: &str, text: String| Message { role: role.to_owned(), text };
    let mut messages = Vec::new();
    if let Some(text) = body["instructions"].as_str() {
        messages.push(message("system", text.to_owned()));
    }
    if let Some(text) = body["input"].as_str() {
        messages.push(message("user", text.to_owned()));
    }
    let items = body["input"].as_array().or_else(|| body["messages"].as_array()).into_iter().flatten();
    for item in items {
        if let Some(text) = item.as_str() {
            messages.push(message("user", text.to_owned()));
            continue;
        }
        match item["type"].as_str() {
            Some("function_call") => messages.push(message("assistant", text_of(&item["arguments"]))),
            Some("function_call_output") => messages.push(message("tool", text_of(&item["output"]))),
            _ => {
                let role = item["role"].as_str().unwrap_or_default();
                let calls = item["tool_calls"].as_array().into_iter().flatten();
                let arguments: String = calls.map(|call| text_of(&call["function"]["arguments"])).collect();
                let role = if role == "developer" { "system" } else { role };
                messages.push(message(role, text_of(&item["content"]) + &arguments));
            }
        }
    }
    messages
}

/// The text of a content that is a string or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// By the schema where there is one; else by the keys and the heading of the task, which every prompt ends with. What
/// stands before the task is other agents' text and may hold anything.
fn purpose_of(body: &Value, messages: &[Message]) -> Purpose {
    let keyed = |has: &dyn Fn(&str) -> bool| {
        let by_key = [
            ("functional_completeness", Purpose::Evaluate),
            ("unfulfilledMajorRequirements", Purpose::Assess),
            ("questions", Purpose::Clarify),
            ("choice", Purpose::Vote),
            ("confidence", Purpose::Confidence),
        ];
        by_key.into_iter().find(|(key, _)| has(key)).map(|(_, purpose)| purpose)
    };
    if let Some(schema) = schema_of(body) {
        let schema = schema.to_string();
        return keyed(&|key| schema.contains(&format!("\"{key}\":"))).unwrap_or(Purpose::Text);
    }
    let prompt = messages.iter().find(|message| message.role == "user").map_or("", |message| &message.text);
    let task = prompt.rfind("\n# ").map_or(prompt, |start| &prompt[start..]);
    let heading = task.trim_start().lines().next().unwrap_or_default();
    // Their tasks name the keys of the block that the answer ends with.
    if heading.contains("synthesise") || heading.contains("merge") {
        return Purpose::Synthesize;
    }
    keyed(&|key| task.contains(&format!("\"{key}\"")) || task.contains(&format!("`{key}`"))).unwrap_or_else(|| {
        let by_heading = [
            ("propose", Purpose::Propose),
            ("critique", Purpose::Critique),
            ("refine", Purpose::Refine),
            ("summarise", Purpose::Summarize),
        ];
        by_heading.into_iter().find(|(word, _)| heading.contains(word)).map_or(Purpose::Text, |(_, purpose)| purpose)
    })
}

/// FNV-1a: stable over platforms and compiler versions, unlike the standard library's hasher.
fn fnv(start: u64, text: &str) -> u64 {
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
