//! Collects the output of a program and interprets it.

use chrono::{DateTime, Utc};
use serde_json::Value;

use dialectic_base::call::Tokens;
use dialectic_base::markdown::truncate;
use dialectic_base::money::Usd;

use crate::ends::finish;
use crate::{FailedAttempt, FinishReason, Listener, ModelError, Reply, StatedUsage};

use super::limits;

/// The JSON object between the first and last brace of a text.
pub(super) fn json_in(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

pub(super) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}

/// The maximum length of a failure message, in characters.
const LONGEST_MESSAGE: usize = 500;
/// The recorded finish reason if a program omits its usual one.
pub(super) const UNSAID: &str = "not said";

/// The output of a program so far, collected by the parser of its format.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a run")]
pub(super) struct Transcript {
    /// The answer as it arrived.
    text: String,
    /// The answer as repeated at the end.
    pub(super) whole: Option<String>,
    /// The finish reason; `None` for programs without one.
    pub(super) finish: Option<String>,
    /// Whether it reported its end.
    pub(super) is_complete: bool,
    pub(super) tokens: Option<Tokens>,
    /// The input tokens at the beginning of the answer.
    pub(super) read: Option<Tokens>,
    pub(super) cost: Option<Usd>,
    pub(super) served_model: Option<String>,
    /// The reported error.
    pub(super) error: Option<String>,
    /// The reported HTTP status.
    pub(super) status: Option<u16>,
    /// Whether the rest is not wanted.
    pub(super) is_over: bool,
    /// Whether the program reports that the call is paid on top of the subscription, or by key.
    pub(super) is_overage: bool,
    /// A tool that it used.
    pub(super) tool: Option<String>,
    /// Whether its subscription limit is reached.
    pub(super) is_limited: bool,
    /// When the limit ends, if reported.
    pub(super) limited_until: Option<DateTime<Utc>>,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Exit {
    /// The exit code; `None` if killed by a signal.
    pub(super) code: Option<i32>,
    /// Whether it ended on its own and its output was read completely.
    pub(super) is_whole: bool,
    /// The end of its standard error.
    pub(super) complaint: String,
}

impl Transcript {
    /// Adds a part of the answer.
    pub(super) fn say(&mut self, text: &str, listener: &dyn Listener) {
        if !text.is_empty() {
            self.text.push_str(text);
            listener.on_token(text);
        }
    }

    pub(super) fn has_spoken(&self) -> bool {
        !self.text.is_empty()
    }

    /// The result of the call. A reported failure counts regardless of the exit code.
    pub(super) fn conclude(self, exit: &Exit) -> Result<Reply, FailedAttempt> {
        // Zero input tokens mean that the usage is unknown.
        let tokens = self.tokens.filter(|tokens| tokens.total() > 0);
        let usage = StatedUsage { tokens, cost: self.cost };
        if let Some(error) = self.failure(exit) {
            let may_be_billed = error.may_be_billed() || self.has_spoken();
            return Err(FailedAttempt { error, usage, may_be_billed });
        }
        if !self.is_complete && !self.is_over {
            let message = "it ended before its answer was complete".to_owned();
            return Err(FailedAttempt::with_usage(ModelError::Broken { message }, usage));
        }
        let (finish, word) = match self.finish {
            Some(said) if said == UNSAID => (FinishReason::Complete, Some(said)),
            said => finish(said.as_deref()),
        };
        Ok(Reply {
            text: self.whole.unwrap_or(self.text),
            finish,
            finish_word: word,
            served_model: self.served_model,
            tokens,
            stated_cost: self.cost,
            ..Reply::default()
        })
    }

    fn failure(&self, exit: &Exit) -> Option<ModelError> {
        if let Some(tool) = &self.tool {
            return Some(ModelError::ToolUsed { tool: tool.clone() });
        }
        let failed = exit.code != Some(0);
        let said = self.error.clone().or_else(|| failed.then(|| exit.complaint.trim().to_owned()));
        let message = said.filter(|said| !said.is_empty()).unwrap_or_else(|| match exit.code {
            Some(code) => format!("it ended with exit code {code}"),
            None => "it was killed by a signal".to_owned(),
        });
        let message = if self.error.is_some() {
            truncate(&message, LONGEST_MESSAGE).to_owned()
        } else {
            // The reason is at the end.
            message[message.ceil_char_boundary(message.len().saturating_sub(LONGEST_MESSAGE))..].to_owned()
        };
        if self.is_limited && (self.error.is_some() || failed) {
            return Some(ModelError::UsageLimit { until: self.limited_until, message });
        }
        if self.error.is_none() && !failed {
            return None;
        }
        Some(limits::error(message, self.status))
    }
}
