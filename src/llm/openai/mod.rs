//! Servers that speak the API of OpenAI: OpenAI itself, and the many that took it over.
//!
//! The Responses API is tried first, Chat Completions serves where a server lacks it; what a server refuses to take
//! is learned once for each model and then left out (`quirks`). async-openai builds and addresses the requests;
//! what comes back is read by structs of our own in which everything may be absent, since few servers send all that
//! its types insist on. A call is one attempt: retry, time-out and concurrency are the
//! [`Caller`](super::Caller)'s.

mod chat;
mod endpoint;
mod failure;
mod fault;
mod http;
mod lenient;
mod quirks;
mod reading;
mod responses;
mod transport;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::MutexGuard;
use tokio::time::timeout;

use super::{ChatModel, ModelError, Reply, Request, Turn};

use endpoint::Address;
use failure::Refusal;
use quirks::{Api, Manner, ModelFacts, Models};
use reading::NoReply;
use transport::Transport;

pub use endpoint::{Endpoint, EndpointError};
pub use http::{HttpClientError, http_client};

/// How long the first calls of a model wait for the very first, to learn from it which API serves the model.
///
/// A server without `/responses` says so in the time of a round trip, so that waiting that long spares every other
/// call the same refusal. A server that has it answers when the model is done, a minute later maybe, and that must
/// not be waited for: what is still unknown then most likely exists.
const FINDING_WAIT: Duration = Duration::from_millis(250);
/// The same for a server on this machine, whose round trip takes no time.
const LOOPBACK_FINDING_WAIT: Duration = Duration::from_millis(40);

/// A client of one provider. What it learns of the provider's models holds for as long as it lives, so that all
/// agents of a debate should share one.
pub struct OpenAiClient {
    name: Arc<str>,
    transport: Transport,
    models: Models,
    finding_wait: Duration,
}

impl fmt::Debug for OpenAiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiClient").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OpenAiClient {
    /// A client of `endpoint` over `http`, see [`http_client`].
    ///
    /// # Errors
    /// When the endpoint's URL, key or headers are none that a request can be sent with.
    pub fn new(endpoint: Endpoint, http: reqwest::Client) -> Result<Self, EndpointError> {
        let name = Arc::clone(&endpoint.name);
        let models = Models::new(Arc::clone(&name), endpoint.api);
        let address = Address::new(endpoint)?;
        let finding_wait = if address.is_loopback() { LOOPBACK_FINDING_WAIT } else { FINDING_WAIT };
        Ok(Self { name, transport: Transport::new(address, http), models, finding_wait })
    }

    /// Asks once, or as often as it takes to learn in which manner the model wants to be asked.
    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let facts = self.models.facts(&request.model);
        let mut probe = self.wait_for_finding(&facts).await;
        let mut manner = facts.manner();
        loop {
            let refusal = match self.put(request, manner).await? {
                Ok(reply) => {
                    facts.learn(manner, manner.confirmed());
                    return Ok(reply);
                }
                Err(refusal) => refusal,
            };
            let Some(next) = manner.after(&refusal, request) else {
                return Err(refusal.into_error());
            };
            facts.learn(manner, next);
            manner = next;
            if manner.is_settled() {
                // The others know enough to go ahead, whatever this call still takes.
                probe.take();
            }
        }
    }

    /// Waits while another call finds out which API serves the model. With a guard, this call is to find out.
    async fn wait_for_finding<'a>(&self, facts: &'a ModelFacts) -> Option<MutexGuard<'a, ()>> {
        if facts.manner().is_settled() {
            return None;
        }
        let guard = timeout(self.finding_wait, facts.probe.lock()).await.ok()?;
        // It may have been found out while this call stood in line; then the next in line is let through at once.
        (!facts.manner().is_settled()).then_some(guard)
    }

    /// Puts the request in that manner: a reply, a refusal that may teach something, or a failure.
    async fn put(&self, request: &Request, manner: Manner) -> Result<Result<Reply, Refusal>, ModelError> {
        let api = manner.api();
        let answer = match api {
            Api::Responses => self.transport.post(api, &responses::Body::new(request, manner)).await?,
            Api::Chat => self.transport.post(api, &chat::Body::new(request, manner)).await?,
        };
        let address = self.transport.address();
        if !answer.status.is_success() {
            return Ok(Err(Refusal::of_answer(&answer, address)));
        }
        let turn = 1 + request.turns.iter().filter(|turn| matches!(turn, Turn::Assistant { .. })).count();
        match reading::read(api, &answer, turn, address) {
            Ok(reply) => Ok(Ok(reply)),
            Err(NoReply::Refused(refusal)) => Ok(Err(refusal)),
            Err(NoReply::Failed(error)) => Err(error),
        }
    }
}

impl ChatModel for OpenAiClient {
    fn complete<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
