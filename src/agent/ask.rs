//! A question to a model up to a usable answer: one call, or more where JSON comes back unreadable.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::debate::{CallRecord, Metadata, StoredReply, ToolCall, ToolResult};
use crate::llm::{Caller, FailedCall, ModelError, Request, Spent, Turn};
use crate::prompt::{Prompt, SecondChance};
use crate::tools::Toolbox;

use super::AnswerError;

/// Told of each reply that is paid for but not yet a result, so that it can be kept before anything else happens.
pub type OnReply = Arc<dyn Fn(StoredReply, CallRecord) + Send + Sync>;

/// A reply that an earlier run of the debate already paid for.
pub type Past = (StoredReply, CallRecord);

/// A question, with what it needs on its way to an answer.
pub struct Ask {
    /// Whom.
    pub caller: Caller,
    /// What.
    pub request: Request,
    /// Replies to it from an earlier run, oldest first; they are not paid again.
    pub past: Vec<Past>,
    /// Told of each further reply that is not yet a result.
    pub on_reply: OnReply,
    /// The tools that the model may call; none for JSON answers.
    pub tools: Option<Tools>,
}

/// Tools on their way to a model.
#[derive(Clone)]
pub struct Tools {
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// How often the model may go on after tool results; failed calls count.
    pub limit: u32,
}

/// What the calls of one answer came to.
#[derive(Default)]
struct ToolLog {
    iterations: u32,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    records: Vec<CallRecord>,
}

impl ToolLog {
    fn note(&mut self, reply: &StoredReply, record: CallRecord) {
        self.iterations += 1;
        self.calls.extend(reply.tool_calls.iter().cloned());
        self.results.extend(reply.tool_results.iter().cloned());
        self.records.push(record);
    }

    fn into_metadata(self) -> Metadata {
        Metadata {
            tool_calls: self.calls,
            tool_results: self.results,
            tool_call_iterations: (self.iterations > 0).then_some(self.iterations),
            ..Metadata::of_calls(&self.records)
        }
    }
}

/// Runs the tools that a reply calls, one after the other, away from the engine's thread: they read files.
async fn run_all(toolbox: Arc<Toolbox>, calls: &[ToolCall]) -> Vec<ToolResult> {
    let wanted = calls.to_vec();
    let run = spawn_blocking(move || wanted.iter().map(|call| toolbox.run(call)).collect());
    // A tool that panics must not take the debate with it; the model is told.
    run.await.unwrap_or_else(|_| calls.iter().map(|call| ToolResult::error(call, "the tool failed")).collect())
}

/// An answer in text.
#[derive(Debug, Clone)]
pub struct Said {
    /// The text.
    pub text: Arc<str>,
    /// What the last call took; calls before it were told to [`Ask::on_reply`].
    pub call: CallRecord,
    /// How it came about, all calls together.
    pub metadata: Metadata,
}

/// An answer that stayed unreadable after a second chance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The first answer, as it came: the second is often but an apology.
    pub raw: String,
    /// Why the last could not be read.
    pub error: AnswerError,
}

impl Ask {
    /// Asks for text. While the model calls tools, runs them and asks again, up to `tools.limit` times; the last
    /// call offers none, so that text comes back.
    ///
    /// # Errors
    /// When a call fails for good.
    pub async fn text(mut self) -> Result<Said, FailedCall> {
        let mut log = ToolLog::default();
        for (reply, record) in std::mem::take(&mut self.past) {
            log.note(&reply, record);
            self.go_on(reply);
        }
        loop {
            let offered = self.tools.as_ref().filter(|tools| log.iterations < tools.limit);
            self.request.tools = offered.map(|tools| tools.toolbox.specs()).unwrap_or_default();
            let toolbox = offered.map(|tools| Arc::clone(&tools.toolbox));
            let answered = self.caller.call(&self.request).await?;
            let (reply, call) = (answered.reply, answered.record);
            let Some(toolbox) = toolbox.filter(|_| !reply.tool_calls.is_empty()) else {
                if reply.text.trim().is_empty() {
                    let spent = Spent { tokens: call.tokens, cost_usd: call.cost_usd };
                    let (attempts, spent) = (call.attempts, Some(Box::new(spent)));
                    return Err(FailedCall { error: ModelError::Empty, attempts, spent });
                }
                log.records.push(call.clone());
                return Ok(Said { text: reply.text.into(), call, metadata: log.into_metadata() });
            };
            let tool_results = run_all(toolbox, &reply.tool_calls).await;
            let stored =
                StoredReply { text: reply.text, tool_calls: reply.tool_calls, tool_results, parse_error: None };
            (self.on_reply)(stored.clone(), call.clone());
            log.note(&stored, call);
            self.go_on(stored);
        }
    }

    /// Puts a reply that called tools, and what they answered, behind the question.
    fn go_on(&mut self, reply: StoredReply) {
        self.request.turns.push(Turn::Assistant { text: reply.text, calls: reply.tool_calls });
        self.request.turns.push(Turn::ToolResults(reply.tool_results));
    }

    /// Asks for JSON that `read` understands, and once more with the reason when it does not and the cost limit has
    /// room for it.
    ///
    /// # Errors
    /// When a call fails for good.
    pub async fn json<T>(
        mut self,
        read: impl Fn(&str) -> Result<T, AnswerError>,
    ) -> Result<(Result<T, Unreadable>, CallRecord), FailedCall> {
        let mut first = None;
        for (reply, _) in std::mem::take(&mut self.past) {
            if let Some(error) = reply.parse_error {
                self.give_second_chance(&reply.text, &error);
                first = Some(reply.text);
            }
        }
        loop {
            let answered = match (self.caller.call(&self.request).await, &first) {
                (Err(failed), Some(raw)) if failed.was_never_sent() => {
                    let error = AnswerError::NoSecondChance { message: failed.error.to_string() };
                    return Ok((Err(Unreadable { raw: raw.clone(), error }), self.caller.unsent(&self.request)));
                }
                (answered, _) => answered?,
            };
            let text = answered.reply.text;
            match (read(&text), first) {
                (Ok(value), _) => return Ok((Ok(value), answered.record)),
                (Err(error), Some(raw)) => return Ok((Err(Unreadable { raw, error }), answered.record)),
                (Err(error), None) => {
                    let error = error.to_string();
                    self.give_second_chance(&text, &error);
                    let reply = StoredReply {
                        text: text.clone(),
                        tool_calls: Vec::new(),
                        tool_results: Vec::new(),
                        parse_error: Some(error),
                    };
                    (self.on_reply)(reply, answered.record);
                    first = Some(text);
                }
            }
        }
    }

    fn give_second_chance(&mut self, text: &str, error: &str) {
        // The template is tested with every value; were it defective, the bare reason says enough.
        let again = SecondChance { error }.render().unwrap_or_else(|_| error.to_owned());
        self.request.turns.push(Turn::Assistant { text: text.to_owned(), calls: Vec::new() });
        self.request.turns.push(Turn::User(again));
    }
}
