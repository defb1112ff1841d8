//! The provider `host`: whoever runs a debate answers its requests. Nothing is sent anywhere.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use dialectic_base::call::Tokens;

use super::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request, request_bytes};

/// The bytes of a token of English, for estimates.
const BYTES_PER_TOKEN: usize = 4;

/// The host while it has not replied. The engine shows its requests, so only other callers get an error.
#[derive(Debug, Clone, Copy)]
pub struct HostModel;

impl ChatModel for HostModel {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        let message = "the host answers the requests of debates only".to_owned();
        async { Err(ModelError::Unsendable { message }.into()) }.boxed()
    }

    fn is_host(&self) -> bool {
        true
    }
}

/// The host with its reply to one request.
#[derive(Debug)]
pub struct HostReply {
    text: String,
    by: Option<String>,
    is_used: AtomicBool,
}

impl HostReply {
    /// A reply by the person or model `by`.
    pub fn new(text: String, by: Option<String>) -> Self {
        Self { text, by, is_used: AtomicBool::new(false) }
    }
}

impl ChatModel for HostReply {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        async {
            // A reply is only accepted if nothing has to be asked again.
            if self.is_used.swap(true, Ordering::Relaxed) {
                return Err(ModelError::Unsendable { message: "the host has replied".to_owned() }.into());
            }
            let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
            let (input_tokens, output_tokens) = (tokens(request_bytes(request)), tokens(self.text.len()));
            Ok(Reply {
                text: self.text.clone(),
                served_model: self.by.clone(),
                tokens: Some(Tokens { input_tokens, output_tokens, ..Tokens::default() }),
                ..Reply::default()
            })
        }
        .boxed()
    }

    fn is_host(&self) -> bool {
        true
    }
}
