//! Tests of the kit: what they show to work, the other tests may rely on. Small ones stand with what they test.

mod call_graph;
mod check;
mod incoming;
mod prefix;
mod sandbox;
mod server;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Api, Incoming, MockServer};

/// An HTTP answer, as far as it came.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The body is all that the head announced.
    fn is_whole(&self) -> bool {
        self.head.to_lowercase().contains(&format!("content-length: {}\r\n", self.body.len()))
    }
}

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

fn with_schema(api: Api, schema: &Value) -> Value {
    let mut body = question(api, "s", "p");
    match api {
        Api::Responses => {
            body["text"] = json!({"format": {"type": "json_schema", "name": "n", "strict": true, "schema": schema}});
        }
        Api::Chat => {
            let spec = json!({"name": "n", "strict": true, "schema": schema});
            body["response_format"] = json!({"type": "json_schema", "json_schema": spec});
        }
    }
    body
}

fn schema(keys: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": keys, "additionalProperties": false})
}

fn incoming(api: Api, body: &Value) -> Incoming {
    let headers = [("content-type", "application/json"), ("authorization", "Bearer k")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Incoming::read("POST", path(api), headers, body.to_string().as_bytes())
}

/// Sends a request and leaves the connection open.
fn send(server: &MockServer, path: &str, body: &Value) -> TcpStream {
    let url = server.base_url();
    let host = url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(host).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Sends a request and reads until the server closes the connection.
fn post(server: &MockServer, path: &str, body: &Value) -> Answer {
    let mut stream = send(server, path, body);
    let mut bytes = Vec::new();
    // A connection that breaks is an error or an end, depending on what was still in the buffers.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
}
