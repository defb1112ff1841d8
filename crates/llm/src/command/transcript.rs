//! What a program has said, and what that comes to.

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret as _, SecretString};

use dialectic_base::call::Tokens;
use dialectic_base::markdown::truncate;
use dialectic_base::money::Usd;

use crate::openai::finish_word;
use crate::{FailedAttempt, Listener, ModelError, Reply, StatedUsage};

use super::limits;

/// Shorter values than this are words that a message may have by chance.
const SHORTEST_SECRET: usize = 8;
/// Characters of what a program says of its failure that are kept.
const LONGEST_MESSAGE: usize = 500;
/// What is recorded as the word for why an answer ended, where a program that has one does not say it.
pub(super) const UNSAID: &str = "not said";

/// What a program has said so far, gathered by the reader of its format.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that it said by itself")]
pub(super) struct Transcript {
    /// The answer as it came in.
    text: String,
    /// The answer as the program repeats it at the end.
    pub(super) whole: Option<String>,
    /// Its word for why the answer ended; nothing of a program that never has one.
    pub(super) finish: Option<String>,
    /// Whether it said that this was all.
    pub(super) is_complete: bool,
    pub(super) tokens: Option<Tokens>,
    /// What it had read when it began to answer.
    pub(super) read: Option<Tokens>,
    pub(super) cost: Option<Usd>,
    pub(super) served_model: Option<String>,
    /// The version that it says it is, where its output has it.
    pub(super) version: Option<String>,
    /// What it says went wrong.
    pub(super) error: Option<String>,
    /// The HTTP status that it says it was answered with.
    pub(super) status: Option<u16>,
    /// Whether nothing more of it is wanted.
    pub(super) is_over: bool,
    /// Whether it says that the call is paid beside the subscription, or by a key.
    pub(super) is_overage: bool,
    /// A tool that it or its model used.
    pub(super) tool: Option<String>,
    /// Whether it says that a limit of its subscription is reached.
    pub(super) is_limited: bool,
    /// From when on it then answers again, where it says that, too.
    pub(super) limited_until: Option<DateTime<Utc>>,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Exit {
    /// Its exit code; nothing where a signal ended it.
    pub(super) code: Option<i32>,
    /// Whether it ended by itself and all of its output was read.
    pub(super) is_whole: bool,
    /// The end of what it said on its standard error.
    pub(super) complaint: String,
}

impl Transcript {
    /// More of the answer has come in.
    pub(super) fn say(&mut self, text: &str, listener: &dyn Listener) {
        if !text.is_empty() {
            self.text.push_str(text);
            listener.on_token(text);
        }
    }

    pub(super) fn has_spoken(&self) -> bool {
        !self.text.is_empty()
    }

    /// Which of a program's own words decide: a failure is one whatever the exit code is.
    pub(super) fn conclude(self, exit: &Exit, secrets: &[SecretString]) -> Result<Reply, FailedAttempt> {
        // A call that read nothing is one of which nothing is known.
        let tokens = self.tokens.filter(|tokens| tokens.total() > 0);
        let usage = StatedUsage { tokens, cost: self.cost };
        if let Some(error) = self.failure(exit, secrets) {
            let may_be_billed = error.may_be_billed() || self.has_spoken();
            return Err(FailedAttempt { error, usage, may_be_billed });
        }
        if !self.is_complete && !self.is_over {
            let message = "it ended before it had said that this was all".to_owned();
            return Err(FailedAttempt::with_usage(ModelError::Broken { message }, usage));
        }
        let (finish, word) = finish_word(self.finish.as_deref());
        Ok(Reply {
            text: self.whole.unwrap_or(self.text),
            tool_calls: Vec::new(),
            finish,
            finish_word: word,
            served_model: self.served_model,
            tokens,
            stated_cost: self.cost,
        })
    }

    fn failure(&self, exit: &Exit, secrets: &[SecretString]) -> Option<ModelError> {
        if let Some(tool) = &self.tool {
            return Some(ModelError::ToolUsed { tool: tool.clone() });
        }
        let failed = exit.code != Some(0);
        let said = self.error.clone().or_else(|| failed.then(|| exit.complaint.trim().to_owned()));
        let message = said.filter(|said| !said.is_empty()).unwrap_or_else(|| match exit.code {
            Some(code) => format!("it ended with the exit code {code}"),
            None => "a signal ended it".to_owned(),
        });
        let secrets = secrets.iter().filter(|secret| secret.expose_secret().len() >= SHORTEST_SECRET);
        let message = secrets.fold(message, |text, secret| text.replace(secret.expose_secret(), "[redacted]"));
        let message = if self.error.is_some() {
            truncate(&message, LONGEST_MESSAGE).to_owned()
        } else {
            // The reason stands at the end.
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
