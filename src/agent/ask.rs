//! A question to a model up to a usable answer: one call, or more where JSON comes back unreadable.

use std::sync::Arc;

use crate::debate::{CallRecord, Metadata, StoredReply};
use crate::llm::{Caller, FailedCall, Request, Turn};
use crate::prompt::{Prompt, SecondChance};

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
    /// Asks for text.
    ///
    /// # Errors
    /// When the call fails for good.
    pub async fn text(self) -> Result<Said, FailedCall> {
        let answered = self.caller.call(&self.request).await?;
        let metadata = Metadata::of_calls([&answered.record]);
        Ok(Said { text: answered.reply.text.into(), call: answered.record, metadata })
    }

    /// Asks for JSON that `read` understands, and once more with the reason when it does not.
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
            let answered = self.caller.call(&self.request).await?;
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
