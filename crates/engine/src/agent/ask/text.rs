//! A text answer and the tool calls that led to it.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::tools::Toolbox;
use dialectic_base::call::CallRecord;
use dialectic_base::tool_call::{ToolCall, ToolResult};
use dialectic_record::debate::{Metadata, StoredReply};

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
