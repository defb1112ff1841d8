//! A server that answers as it is told and remembers what it was sent.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What a server was sent.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) raw: String,
    pub(super) body: Value,
}

/// A running server; it ends with the test's runtime.
pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers every request with what `answer` makes of it.
    pub(super) async fn start<F>(answer: F) -> Self
    where
        F: Fn(Seen) -> BoxFuture<'static, Response> + Clone + Send + Sync + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let app = axum::Router::new().fallback(move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let request = Seen {
                path: uri.to_string(),
                headers,
                raw: String::from_utf8(body.to_vec()).unwrap(),
                body: serde_json::from_slice(&body).unwrap(),
            };
            log.lock().unwrap().push(request.clone());
            answer(request)
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, seen }
    }

    /// Answers every request alike.
    pub(super) async fn constant(status: u16, body: impl Into<String>) -> Self {
        let body: String = body.into();
        Self::start(move |_| ready(answer(status, &[], body.clone()))).await
    }

    /// What it was sent so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The paths it was sent to so far, without the base.
    pub(super) fn paths(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.path.trim_start_matches("/v1").to_owned()).collect()
    }
}

/// An answer that is there at once.
pub(super) fn ready(response: Response) -> BoxFuture<'static, Response> {
    Box::pin(std::future::ready(response))
}

pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

pub(super) fn error(status: u16, message: &str, code: Option<&str>, param: Option<&str>) -> Response {
    let body = json!({ "error": { "message": message, "type": "t", "param": param, "code": code } });
    answer(status, &[("content-type", "application/json")], body.to_string())
}

/// A good answer of the API at that path.
pub(super) fn good(path: &str) -> Response {
    let body = if path.ends_with("/responses") {
        json!({ "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "from responses" }] }] })
    } else {
        json!({ "choices": [{ "message": { "content": "from chat" }, "finish_reason": "stop" }] })
    };
    answer(200, &[], body.to_string())
}

/// A server below HTTP: reads a request and writes those bytes, then closes.
pub(super) async fn raw(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all(bytes).await;
        }
    });
    url
}
