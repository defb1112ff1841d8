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

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

use super::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request};

pub use endpoint::{
    CERTIFICATE_FILE, Endpoint, EndpointError as ClientError, HttpClient, HttpClientError, http_client,
    http_client_under_limit,
};

use capabilities::KnownCapabilities;
use endpoint::{Address, is_on_this_machine};
use failure::{ServerRefusal, excerpt, refusal_body};
use transport::{Transport, broken};

/// Shared by all models of a server.
pub struct OpenAiClient {
    transport: Transport,
    known: KnownCapabilities,
}

impl OpenAiClient {
    /// A client for `endpoint` that uses the connections of `http`.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint's URL, key or headers are invalid, or the user's certificates cannot be read.
    pub fn new(endpoint: Endpoint, http: &HttpClient) -> Result<Self, ClientError> {
        let endpoint = endpoint.meant();
        let address = Address::new(&endpoint)?;
        let known = KnownCapabilities::new(endpoint, is_on_this_machine(&address.base));
        Ok(Self { transport: Transport::new(address, http)?, known })
    }
}

const MODELS_PATH: &str = "/models";
const REACH_TIMEOUT: Duration = Duration::from_secs(10);
/// The keys for the context window, most explicit first; llama.cpp's comes last.
const WINDOWS: [&str; 6] =
    ["/context_length", "/context_window", "/max_model_len", "/max_context_length", "/max_input_tokens", "/meta/n_ctx"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub name: String,
    /// In tokens; `None` if the server does not state it.
    pub context_window: Option<u64>,
}

impl OpenAiClient {
    /// Lists the server's models by name within `limit`, at no cost.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached in time, refuses, or does not return a list.
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
        let entries = entries
            .ok_or_else(|| broken(format!("expected a list of models, got: {}", excerpt(&answer.body, address))))?;
        let mut offered: Vec<Offered> = entries.iter().filter_map(offered_model).collect();
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        offered.dedup_by(|one, other| one.name == other.name);
        Ok(offered)
    }

    /// Requests the list of models, which costs nothing. Any answer, even without a list, shows that the server exists,
    /// unless the answer reports an unreachable upstream.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached.
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

impl ChatModel for OpenAiClient {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move { self.answer(request, live).await.map_err(|failure| *failure.failed) })
    }

    fn is_local(&self) -> bool {
        let address = &self.transport.address;
        is_on_this_machine(&address.base) || address.secrets.is_empty()
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.is_there())
    }
}
