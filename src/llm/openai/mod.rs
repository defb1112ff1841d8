//! Servers that speak the API of `OpenAI`: the Responses API first, Chat Completions where a server lacks it.
//!
//! `async-openai` builds and addresses the requests; the bodies and the reading of answers are ours, because most
//! servers leave out something that its types insist on. One attempt, no retry: that is the
//! [`Caller`](super::Caller)'s. What a model was found not to take is remembered for the run.

mod chat;
mod diagnosis;
mod endpoint;
mod failure;
mod http;
mod lenient;
mod quirks;
mod responses;
mod transport;

#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use super::{ChatModel, FinishReason, ModelError, Reply, Request};

pub use endpoint::{Endpoint, EndpointError as ClientError};
pub use http::{HttpClientError, http_client};

use endpoint::Address;
use failure::{ErrorField, Refusal, excerpt, one_line};
use lenient::{Usage, stated_cost};
use quirks::{Api, LOOPBACK_PATIENCE, Learned, LimitField, PATIENCE, Quirks};
use transport::{Answer, Transport};

/// The provider whose Chat Completions name the output limit anew.
const RENAMED_LIMIT: &str = "openai";

/// A client for one server, to be shared by all its models.
pub struct OpenAiClient {
    transport: Transport,
    learned: Learned,
}

impl OpenAiClient {
    /// A client for `endpoint` over the connections of `http`.
    ///
    /// # Errors
    /// When the endpoint's URL, key or headers cannot be sent.
    pub fn new(endpoint: Endpoint, http: reqwest::Client) -> Result<Self, ClientError> {
        let limit =
            if &*endpoint.name == RENAMED_LIMIT { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens };
        let api = endpoint.api;
        let address = Address::new(endpoint)?;
        let patience = if address.is_loopback() { LOOPBACK_PATIENCE } else { PATIENCE };
        let learned = Learned::new(api, limit, patience);
        Ok(Self { transport: Transport::new(address, http), learned })
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let (learned, model) = (&self.learned, &request.model);
        let _probe = learned.await_turn(model).await;
        // Each turn of this loop learns one thing that the model does not take; there are four to learn.
        loop {
            let quirks = learned.quirks(model);
            let api = quirks.api.unwrap_or(Api::Responses);
            let refusal = match self.ask_once(request, api, quirks).await {
                Ok(reply) => {
                    learned.reached(model, api);
                    return Ok(reply);
                }
                Err(Setback::Failed(error)) => return Err(error),
                Err(Setback::Refused(refusal)) => refusal,
            };
            let lack = refusal.lacks_responses().filter(|_| api == Api::Responses && quirks.api.is_none());
            if let Some(lack) = lack {
                learned.lacks_responses(model, lack);
                continue;
            }
            if request.answer.is_some() && quirks.takes_schema && refusal.refuses_format() {
                learned.learn(model, |quirks| quirks.takes_schema = false);
            } else if quirks.takes_temperature && refusal.refuses_parameter("temperature") {
                learned.learn(model, |quirks| quirks.takes_temperature = false);
            } else if api == Api::Chat && quirks.limit == LimitField::MaxTokens && refusal.wants_renamed_limit() {
                learned.learn(model, |quirks| quirks.limit = LimitField::MaxCompletionTokens);
            } else {
                return Err(refusal.into_error());
            }
            // A server that argues about parameters has the API; nobody need wait for the second try to know.
            learned.reached(model, api);
        }
    }

    async fn ask_once(&self, request: &Request, api: Api, quirks: Quirks) -> Result<Reply, Setback> {
        let answer = match api {
            Api::Responses => self.transport.post(api, &responses::Body::new(request, quirks)).await?,
            Api::Chat => self.transport.post(api, &chat::Body::new(request, quirks)).await?,
        };
        if !answer.status.is_success() {
            return Err(Setback::Refused(Refusal::of_answer(&answer, self.transport.address())));
        }
        match api {
            Api::Responses => self.read::<responses::Answer>(&answer),
            Api::Chat => self.read::<chat::Answer>(&answer),
        }
    }

    fn read<A: ApiAnswer + DeserializeOwned>(&self, answer: &Answer) -> Result<Reply, Setback> {
        let address = self.transport.address();
        let broken = |message| Setback::Failed(ModelError::Broken { message });
        let mut read: A = serde_json::from_slice(&answer.body).map_err(|error| {
            let error = one_line(&error.to_string(), address);
            broken(format!("it is not the JSON of the API ({error}): {}", excerpt(&answer.body, address)))
        })?;
        if let Some(fault) = read.take_error().and_then(ErrorField::into_fault) {
            return Err(Setback::Refused(Refusal::inside(fault, answer, address)));
        }
        if !read.is_one() {
            return Err(broken(format!("it holds no answer: {}", excerpt(&answer.body, address))));
        }
        let stated_cost = stated_cost(read.usage(), &answer.headers);
        let (reply, refusal) = read.into_reply();
        if reply.finish == FinishReason::Filtered && reply.text.is_empty() && !refusal.is_empty() {
            return Err(Setback::Failed(ModelError::Filtered { message: one_line(&refusal, address) }));
        }
        Ok(Reply { stated_cost, ..reply })
    }
}

/// An answer of either API.
trait ApiAnswer {
    /// Whether this is an answer of the API at all, and not some other JSON.
    fn is_one(&self) -> bool;
    /// The error that some servers put into an answer with a good status.
    fn take_error(&mut self) -> Option<ErrorField>;
    /// What it took.
    fn usage(&self) -> Option<&Usage>;
    /// The reply, and what the model said in refusal.
    fn into_reply(self) -> (Reply, String);
}

/// Why there is no reply.
enum Setback {
    /// The server said no.
    Refused(Refusal),
    /// Anything else.
    Failed(ModelError),
}

impl From<ModelError> for Setback {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

impl ChatModel for OpenAiClient {
    fn complete<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
