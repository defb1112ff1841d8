//! The replies to one question, each recorded when it is paid for.

use std::collections::VecDeque;

use dialectic_base::call::CallRecord;
use dialectic_llm::{Caller, FailedCall, Reply, Request};
use dialectic_record::debate::StoredReply;
use dialectic_record::prompt::{SECOND_CHANCE, SecondChance};

use super::{AnswerError, OnReply, PaidReply, Unreadable, go_on};

/// The replies to one question in order: those of an earlier run, then new ones.
pub(super) struct Replies {
    pub(super) caller: Caller,
    pub(super) past: VecDeque<PaidReply>,
    pub(super) on_reply: OnReply,
}

pub(super) struct SpokenReply {
    pub(super) text: String,
    /// The raw message, if it contains more than the text.
    pub(super) message: Option<serde_json::Value>,
    pub(super) call: CallRecord,
    /// Whether it is already recorded.
    pub(super) is_kept: bool,
}

impl Replies {
    pub(super) async fn next(&mut self, request: &Request) -> Result<SpokenReply, FailedCall> {
        if let Some((reply, call)) = self.past.pop_front() {
            return Ok(SpokenReply { text: reply.text, message: reply.message, call, is_kept: true });
        }
        let answered = self.caller.call(request).await?;
        let Reply { text, message, .. } = answered.reply;
        Ok(SpokenReply { text, message, call: answered.record, is_kept: false })
    }

    /// A reply that `read` accepts, requested again with the error if the first is unreadable. The error contains the
    /// unreadable text and the last call.
    pub(super) async fn json<T>(
        &mut self,
        request: &mut Request,
        read: impl Fn(&str) -> Result<T, AnswerError>,
    ) -> Result<Result<(T, SpokenReply), (Unreadable, CallRecord)>, FailedCall> {
        let first = self.next(request).await?;
        let error = match read(&first.text) {
            Ok(value) => return Ok(Ok((value, first))),
            Err(error) => error.of_answer(first.call.cut()),
        };
        let raw = first.text.clone();
        // Tests render this template with every value; the bare reason is a sufficient fallback.
        let reason = error.to_string();
        let again = SECOND_CHANCE.render(&SecondChance { error: &reason }).unwrap_or_else(|_| reason.clone());
        go_on(request, &first.text, first.message.as_ref(), again);
        self.keep(first, &error);
        Ok(match self.next(request).await {
            Ok(second) => match read(&second.text) {
                Ok(value) => Ok((value, second)),
                Err(error) => Err((Unreadable { raw, error: error.of_answer(second.call.cut()) }, second.call)),
            },
            // The first answer is kept; the request is repeated when the server is back.
            Err(failed) if failed.is_server_gone() => return Err(failed),
            Err(failed) => {
                let error = AnswerError::NoSecondChance { error: reason, message: failed.error.to_string() };
                Err((Unreadable { raw, error }, self.failed(request, &failed)))
            }
        })
    }

    /// Records a reply that is not yet a result before the next call.
    pub(super) fn keep(&self, heard: SpokenReply, error: &impl ToString) {
        if !heard.is_kept {
            (self.on_reply)(unreadable(heard.text, heard.message, error), heard.call);
        }
    }

    pub(super) fn failed(&self, request: &Request, failed: &FailedCall) -> CallRecord {
        failed_call(&self.caller, request, failed)
    }
}

pub(super) fn unreadable(text: String, message: Option<serde_json::Value>, error: &impl ToString) -> StoredReply {
    StoredReply { text, message, parse_error: Some(error.to_string()), ..StoredReply::default() }
}

/// The record of a call that failed permanently.
pub(super) fn failed_call(caller: &Caller, request: &Request, failed: &FailedCall) -> CallRecord {
    let unsent = caller.unsent(&request.model);
    match failed.spent.as_deref() {
        Some(spent) => {
            CallRecord { tokens: spent.tokens, cost_usd: spent.cost_usd, attempts: failed.attempts, ..unsent }
        }
        // Never sent, or its attempts are already charged.
        None => unsent,
    }
}
