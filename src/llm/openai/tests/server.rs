//! A server that answers as a test wants and remembers what it was sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

/// What was sent.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    sent: Sent,
    delay: Duration,
    together: Option<Arc<Barrier>>,
}

/// How a body is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sent {
    Whole,
    /// In chunks, its length not declared.
    Chunked,
    /// Up to its half, then the connection breaks.
    Cut,
    /// Piece by piece, then as it says.
    Pieces(Vec<Bytes>, End),
}

/// What follows on the last piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Regular,
    /// The connection breaks.
    Break,
    /// Nothing, for ever.
    Silence,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, body.to_string()).header("content-type", "application/json")
    }

    pub(super) fn text(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: vec![], body: body.into(), sent: Sent::Whole, delay: Duration::ZERO, together: None }
    }

    /// A stream of events that arrives in these pieces.
    pub(super) fn events(pieces: impl IntoIterator<Item = impl Into<Bytes>>, end: End) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        let stream = Self { sent: Sent::Pieces(pieces, end), ..Self::text(200, "") };
        stream.header("content-type", "text/event-stream; charset=utf-8")
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn chunked(self) -> Self {
        Self { sent: Sent::Chunked, ..self }
    }

    pub(super) fn cut(self) -> Self {
        Self { sent: Sent::Cut, ..self }
    }

    pub(super) fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Not before as many requests are there as `all` counts.
    pub(super) fn together(self, all: &Arc<Barrier>) -> Self {
        Self { together: Some(Arc::clone(all)), ..self }
    }

    async fn into_response(self) -> Response<Body> {
        if let Some(all) = &self.together {
            all.wait().await;
        }
        tokio::time::sleep(self.delay).await;
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(*name, value);
        }
        let half = self.body.len() / 2;
        let body = match self.sent {
            Sent::Whole => Body::from(self.body),
            Sent::Chunked => {
                let chunk = |chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk));
                let chunks: Vec<_> = self.body.chunks(1 << 16).map(chunk).collect();
                Body::from_stream(stream::iter(chunks))
            }
            Sent::Cut => {
                response = response.header("content-length", self.body.len());
                let first = self.body.slice(..half);
                Body::from_stream(stream::unfold(Some(first), |first| async move {
                    if let Some(first) = first {
                        return Some((Ok(first), None));
                    }
                    // Without a pause the break overtakes the first half.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), None))
                }))
            }
            Sent::Pieces(pieces, end) => {
                Body::from_stream(stream::unfold(pieces.into_iter(), move |mut rest| async move {
                    // Else the network would join the pieces.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    match (rest.next(), end) {
                        (Some(piece), _) => Some((Ok(piece), rest)),
                        (None, End::Regular) => None,
                        (None, End::Break) => {
                            Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), rest))
                        }
                        (None, End::Silence) => std::future::pending().await,
                    }
                }))
            }
        };
        response.body(body).unwrap()
    }
}

/// A running server; it ends when dropped.
pub(super) struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers every request with what `answer` makes of it.
    pub(super) async fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), Arc::clone(&seen));
        let router = Router::new().fallback(move |request: Request<Body>| {
            let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let seen = Seen {
                    path: head.uri.path().to_owned(),
                    query: head.uri.query().map(str::to_owned),
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                log.lock().unwrap().push(seen.clone());
                answer(&seen).into_response().await
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { port, seen, task }
    }

    /// The base URL that clients are given.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Everything so far, in the order of arrival.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Where it went.
    pub(super) fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }

    /// How many requests went to `path`.
    pub(super) fn count(&self, path: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path == path).count()
    }
}
