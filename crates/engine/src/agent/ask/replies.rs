//! The replies to one question, each recorded when it is paid for.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::tools::Toolbox;
use dialectic_base::call::CallRecord;
use dialectic_base::call::{ToolCall, ToolResult};
use dialectic_llm::{Caller, FailedCall, Reply, Request};
use dialectic_record::debate::{Metadata, StoredReply};
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

/// The tool calls of one answer.
#[derive(Default)]
pub(super) struct ToolLog {
    /// The replies that called tools.
    pub(super) iterations: u32,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    records: Vec<CallRecord>,
}

impl ToolLog {
    pub(super) fn note(&mut self, reply: &StoredReply, record: CallRecord) {
        self.iterations += 1;
        self.calls.extend(reply.tool_calls.iter().cloned());
        self.results.extend(reply.tool_results.iter().cloned());
        self.records.push(record);
    }

    /// The final text with the tool calls.
    pub(super) fn into_said(
        mut self,
        text: String,
        message: Option<serde_json::Value>,
        call: CallRecord,
    ) -> ParsedText {
        self.records.push(call.clone());
        let metadata = Metadata {
            tool_calls: self.calls,
            tool_results: self.results,
            tool_call_iterations: (self.iterations > 0).then_some(self.iterations),
            ..Metadata::of_calls(&self.records)
        };
        ParsedText { text: text.into(), message, call, metadata, records: self.records }
    }
}

/// Runs the tools that a reply calls, in order, on a blocking thread because they read files.
pub(super) async fn run_all(toolbox: Arc<Toolbox>, calls: &[ToolCall]) -> Vec<ToolResult> {
    let wanted = calls.to_vec();
    let run = spawn_blocking(move || wanted.iter().map(|call| toolbox.run(call)).collect());
    // A panicking tool must not abort the debate; the model receives an error.
    run.await.unwrap_or_else(|_| calls.iter().map(|call| ToolResult::error(call, "the tool failed")).collect())
}

#[derive(Debug, Clone)]
pub(super) struct ParsedText {
    pub(super) text: Arc<str>,
    /// The raw message, if it contains more than the text.
    pub(super) message: Option<serde_json::Value>,
    /// The last call; earlier ones were passed to [`on_reply`](super::Ask::on_reply).
    pub(super) call: CallRecord,
    /// The metadata of all its calls.
    pub(super) metadata: Metadata,
    records: Vec<CallRecord>,
}

impl ParsedText {
    /// Adds a call and replaces the text.
    pub(super) fn and(mut self, text: Arc<str>, call: CallRecord) -> Self {
        self.records.push(call.clone());
        let Metadata { tool_calls, tool_results, tool_call_iterations, .. } = std::mem::take(&mut self.metadata);
        let of_calls = Metadata::of_calls(&self.records);
        let metadata = Metadata { tool_calls, tool_results, tool_call_iterations, ..of_calls };
        Self { text, call, metadata, ..self }
    }

    /// Adds a further call without a result: the text is kept, cut or not.
    pub(super) fn beside(self, call: CallRecord) -> Self {
        let text = Arc::clone(&self.text);
        let Metadata { truncated, filtered, interrupted, .. } = self.metadata;
        let with = self.and(text, call);
        Self { metadata: Metadata { truncated, filtered, interrupted, ..with.metadata }, ..with }
    }
}
