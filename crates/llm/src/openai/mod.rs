//! A client for servers with OpenAI's API: uses the Responses API, or Chat Completions if the server lacks it.
//!
//! Makes single attempts; the [`Caller`](super::Caller) retries. Answers are streamed unless the configuration says
//! otherwise. Features that a model rejects are remembered for the rest of the run. Also lists a server's models.
//!
//! Wording that differs between servers is in tables, each row with its source: finish reasons (`request`), errors
//! (`errors`), rejected features (`refusals`), and marks around a text (`marks`).

mod asking;
mod capabilities;
mod chat;
mod endpoint;
mod errors;
mod failure;
mod lenient;
mod marks;
mod reasoning;
mod refusals;
mod responses;
mod sse;
mod streaming;
mod transport;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{ChatModel, FailedAttempt, FinishReason, Live, ModelError, Reply, Request, StatedUsage};

pub use endpoint::{
    CERTIFICATE_FILE, Endpoint, EndpointError as ClientError, HttpClient, HttpClientError, http_client,
    http_client_under_limit,
};

use capabilities::{Api, Capabilities, KnownCapabilities, Streaming};
use endpoint::Address;
use failure::{Fault, ServerRefusal, error_field, excerpt, one_line, refusal_body};
use lenient::{ReportedUsage, parsed, readable, stated_cost};
use reasoning::{TextSink, drop_reasoning};
use sse::ServerSentEvent;
use streaming::{Completeness, StreamOutcome, follow};
use transport::{HttpAnswer, Transport, broken};

/// A client for one server, shared by all its models.
pub struct OpenAiClient {
    transport: Transport,
    known: KnownCapabilities,
}

impl OpenAiClient {
    /// A client for `endpoint` that uses the connections of `http`.
    ///
    /// # Errors
    ///
    /// The endpoint's URL, key or headers are invalid, or the user's certificates cannot be read.
    pub fn new(endpoint: Endpoint, http: &HttpClient) -> Result<Self, ClientError> {
        let endpoint = endpoint.meant();
        let address = Address::new(&endpoint)?;
        let known = KnownCapabilities::new(endpoint, address.is_loopback());
        Ok(Self { transport: Transport::new(address, http)?, known })
    }

    async fn ask_once(
        &self,
        request: &Request,
        api: Api,
        capabilities: Capabilities,
        live: Live<'_>,
    ) -> Result<Reply, RequestFailure> {
        match api {
            Api::Responses => self.ask_by::<responses::Events>(request, capabilities, live).await,
            Api::Chat => self.ask_by::<chat::Chunks>(request, capabilities, live).await,
        }
    }

    async fn ask_by<P: ApiAnswer>(
        &self,
        request: &Request,
        capabilities: Capabilities,
        live: Live<'_>,
    ) -> Result<Reply, RequestFailure> {
        let mut streamed = self.transport.post(P::PATH, &P::body(request, capabilities)).await?;
        match follow::<P>(&mut streamed, live, capabilities.begins_within).await {
            StreamOutcome::Whole(answer) => self.read::<P>(request, &answer),
            StreamOutcome::Pieces(pieces, ended) => {
                let (whole, head) = (pieces.into_whole(), streamed.head());
                // Usage reported before an interruption is incomplete.
                let is_whole = ended.map_err(RequestFailure::broken_stream)?;
                let reply = self.accept::<P>(request, whole, &head)?;
                self.known.streams();
                if is_whole && reply.tokens.is_none() {
                    // Without usage, stop streaming: knowing the cost is more important.
                    self.known.update(&request.model, |capabilities| capabilities.streaming = Streaming::Never);
                }
                Ok(reply)
            }
        }
    }

    fn read<P: ApiAnswer>(&self, request: &Request, answer: &HttpAnswer) -> Result<Reply, RequestFailure> {
        let address = &self.transport.address;
        if !answer.status.is_success() {
            let body = refusal_body(answer);
            let refusal = ServerRefusal::of_answer(answer, body.as_ref(), address, P::PATH);
            return Err(RequestFailure::refused(refusal, usage_of(&body.unwrap_or_default(), answer)));
        }
        let whole: Map<String, Value> = parsed(&readable(&answer.body)).map_err(|error| {
            let is_cut = error.is_eof() && !answer.body.trim_ascii().is_empty();
            let error = one_line(&error.to_string(), address);
            let broken =
                broken(format!("it does not match the API's JSON ({error}): {}", excerpt(&answer.body, address)));
            if is_cut { RequestFailure::from(broken) } else { RequestFailure::foreign(broken.into()) }
        })?;
        self.accept::<P>(request, whole.into(), answer)
    }

    /// Turns an answer into a reply. Fails if it is an error, does not belong to this API, or has no usable text.
    fn accept<A: ApiAnswer>(
        &self,
        request: &Request,
        read: Value,
        answer: &HttpAnswer,
    ) -> Result<Reply, RequestFailure> {
        let address = &self.transport.address;
        let usage = usage_of(&read, answer);
        if let Some(fault) = A::error(&read).and_then(Fault::of) {
            let in_answer = !A::is_foreign(&read);
            let refusal = ServerRefusal { in_answer, ..ServerRefusal::inside(fault, answer, address) };
            return Err(RequestFailure::refused(refusal, usage));
        }
        if !A::is_one(&read) {
            let body = excerpt(&answer.body, address);
            let why = A::bad_end(&read).map_or(body, |end| one_line(&end, address));
            let said = if why.is_empty() { why } else { format!(": {why}") };
            let failed = FailedAttempt::with_usage(broken(format!("it contains no answer{said}")), usage);
            return Err(if A::is_foreign(&read) { RequestFailure::foreign(failed) } else { failed.into() });
        }
        let completion = ReportedUsage::of(&read).and_then(|usage| usage.completion());
        let ReadAnswer { mut reply, refusal, has_reasoned } = A::into_reply(read);
        if reply.finish == FinishReason::Complete && is_limit(completion, request) && reply.tool_calls.is_empty() {
            reply.finish = FinishReason::Length;
        }
        let (length, is_blank) = (reply.text.len(), reply.text.trim().is_empty());
        let began_within = drop_reasoning(&mut reply.text);
        let is_reasoning = has_reasoned && is_blank || !is_blank && reply.text.trim().is_empty();
        let has_more = |message: &Value| reply.text.len() != length || A::has_more(message);
        reply.message = reply.message.take().filter(has_more);
        reply.text = marks::without(reply.text);
        let unusable = if reply.finish == FinishReason::Filtered || !reply.tool_calls.is_empty() {
            None
        } else if marks::is_tool_call(&reply.text) {
            Some("it is nothing but the markup of a tool call")
        } else if is_reasoning && reply.finish != FinishReason::Length {
            Some("it contains reasoning but no text")
        } else {
            None
        };
        if let Some(message) = unusable {
            let error = ModelError::Unusable { message: message.to_owned() };
            return Err(FailedAttempt::with_usage(error, usage).into());
        }
        if !reply.text.is_empty() {
            self.known.update(&request.model, |capabilities| capabilities.begins_within = began_within);
        }
        // Text and calls require output tokens; if none are reported, half of the usage is missing.
        let is_said = !reply.text.is_empty() || !reply.tool_calls.is_empty();
        reply.tokens = usage.tokens.filter(|tokens| !is_said || tokens.output_tokens > 0);
        if reply.finish == FinishReason::Filtered && reply.text.is_empty() && !refusal.is_empty() {
            let error = ModelError::Filtered { message: one_line(&refusal, address) };
            return Err(FailedAttempt::with_usage(error, usage).into());
        }
        Ok(Reply { stated_cost: usage.cost, ..reply })
    }
}

const MODELS_PATH: &str = "/models";
const REACH_TIMEOUT: Duration = Duration::from_secs(10);
/// The keys for the context window, most explicit first; llama.cpp's comes last.
const WINDOWS: [&str; 6] =
    ["/context_length", "/context_window", "/max_model_len", "/max_context_length", "/max_input_tokens", "/meta/n_ctx"];

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub name: String,
    /// The context window in tokens, if the server states it.
    pub context_window: Option<u64>,
}

impl OpenAiClient {
    /// Lists the server's models by name within `limit`, at no cost.
    ///
    /// # Errors
    ///
    /// The server cannot be reached in time, refuses, or does not return a list.
    pub async fn offered(&self, limit: Duration) -> Result<Vec<Offered>, ModelError> {
        let asked = timeout(limit, self.transport.get(MODELS_PATH)).await;
        let answer = asked.map_err(|_| ModelError::TimedOut { after: limit })??;
        let address = &self.transport.address;
        if !answer.status.is_success() {
            return Err(ServerRefusal::of_answer(&answer, refusal_body(&answer).as_ref(), address, MODELS_PATH).error());
        }
        let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        // llama.cpp sends both lists.
        let entries = list["data"].as_array().or(list["models"].as_array());
        let entries =
            entries.ok_or_else(|| broken(format!("it is not a list of models: {}", excerpt(&answer.body, address))))?;
        let mut offered: Vec<Offered> = entries.iter().filter_map(offered_model).collect();
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        offered.dedup_by(|one, other| one.name == other.name);
        Ok(offered)
    }

    /// Requests the list of models, which costs nothing. Any answer shows that the server exists, even without a list,
    /// unless it reports a missing upstream.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    async fn is_there(&self) -> Result<(), ModelError> {
        let asked = timeout(REACH_TIMEOUT, self.transport.get(MODELS_PATH)).await;
        let answer = asked.map_err(|_| ModelError::TimedOut { after: REACH_TIMEOUT })??;
        let body = refusal_body(&answer);
        let error = ServerRefusal::of_answer(&answer, body.as_ref(), &self.transport.address, MODELS_PATH).error();
        if !answer.status.is_success() && error.is_server_gone() { Err(error) } else { Ok(()) }
    }
}

/// Google lists `models/gemini-…` but accepts the name without the prefix.
fn offered_model(entry: &Value) -> Option<Offered> {
    let name = entry.get("id").or_else(|| entry.get("name"))?.as_str()?.trim();
    let name = name.strip_prefix("models/").unwrap_or(name);
    let context_window = WINDOWS.iter().find_map(|key| entry.pointer(key)?.as_u64()).filter(|window| *window > 0);
    (!name.is_empty()).then(|| Offered { name: name.to_owned(), context_window })
}

/// Whether the output has exactly as many tokens as the limit. Some servers do not report that an answer was cut off,
/// and a natural stop at exactly the limit is rare.
fn is_limit(completion: Option<u64>, request: &Request) -> bool {
    completion.is_some() && completion == request.max_tokens.map(u64::from)
}

fn usage_of(body: &Value, answer: &HttpAnswer) -> StatedUsage {
    let usage = ReportedUsage::of(body);
    let tokens = usage.as_ref().and_then(ReportedUsage::tokens);
    StatedUsage { tokens, cost: stated_cost(usage.as_ref(), &answer.headers) }
}

/// The system text and the user's text. For a model without system messages, the user's text contains both.
fn texts(request: &Request, capabilities: Capabilities) -> (Option<&str>, Cow<'_, str>) {
    let Request { system, prompt, .. } = request;
    if capabilities.takes_system {
        (Some(system), Cow::Borrowed(prompt))
    } else {
        (None, Cow::Owned(format!("{system}\n\n{prompt}")))
    }
}

/// A JSON object of the fields that have a value.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An answer of an API, collected from the events of a stream or read as JSON. All fields are optional, and an
/// unexpected type counts as absent.
trait ApiAnswer: Default {
    const PATH: &'static str;

    fn body(request: &Request, capabilities: Capabilities) -> Value;

    /// Whether the JSON has no field of this API.
    fn is_foreign(answer: &Value) -> bool;

    /// Whether the JSON is a finished answer of this API.
    fn is_one(answer: &Value) -> bool;

    /// A failure that the server reports without an error object.
    fn bad_end(_: &Value) -> Option<String> {
        None
    }

    /// The error that some servers put into an answer with a success status.
    fn error(answer: &Value) -> Option<&Value> {
        error_field(answer)
    }

    fn into_reply(answer: Value) -> ReadAnswer;

    /// Whether a reply's message contains more than text and calls.
    fn has_more(message: &Value) -> bool;

    /// Reads an event that contains only words, as nearly all do, and passes the words to `sink`. Returns false for any
    /// other event. Runs for every word of a debate.
    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool;

    /// Reads any event and passes its words to `sink`.
    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>);

    fn completeness(&self) -> Completeness;

    /// Decides at the end of the stream whether held text repeats earlier text, and passes new words to `sink`.
    fn settle(&mut self, sink: &mut TextSink<'_>);

    /// The collected answer, in the form that the API has without streaming.
    fn into_whole(self) -> Value;
}

struct ReadAnswer {
    reply: Reply,
    /// The model's refusal; empty if there is none.
    refusal: String,
    has_reasoned: bool,
}

struct RequestFailure {
    failed: Box<FailedAttempt>,
    cause: FailureCause,
}

enum FailureCause {
    Refused(Box<ServerRefusal>),
    /// A success status with content that is not from this API.
    Foreign,
    BrokenStream,
    Other,
}

impl RequestFailure {
    fn refused(refusal: ServerRefusal, usage: StatedUsage) -> Self {
        let failed = FailedAttempt { error: refusal.error(), usage, may_be_billed: refusal.may_be_billed() };
        Self { failed: failed.into(), cause: FailureCause::Refused(Box::new(refusal)) }
    }

    fn broken_stream(error: ModelError) -> Self {
        Self { cause: FailureCause::BrokenStream, ..error.into() }
    }

    fn foreign(failed: FailedAttempt) -> Self {
        Self { failed: failed.into(), cause: FailureCause::Foreign }
    }
}

impl<T: Into<FailedAttempt>> From<T> for RequestFailure {
    fn from(failed: T) -> Self {
        Self { failed: Box::new(failed.into()), cause: FailureCause::Other }
    }
}

impl ChatModel for OpenAiClient {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move { self.answer(request, live).await.map_err(|failure| *failure.failed) })
    }

    fn is_local(&self) -> bool {
        let address = &self.transport.address;
        address.is_loopback() || !address.has_secrets()
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.is_there())
    }
}
