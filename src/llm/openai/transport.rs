//! Sends a body and brings back what the server answered, whatever it is: as a whole, or piece by piece where it comes
//! as a stream of events. One attempt, no retry.

use std::error::Error as _;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::Client;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};
use serde::Serialize;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use crate::llm::ModelError;

use super::endpoint::Address;
use super::quirks::Api;

/// No answer is longer; more is not read.
const LONGEST_ANSWER: usize = 8 << 20;
/// No stream is longer: in it, each word is wrapped in an event of some hundred bytes.
const LONGEST_STREAM: usize = 8 * LONGEST_ANSWER;
/// What is read of a refusal: enough for any message, and for servers that send the request back with it.
const LONGEST_REFUSAL: usize = 512 << 10;

/// What a server answered, of any status.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// What a server sent back.
pub(super) enum Posted {
    /// An answer as a whole.
    Whole(Answer),
    /// The beginning of a stream of events.
    Streamed(Box<Streamed>),
}

/// A stream of events, of which only the head has been read. Dropping it closes the connection.
pub(super) struct Streamed {
    response: Response,
    read: usize,
}

impl Streamed {
    /// The head, as an answer without a body.
    pub(super) fn head(&self) -> Answer {
        Answer { status: self.response.status(), headers: self.response.headers().clone(), body: Vec::new() }
    }

    /// The next bytes; nothing at the end. A wait for longer than `patience` breaks the stream.
    ///
    /// # Errors
    /// When it breaks off, is silent, or has no end.
    pub(super) async fn next(&mut self, patience: Option<Duration>) -> Result<Option<Vec<u8>>, ModelError> {
        let chunk = match patience {
            Some(patience) => timeout(patience, self.response.chunk())
                .await
                .map_err(|_| broken(format!("the stream was silent for {patience:?}")))?,
            None => self.response.chunk().await,
        };
        let chunk = chunk.map_err(broken_off)?;
        let chunk = chunk.map(|chunk| chunk.to_vec());
        self.read += chunk.as_ref().map_or(0, Vec::len);
        if self.read > LONGEST_STREAM {
            return Err(too_long(LONGEST_STREAM));
        }
        Ok(chunk)
    }

    /// The whole answer of which `body` is the beginning.
    ///
    /// # Errors
    /// Like those of [`next`](Self::next).
    pub(super) async fn rest(&mut self, mut body: Vec<u8>, patience: Option<Duration>) -> Result<Answer, ModelError> {
        while let Some(chunk) = self.next(patience).await? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ANSWER {
                return Err(too_long(LONGEST_ANSWER));
            }
        }
        Ok(Answer { body, ..self.head() })
    }
}

/// How an exchange ended.
///
/// It leaves the executor as an error even when it is an answer: past the executor async-openai drops the headers
/// (which hold `Retry-After` and costs), drops the status of refusals in a shape of their own, reads bodies without a
/// bound, and logs those it cannot decode. The box of its error is the one way out that keeps everything.
#[derive(thiserror::Error)]
enum Exchange {
    #[error("the server answered")]
    Answered(Posted),
    #[error("the exchange failed")]
    Failed(#[source] ModelError),
}

/// Bodies may quote what is to stay secret.
impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answered(Posted::Whole(answer)) => f.debug_tuple("Answered").field(&answer.status).finish(),
            Self::Answered(Posted::Streamed(_)) => f.write_str("Streamed"),
            Self::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
        }
    }
}

impl From<Exchange> for OpenAIError {
    fn from(exchange: Exchange) -> Self {
        Self::Boxed(Box::new(exchange))
    }
}

/// A connection to one server.
pub(super) struct Transport {
    client: Client<Address>,
}

impl Transport {
    /// Sends to `address` through `http`.
    pub(super) fn new(address: Address, http: reqwest::Client) -> Self {
        let executor = Executor { http: http.clone(), origin: address.origin().into() };
        // The service comes last: setting the HTTP client would put the retrying executor back.
        Self { client: Client::build(http, address).with_http_service(executor) }
    }

    /// Where to.
    pub(super) fn address(&self) -> &Address {
        self.client.config()
    }

    /// Posts `body` to the API's path.
    ///
    /// # Errors
    /// When there is no answer, or not all of it. A refusal is an answer.
    pub(super) async fn post(&self, api: Api, body: &(impl Serialize + Sync)) -> Result<Posted, ModelError> {
        let sent: Result<IgnoredAny, OpenAIError> = match api {
            Api::Responses => self.client.responses().create_byot(body).await,
            Api::Chat => self.client.chat().create_byot(body).await,
        };
        match sent {
            Err(OpenAIError::Boxed(error)) => match error.downcast::<Exchange>() {
                Ok(exchange) => match *exchange {
                    Exchange::Answered(posted) => Ok(posted),
                    Exchange::Failed(error) => Err(error),
                },
                Err(error) => Err(unsendable(&error.to_string())),
            },
            // Nothing is decoded past the executor, so that what is left concerns the request.
            Err(OpenAIError::Reqwest(error)) => Err(unsendable(&root_cause(error))),
            Err(error) => Err(unsendable(&error.to_string())),
            Ok(_) => Err(broken("the executor was passed by")),
        }
    }
}

fn unsendable(message: &str) -> ModelError {
    ModelError::Unsendable { message: message.to_owned() }
}

pub(super) fn broken(message: impl Into<String>) -> ModelError {
    ModelError::Broken { message: message.into() }
}

fn broken_off(error: reqwest::Error) -> ModelError {
    broken(format!("it broke off: {}", root_cause(error)))
}

/// Executes a request once.
#[derive(Clone)]
struct Executor {
    http: reqwest::Client,
    /// Where to, for messages.
    origin: Arc<str>,
}

impl tower::Service<HttpRequestFactory> for Executor {
    type Response = Response;
    type Error = OpenAIError;
    type Future = BoxFuture<'static, Result<Response, OpenAIError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let executor = self.clone();
        Box::pin(async move {
            let request = request.build().await?;
            let exchange = match executor.exchange(request).await {
                Ok(posted) => Exchange::Answered(posted),
                Err(error) => Exchange::Failed(error),
            };
            Err(exchange.into())
        })
    }
}

impl Executor {
    async fn exchange(&self, request: reqwest::Request) -> Result<Posted, ModelError> {
        let response = self.http.execute(request).await.map_err(|error| self.failure(error))?;
        if response.status().is_success() && is_event_stream(response.headers()) {
            return Ok(Posted::Streamed(Box::new(Streamed { response, read: 0 })));
        }
        self.whole(response).await.map(Posted::Whole)
    }

    async fn whole(&self, mut response: Response) -> Result<Answer, ModelError> {
        let status = response.status();
        let declared = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if status.is_success() && declared > LONGEST_ANSWER {
            return Err(too_long(LONGEST_ANSWER));
        }
        let mut body = Vec::with_capacity(declared.min(LONGEST_REFUSAL));
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(error))? {
            body.extend_from_slice(&chunk);
            if !status.is_success() && body.len() > LONGEST_REFUSAL {
                break;
            }
            if body.len() > LONGEST_ANSWER {
                return Err(too_long(LONGEST_ANSWER));
            }
        }
        Ok(Answer { status, headers: std::mem::take(response.headers_mut()), body })
    }

    fn failure(&self, error: reqwest::Error) -> ModelError {
        if error.is_connect() {
            ModelError::Unreachable { message: format!("{} ({})", root_cause(error), self.origin) }
        } else if error.is_builder() {
            unsendable(&root_cause(error))
        } else {
            broken_off(error)
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("text/event-stream")
}

fn too_long(longest: usize) -> ModelError {
    broken(format!("it is longer than {} MiB", longest >> 20))
}

/// What lies beneath an error of reqwest, whose own text says little and quotes the URL, on one line.
fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut causes: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // The layers of an HTTP client add their name only, or quote what is beneath them.
        if !text.starts_with("client error (") && !causes.iter().any(|above| above.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}
