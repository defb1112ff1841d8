//! What is asked of a model, and what comes back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_base::tool_call::{ToolCall, ToolResult};

use super::{AnswerSchema, FailedAttempt, Live, ModelError, StatedUsage};

/// The output limit, in tokens, of an agent without `maxTokens` in a debate with a cost limit: without one no attempt
/// has a highest price.
pub const ANSWER_LIMIT: u32 = 4096;

/// A model that can be asked. Implementations make one attempt: retry, the wait for the first token and concurrency
/// are the [`Caller`](super::Caller)'s.
pub trait ChatModel: Send + Sync {
    /// Asks once. The answer is streamed wherever the model can, whether or not anybody watches, so that what a call
    /// costs and how it ends never depends on who looks on; a model that cannot answers as a whole.
    ///
    /// # Errors
    /// The future ends in a typed failure that says whether another attempt may help, with what the attempt took.
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>>;

    /// Whether its server can bill nobody: it is on this machine, or gets no key.
    fn is_local(&self) -> bool {
        false
    }

    /// Whether what it takes is part of a subscription: then nothing is billed, and its cost is what it would be at list
    /// price.
    fn is_notional(&self) -> bool {
        false
    }

    /// What all models of this process share that has the same name, and how many attempts may be in flight there at
    /// once; nothing where only the debate's own bound holds.
    fn shared_bound(&self) -> Option<(&Arc<str>, usize)> {
        None
    }

    /// Finds out, without asking a model anything, whether its server can be reached.
    ///
    /// # Errors
    /// Why it cannot.
    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model, as its provider names it.
    pub model: Arc<str>,
    /// The sampling temperature, 0.0 to 2.0.
    pub temperature: f64,
    /// The output limit in tokens.
    pub max_tokens: Option<u32>,
    /// The system text: the same for every call of a debate, so that providers can cache it.
    pub system: Arc<str>,
    /// The user's text: shared material first, what is the role's and the phase's own last.
    pub prompt: Arc<str>,
    /// What was said after the prompt: tool calls and their results, a second chance.
    pub turns: Vec<Turn>,
    /// The JSON that must come back; free text when absent.
    pub answer: Option<Arc<AnswerSchema>>,
    /// Tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
}

/// The bytes of everything that a request sends to be read.
pub fn request_bytes(request: &Request) -> usize {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
        Turn::ToolResults(results) => results.iter().map(|result| result.content.len()).sum(),
        Turn::User(text) => text.len(),
    });
    let tools =
        request.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let schema = request.answer.as_ref().map_or(0, |answer| answer.schema.to_string().len());
    request.system.len() + request.prompt.len() + turns.sum::<usize>() + tools.sum::<usize>() + schema
}

/// A turn of the conversation after the prompt.
#[derive(Debug, Clone)]
pub enum Turn {
    /// What the model said.
    Assistant {
        /// Its text, possibly empty.
        text: String,
        /// The tools it wants called.
        calls: Vec<ToolCall>,
    },
    /// What the tools answered.
    ToolResults(Vec<ToolResult>),
    /// What we said.
    User(String),
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its parameters.
    pub parameters: Value,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The text, possibly empty when tools are called.
    pub text: String,
    /// Tools that the model wants called.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: FinishReason,
    /// The server's word for that, where it says more.
    pub finish_word: Option<String>,
    /// The model that the server says it used.
    pub served_model: Option<String>,
    /// Token counts, as reported.
    pub tokens: Option<Tokens>,
    /// The cost, where the provider states it; beats the price table.
    pub stated_cost: Option<Usd>,
}

impl Reply {
    /// What it took, as the server says.
    pub fn usage(&self) -> StatedUsage {
        StatedUsage { tokens: self.tokens, cost: self.stated_cost }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishReason {
    /// It was complete, or the server did not say otherwise.
    #[default]
    Complete,
    /// It was cut at the output limit.
    Length,
    /// The provider's filter or the model's refusal ended it.
    Filtered,
    /// The server broke it off for a reason of its own.
    Interrupted,
}
