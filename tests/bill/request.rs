//! A request as a provider reads it: what it can be billed for is all here.

use std::io::{self, BufRead};

use serde_json::Value;

use crate::chance::digest;

/// The head of an HTTP request.
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    length: usize,
}

/// The API that a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
}

/// A request for an answer of a model.
pub(crate) struct Asked {
    pub(crate) api: Api,
    pub(crate) body: Value,
    /// Role and text of each message, the instructions among them.
    pub(crate) messages: Vec<(String, String)>,
}

impl Head {
    /// The next request of a connection; nothing at its end.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        // Through a proxy a request names the server, too.
        let path =
            path.strip_prefix("http://").and_then(|rest| Some(rest[rest.find('/')?..].to_owned())).unwrap_or(path);
        let mut length = 0;
        loop {
            line.clear();
            if from.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap_or(0);
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(Some(Self { method, path, length }))
    }

    pub(crate) fn read_body(&self, from: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = vec![0; self.length];
        from.read_exact(&mut body)?;
        Ok(body)
    }
}

impl Asked {
    /// Nothing where the body is no JSON.
    pub(crate) fn read(api: Api, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let mut messages = Vec::new();
        if let Some(text) = body["instructions"].as_str() {
            messages.push(("system".to_owned(), text.to_owned()));
        }
        if let Some(text) = body["input"].as_str() {
            messages.push(("user".to_owned(), text.to_owned()));
        }
        let items = body["messages"].as_array().or_else(|| body["input"].as_array());
        for item in items.into_iter().flatten() {
            messages.push((item["role"].as_str().unwrap_or_default().to_owned(), text_of(&item["content"])));
        }
        Some(Self { api, body, messages })
    }

    pub(crate) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The output limit; who names none may be answered at any length.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let names = ["max_output_tokens", "max_completion_tokens", "max_tokens"];
        names.iter().find_map(|name| self.body[name].as_u64())
    }

    pub(crate) fn is_for_a_stream(&self) -> bool {
        self.body["stream"] == true
    }

    pub(crate) fn schema(&self) -> Option<&Value> {
        let places = ["/text/format/schema", "/response_format/json_schema/schema"];
        places.iter().find_map(|place| self.body.pointer(place))
    }

    /// The bytes that the model reads: its texts, the tools and the form that are put before it.
    pub(crate) fn bytes(&self) -> usize {
        let texts: usize = self.messages.iter().map(|(_, text)| text.len()).sum();
        let beside = |value: Option<&Value>| value.map_or(0, |value| value.to_string().len());
        texts + beside(self.schema()) + beside(self.body.get("tools"))
    }

    /// The user's text.
    pub(crate) fn prompt(&self) -> &str {
        self.messages.iter().find(|(role, _)| role == "user").map_or("", |(_, text)| text)
    }

    /// What is to be done, by the heading of the task that every prompt ends with.
    pub(crate) fn task(&self) -> &str {
        let mut lines = self.prompt().lines().rev();
        lines.find_map(|line| line.strip_prefix("# Your task: ")).unwrap_or("nothing that is known")
    }

    /// Whether it goes on after an answer.
    pub(crate) fn is_again(&self) -> bool {
        self.messages.iter().any(|(role, _)| role == "assistant")
    }

    /// The same for the same question, however it is asked.
    pub(crate) fn digest(&self) -> u64 {
        let texts = self.messages.iter().flat_map(|(role, text)| [role.as_str(), text.as_str()]);
        digest(std::iter::once(self.model()).chain(texts))
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
