//! From the bytes of an answer to a reply, whichever API it came from.

use serde::de::DeserializeOwned;

use crate::llm::{FinishReason, ModelError, Reply};

use super::endpoint::Address;
use super::failure::{Refusal, excerpt};
use super::fault::Fault;
use super::lenient::{Usage, stated_cost};
use super::quirks::Api;
use super::transport::Answer;
use super::{chat, responses};

/// What an answer holds.
pub(super) struct Reading {
    pub(super) reply: Reply,
    /// Why the model would not answer; mostly empty.
    pub(super) refusal: String,
    pub(super) usage: Option<Usage>,
}

/// An answer that is JSON but not the API's.
pub(super) struct Unreadable {
    pub(super) missing: &'static str,
}

/// How an answer with a good status can turn out not to be one.
pub(super) enum NoReply {
    /// It says no.
    Refused(Refusal),
    /// It cannot be read.
    Failed(ModelError),
}

/// Reads an answer with a good status, number `turn` of the conversation.
pub(super) fn read(api: Api, answer: &Answer, turn: usize, address: &Address) -> Result<Reply, NoReply> {
    let (fault, reading) = match api {
        Api::Responses => {
            let mut body: responses::Answer = decode(answer, address)?;
            (body.take_fault(), body.read(turn))
        }
        Api::Chat => {
            let mut body: chat::Answer = decode(answer, address)?;
            (body.take_fault(), body.read(turn))
        }
    };
    if let Some(fault) = fault {
        return Err(refused(fault, answer, address));
    }
    let Reading { mut reply, refusal, usage } = reading.map_err(|Unreadable { missing }| {
        broken(format!("it has no `{missing}`: {}", excerpt(&answer.body, address)))
    })?;
    if !refusal.is_empty() {
        if reply.text.trim().is_empty() && reply.tool_calls.is_empty() {
            return Err(NoReply::Failed(ModelError::Filtered { message: excerpt(refusal.as_bytes(), address) }));
        }
        reply.finish = FinishReason::Filtered;
    }
    reply.tokens = usage.as_ref().and_then(Usage::tokens);
    reply.stated_cost = stated_cost(usage.as_ref(), &answer.headers);
    Ok(reply)
}

fn decode<T: DeserializeOwned>(answer: &Answer, address: &Address) -> Result<T, NoReply> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let body = answer.body.trim_ascii();
        let problem = if body.is_empty() {
            return broken("it has no body");
        } else if error.is_eof() {
            "the JSON ends in its middle"
        } else if error.is_data() {
            "it is JSON, but not the API's"
        } else if body.starts_with(b"<") {
            "HTML in place of JSON"
        } else if body.starts_with(b"data:") || body.starts_with(b"event:") {
            "an event stream in place of JSON"
        } else {
            "it is not JSON"
        };
        broken(format!("{problem}: {}", excerpt(body, address)))
    })
}

fn refused(fault: Fault, answer: &Answer, address: &Address) -> NoReply {
    NoReply::Refused(Refusal::inside(fault, answer, address))
}

fn broken(message: impl Into<String>) -> NoReply {
    NoReply::Failed(ModelError::Broken { message: message.into() })
}
