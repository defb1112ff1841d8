//! The provider `host`: the person or agent that runs the debate answers the calls. Nothing is sent.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use dialectic_base::call::Tokens;

use super::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request, request_bytes};

/// The bytes per token of English text, for estimates.
const BYTES_PER_TOKEN: usize = 4;

/// Returns the host's reply once. The engine asks only after the reply has arrived.
#[derive(Debug, Default)]
pub struct HostModel(Mutex<Option<Reply>>);

impl HostModel {
    /// `by` names the person or model that wrote `text`.
    pub fn replying(text: String, by: Option<String>) -> Self {
        Self(Mutex::new(Some(Reply { text, served_model: by, ..Reply::default() })))
    }

    fn reply(&self, request: &Request) -> Result<Reply, FailedAttempt> {
        let reply = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reply = reply.ok_or_else(|| {
            let message = "the host did not provide another answer to this request".to_owned();
            ModelError::Unsendable { message }
        })?;
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        let (input_tokens, output_tokens) = (tokens(request_bytes(request)), tokens(reply.text.len()));
        Ok(Reply { tokens: Some(Tokens { input_tokens, output_tokens, ..Tokens::default() }), ..reply })
    }
}

impl ChatModel for HostModel {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        async { self.reply(request) }.boxed()
    }
}
