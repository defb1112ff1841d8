//! Errors of model calls.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use dialectic_base::money::BudgetLimit;

/// HTTP statuses of failures in which no model did any work. 402 means that no credit is available, 407 comes from a
/// proxy that did not connect, and Anthropic sends 529 if a model is overloaded.
const UNBILLED: [u16; 13] = [400, 401, 402, 403, 404, 405, 407, 410, 413, 422, 429, 503, 529];

/// Whether a request that failed with this status may be billed. Redirects are not followed, so they reach no model.
pub(super) fn may_bill(status: u16) -> bool {
    !UNBILLED.contains(&status) && !(300..400).contains(&status)
}

fn goes_on(until: DateTime<Utc>) -> String {
    format!("; it resets at {}", until.with_timezone(&Local).format("%Y-%m-%d %H:%M"))
}

/// The kind of error, never its text, decides whether another attempt may help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Status 429, 402 with a delay, and other refusals that mention a rate limit.
    #[error("rate limited ({status}): {message}")]
    RateLimited { status: u16, retry_after: Option<Duration>, message: String },
    /// Status 408, 409, 424, 425, 499 or 5xx, except for [`Unavailable`](Self::Unavailable); also an unknown error with
    /// a 2xx status, and refusals that blame the model.
    #[error("the server failed ({status}): {message}")]
    ServerFailed { status: u16, retry_after: Option<Duration>, message: String },
    /// Status 502, 503, 504 or 529 before any part of an answer: a proxy cannot reach the model, or all of the model's
    /// servers are busy.
    #[error("the server failed ({status}): {message}")]
    Unavailable { status: u16, retry_after: Option<Duration>, message: String },
    /// Status 401, and other refusals that blame the key.
    #[error("the key was refused ({status}): {message}")]
    Unauthorized {
        status: u16,
        /// The server's message with the key removed.
        message: String,
    },
    /// The account's quota, balance or spending limit is exhausted.
    #[error("the account has no credit ({status}): {message}")]
    NoCredit { status: u16, message: String },
    /// Status 400, 403, 404, 410 or 422, and all other refusals.
    #[error("the request was refused ({status}): {message}")]
    Refused { status: u16, message: String },
    /// The request plus its output limit exceeds the model's context window. A shorter request may be accepted.
    #[error("the request exceeds the model's context window: {message}")]
    ContextExceeded { message: String },
    #[error("cannot reach the server: {message}")]
    Unreachable { message: String },
    #[error("no answer within {after:?}")]
    TimedOut { after: Duration },
    /// The answer was interrupted, or does not match the API.
    #[error("the answer is broken: {message}")]
    Broken { message: String },
    /// The answer has neither text nor tool calls.
    #[error("the answer is empty")]
    Empty,
    #[error("the answer is unusable: {message}")]
    Unusable {
        /// A clause about the answer, such as `it contains reasoning but no text`.
        message: String,
    },
    #[error("the output limit was reached before any text was written")]
    OutputLimit,
    /// The provider's filter or the model itself refused.
    #[error("the model refused: {message}")]
    Filtered { message: String },
    /// A provider's program failed, and no other variant applies.
    #[error("the program failed: {message}")]
    ProgramFailed { message: String },
    /// The program is not logged in, or its key was rejected.
    #[error("the program is not logged in: {message}")]
    LoggedOut { message: String },
    /// A subscription's usage limit, which is not a server's rate limit.
    #[error("usage limit reached{}: {message}", until.map(goes_on).unwrap_or_default())]
    UsageLimit {
        /// `None` if the program does not say.
        until: Option<DateTime<Utc>>,
        message: String,
    },
    /// A program's model used a tool, or the program announced one, although no call offers tools.
    #[error("the program used the tool `{tool}`; its effects are unknown")]
    ToolUsed { tool: String },
    /// Two failed attempts were charged in full under the cost limit. A third attempt could cost as much, so the call
    /// ends as if the server were unreachable.
    #[error("two attempts failed and may have been billed; last error: {last}")]
    FailedTwice { last: Box<Self> },
    /// The call was not sent, because the cost or call limit leaves no room for it.
    #[error("the {limit} leaves no room for this call")]
    OverBudget { limit: BudgetLimit },
    /// The call was not sent, because its round was idle for too long.
    #[error("the round reached its time limit before the call was sent")]
    OutOfTime,
    #[error("cannot send the request: {message}")]
    Unsendable { message: String },
}

/// When the same request may succeed. `Later` means that retrying now is pointless.
#[derive(PartialEq, Eq)]
enum Prospect {
    Again,
    OnceAgain,
    AgainOrLater,
    Later,
    Never,
}

impl ModelError {
    /// The kind's name in records and traces.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate-limited",
            Self::ServerFailed { .. } | Self::Unavailable { .. } => "server-failed",
            Self::Unauthorized { .. } => "unauthorized",
            Self::NoCredit { .. } => "no-credit",
            Self::Refused { .. } => "refused",
            Self::ContextExceeded { .. } => "context-exceeded",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed-out",
            Self::Broken { .. } => "broken",
            Self::Empty => "empty",
            Self::Unusable { .. } => "unusable",
            Self::OutputLimit => "output-limit",
            Self::Filtered { .. } => "filtered",
            Self::ProgramFailed { .. } => "program-failed",
            Self::LoggedOut { .. } => "logged-out",
            Self::UsageLimit { .. } => "usage-limit",
            Self::ToolUsed { .. } => "tool-used",
            Self::FailedTwice { last } => last.kind(),
            Self::OverBudget { .. } => "over-budget",
            Self::OutOfTime => "out-of-time",
            Self::Unsendable { .. } => "unsendable",
        }
    }

    fn prospect(&self) -> Prospect {
        let is_of_model = |status: u16| status < 500 && !matches!(status, 200..=299 | 408 | 409 | 425);
        match self {
            Self::TimedOut { .. } | Self::Unusable { .. } => Prospect::OnceAgain,
            Self::ServerFailed { status, .. } if is_of_model(*status) => Prospect::OnceAgain,
            Self::RateLimited { .. }
            | Self::ServerFailed { .. }
            | Self::Broken { .. }
            | Self::ProgramFailed { .. }
            | Self::Empty => Prospect::Again,
            Self::Unavailable { .. } | Self::Unreachable { .. } => Prospect::AgainOrLater,
            Self::UsageLimit { .. } | Self::FailedTwice { .. } => Prospect::Later,
            Self::Unauthorized { .. }
            | Self::NoCredit { .. }
            | Self::Refused { .. }
            | Self::ContextExceeded { .. }
            | Self::OutputLimit
            | Self::Filtered { .. }
            | Self::LoggedOut { .. }
            | Self::ToolUsed { .. }
            | Self::OverBudget { .. }
            | Self::OutOfTime
            | Self::Unsendable { .. } => Prospect::Never,
        }
    }

    pub fn is_transient(&self) -> bool {
        matches!(self.prospect(), Prospect::Again | Prospect::OnceAgain | Prospect::AgainOrLater)
    }

    pub fn is_timeout(&self) -> bool {
        let error = if let Self::FailedTwice { last } = self { last } else { self };
        matches!(error, Self::TimedOut { .. })
    }

    pub fn repeats_once(&self) -> bool {
        self.prospect() == Prospect::OnceAgain
    }

    /// Whether the provider may bill the attempt although it returned no answer. For HTTP errors, the status decides;
    /// for an error inside a started answer, see [`FailedAttempt`](super::FailedAttempt).
    pub fn may_be_billed(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Broken { .. }
            | Self::Empty
            | Self::Unusable { .. }
            | Self::OutputLimit
            | Self::Filtered { .. }
            | Self::ProgramFailed { .. }
            | Self::ToolUsed { .. }
            | Self::FailedTwice { .. } => true,
            Self::ServerFailed { status, .. }
            | Self::Unavailable { status, .. }
            | Self::Unauthorized { status, .. }
            | Self::Refused { status, .. } => may_bill(*status),
            Self::RateLimited { .. }
            | Self::NoCredit { .. }
            | Self::ContextExceeded { .. }
            | Self::Unreachable { .. }
            | Self::LoggedOut { .. }
            | Self::UsageLimit { .. }
            | Self::OverBudget { .. }
            | Self::OutOfTime
            | Self::Unsendable { .. } => false,
        }
    }

    /// Whether the attempt reached no model: there was no connection, the sender was refused, or the target does not
    /// exist.
    pub fn is_turned_away(&self) -> bool {
        matches!(
            self,
            Self::Unauthorized { .. }
                | Self::NoCredit { .. }
                | Self::Unreachable { .. }
                | Self::LoggedOut { .. }
                | Self::Refused { status: 403 | 404 | 410, .. }
        )
    }

    /// Whether the same request may succeed later, once retrying immediately has failed or is pointless: the server or
    /// its upstream is unreachable, a usage limit is reached, or a third attempt would cost too much.
    pub fn is_server_gone(&self) -> bool {
        matches!(self.prospect(), Prospect::AgainOrLater | Prospect::Later)
    }

    pub fn is_used_up(&self) -> bool {
        matches!(self, Self::UsageLimit { .. })
    }

    pub fn retry_after(&self) -> Option<Duration> {
        let (Self::RateLimited { retry_after, .. }
        | Self::ServerFailed { retry_after, .. }
        | Self::Unavailable { retry_after, .. }) = self
        else {
            return None;
        };
        *retry_after
    }
}
