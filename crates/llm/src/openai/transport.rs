//! Sends a request and returns the answer, complete or as a stream of events. Makes a single attempt.

use std::error::Error as _;
use std::io::Write as _;
use std::pin::Pin;
use std::time::Duration;

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use hyper::body::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Request, Response, StatusCode};
use serde::Serialize;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::ModelError;

use super::endpoint::{Address, EndpointError, HttpClient};

/// In bytes, enough for most requests.
const USUAL_REQUEST: usize = 64 << 10;

/// In bytes.
const LONGEST_ANSWER: usize = 8 << 20;
/// In bytes. A stream wraps each word in an event of several hundred bytes.
const LONGEST_STREAM: usize = 8 * LONGEST_ANSWER;
/// In bytes, enough for servers that repeat the request in a refusal.
const LONGEST_REFUSAL: usize = 512 << 10;

/// The maximum number of bytes to read after an answer so that the connection can be reused. These bytes are usually
/// end marks and comments.
const LONGEST_REST: usize = 64 << 10;
/// How long to wait for the rest of an answer so that the connection can be reused: about one round trip.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Dropping an answer closes its connection.
pub(super) struct Streamed {
    response: Response,
    decoder: Decoder,
    read: usize,
    /// The idle timer. It is reused, because resetting is faster than creating one for every word.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Streamed {
    pub(super) fn head(&self) -> HttpAnswer {
        HttpAnswer { status: self.response.status(), headers: self.response.headers().clone(), body: Vec::new() }
    }

    /// The next bytes; `None` at the end. Fails after `idle` without data, or if the answer is interrupted or too long.
    pub(super) async fn next(&mut self, idle: Option<Duration>) -> Result<Option<Bytes>, ModelError> {
        let chunk = if let Some(idle) = idle {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(idle)));
            alarm.as_mut().reset(Instant::now() + idle);
            tokio::select! {
                biased;
                chunk = self.response.chunk() => chunk,
                () = alarm => return Err(broken(format!("the stream was idle for {idle:?}"))),
            }
        } else {
            self.response.chunk().await
        };
        let chunk = chunk.map_err(broken_off)?.map(|chunk| self.decoder.decode(chunk)).transpose()?;
        self.read += chunk.as_ref().map_or(0, Bytes::len);
        if self.read > LONGEST_STREAM {
            return Err(too_long(LONGEST_STREAM));
        }
        Ok(chunk)
    }

    /// Reads what follows an answer, so that the connection can be reused.
    pub(super) async fn drain(&mut self) {
        let rest = async {
            let mut read = 0;
            while let Ok(Some(chunk)) = self.response.chunk().await {
                read += chunk.len();
                if read > LONGEST_REST {
                    break;
                }
            }
        };
        // If the rest is too long or too slow, dropping this answer closes the connection.
        let _ = timeout(DRAIN_TIMEOUT, rest).await;
    }

    /// Reads the rest of an answer that starts with `body`. Truncates a long refusal. Fails like [`next`](Self::next).
    pub(super) async fn rest(&mut self, mut body: Vec<u8>, idle: Option<Duration>) -> Result<HttpAnswer, ModelError> {
        let is_success = self.response.status().is_success();
        loop {
            match self.next(idle).await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                // The status suffices to report a refusal.
                Err(ModelError::Unusable { .. }) if !is_success => break,
                Err(error) => return Err(error),
            }
            if !is_success && body.len() > LONGEST_REFUSAL {
                break;
            }
            if body.len() > LONGEST_ANSWER {
                return Err(too_long(LONGEST_ANSWER));
            }
        }
        Ok(HttpAnswer { body, ..self.head() })
    }
}

pub(super) struct Transport {
    pub(super) address: Address,
    client: Client,
    /// The proxy's URL for messages; `None` without a proxy.
    proxy: Option<String>,
}

impl Transport {
    pub(super) fn new(address: Address, http: &HttpClient) -> Result<Self, EndpointError> {
        let (client, proxy) = http.route(&address.base)?;
        Ok(Self { address, client, proxy })
    }

    /// Returns `Ok` for HTTP error statuses too, except when the proxy requires a password.
    pub(super) async fn post(&self, path: &str, body: &(impl Serialize + Sync)) -> Result<Streamed, ModelError> {
        let mut json = Vec::with_capacity(USUAL_REQUEST);
        serde_json::to_writer(&mut json, body).map_err(|error| unsendable(&error.to_string()))?;
        // The buffer is kept until the answer arrives, possibly for a hundred calls at the same time.
        json.shrink_to_fit();
        let request = self
            .client
            .post(self.address.url(path))
            .headers(self.address.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT_ENCODING, "identity")
            .body(json)
            .build()
            .map_err(|error| unsendable(&root_cause(error)))?;
        self.send(request).await
    }

    /// Returns `Ok` for HTTP error statuses too, except when the proxy requires a password.
    pub(super) async fn get(&self, path: &str) -> Result<HttpAnswer, ModelError> {
        let request = self.client.get(self.address.url(path)).headers(self.address.headers.clone()).build();
        let request = request.map_err(|error| unsendable(&root_cause(error)))?;
        self.send(request).await?.rest(Vec::new(), None).await
    }

    /// Sends a request once. The client opens a second connection only if a kept-alive connection was closed before
    /// anything was written. Otherwise, the server may have processed the request, so this returns an error.
    async fn send(&self, request: Request) -> Result<Streamed, ModelError> {
        let response = self.client.execute(request).await.map_err(|error| self.failure(error))?;
        match &self.proxy {
            Some(proxy) if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(wants_password(proxy)),
            Some(_) | None => {
                let decoder = Decoder::of(response.headers());
                Ok(Streamed { response, decoder, read: 0, alarm: None })
            }
        }
    }

    fn failure(&self, error: reqwest::Error) -> ModelError {
        if error.is_connect() {
            let (cause, origin) = (root_cause(error), self.address.origin());
            // Tunnel errors come from the proxy, TLS errors from the server.
            let tunnel = cause.contains("tunnel error");
            let message = match &self.proxy {
                Some(proxy) if cause.contains("proxy authorization required") => return wants_password(proxy),
                Some(proxy) if tunnel || self.address.base.scheme() == "http" => {
                    format!("{cause} (at the proxy {proxy}, while connecting to {origin})")
                }
                Some(proxy) => format!("{cause} (while connecting to {origin} through the proxy {proxy})"),
                None => format!("{cause} ({origin})"),
            };
            ModelError::Unreachable { message }
        } else if error.is_builder() {
            unsendable(&root_cause(error))
        } else {
            broken_off(error)
        }
    }
}

/// Some servers compress bodies without being asked.
enum Decoder {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    Unknown(String),
}

/// Unsupported compression methods. Any other value, such as `utf-8` or `identity`, means no compression.
const OTHER_ENCODINGS: [&str; 5] = ["br", "zstd", "compress", "dcb", "dcz"];

impl Decoder {
    fn of(headers: &HeaderMap) -> Self {
        let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match encoding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip(MultiGzDecoder::new(Vec::new())),
            "deflate" => Self::Deflate(ZlibDecoder::new(Vec::new())),
            other if other.split([',', ' ']).any(|it| OTHER_ENCODINGS.contains(&it)) => Self::Unknown(other.to_owned()),
            _ => Self::Plain,
        }
    }

    fn decode(&mut self, chunk: Bytes) -> Result<Bytes, ModelError> {
        let decoded = match self {
            Self::Plain => return Ok(chunk),
            Self::Gzip(decoder) => decoder.write_all(&chunk).and_then(|()| decoder.flush()).map(|()| decoder.get_mut()),
            Self::Deflate(decoder) => {
                decoder.write_all(&chunk).and_then(|()| decoder.flush()).map(|()| decoder.get_mut())
            }
            Self::Unknown(encoding) => {
                let message = format!("it is compressed with `{encoding}`, which was not requested");
                return Err(ModelError::Unusable { message });
            }
        };
        let decoded = decoded.map_err(|error| broken(format!("it cannot be decompressed: {error}")))?;
        Ok(std::mem::take(decoded).into())
    }
}

fn wants_password(proxy: &str) -> ModelError {
    let message = format!("the proxy {proxy} requires a user name and password (`http://user:password@host:port`)");
    ModelError::Refused { status: StatusCode::PROXY_AUTHENTICATION_REQUIRED.as_u16(), message }
}

fn unsendable(message: &str) -> ModelError {
    ModelError::Unsendable { message: message.to_owned() }
}

pub(super) fn broken(message: impl Into<String>) -> ModelError {
    ModelError::Broken { message: message.into() }
}

fn broken_off(error: reqwest::Error) -> ModelError {
    broken(format!("it was interrupted: {}", root_cause(error)))
}

pub(super) fn is_event_stream(answer: &HttpAnswer) -> bool {
    let content_type = answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("text/event-stream")
}

fn too_long(longest: usize) -> ModelError {
    broken(format!("it is longer than {} MiB", longest >> 20))
}

/// The root cause of a reqwest error on one line; the error's own text is vague and quotes the URL.
fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut causes: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // HTTP layers only add their name or quote their cause.
        if !text.starts_with("client error (") && !causes.iter().any(|above| above.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}
