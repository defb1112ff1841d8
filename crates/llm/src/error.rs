//! How a call of a model can fail.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use dialectic_base::money::BudgetLimit;

/// The statuses of an answer that no model worked for: what is said no to, and what is put off. 407 is a proxy's, which
/// has connected to nobody.
const UNBILLED: [u16; 9] = [400, 401, 403, 404, 407, 413, 422, 429, 503];

/// Whether a provider may bill a request that it answers with this status.
pub(super) fn may_bill(status: u16) -> bool {
    !UNBILLED.contains(&status)
}

/// Until when, as people of this place read it.
fn goes_on(until: DateTime<Utc>) -> String {
    format!("; it may go on at {}", until.with_timezone(&Local).format("%Y-%m-%d %H:%M"))
}

/// A failed attempt. Whether another may help is a property of the kind, never of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// 429, but for an exhausted quota.
    #[error("rate limited (429): {message}")]
    RateLimited {
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
        /// What the server said.
        message: String,
    },
    /// 408, 409, 425, 5xx, but for what is [`Unavailable`](Self::Unavailable).
    #[error("the server failed ({status}): {message}")]
    ServerFailed {
        /// The HTTP status.
        status: u16,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
        /// What the server said.
        message: String,
    },
    /// 502, 503, 504 as a status, before any part of an answer: the proxy that answers cannot reach the model.
    #[error("the server failed ({status}): {message}")]
    Unavailable {
        /// The HTTP status.
        status: u16,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
        /// What the server said.
        message: String,
    },
    /// 401, 403.
    #[error("the key was refused ({status}): {message}")]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// What the server said, without the key.
        message: String,
    },
    /// 400, 404, 422, an exhausted quota, and whatever else the server says no to.
    #[error("the request was refused ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The request and the room for its answer are longer than what the model can read. A shorter one may be taken.
    #[error("the request exceeds the model's context window: {message}")]
    ContextExceeded {
        /// What the server said.
        message: String,
    },
    /// The server could not be reached.
    #[error("cannot reach the server: {message}")]
    Unreachable {
        /// Why.
        message: String,
    },
    /// No token came in time.
    #[error("no answer within {after:?}")]
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// The answer broke off or is not what the API returns.
    #[error("the answer is broken: {message}")]
    Broken {
        /// In which way.
        message: String,
    },
    /// The answer has no text and calls no tool.
    #[error("the answer is empty")]
    Empty,
    /// The answer has no text because the output limit was spent before it.
    #[error("the output limit was used up before any text")]
    OutputLimit,
    /// The provider's filter or the model refused.
    #[error("the model refused: {message}")]
    Filtered {
        /// What it said.
        message: String,
    },
    /// A program of a provider failed, and says no more than this.
    #[error("the program failed: {message}")]
    ProgramFailed {
        /// What it said.
        message: String,
    },
    /// A program's user is not logged in, or the key that it was given is refused.
    #[error("the program is not logged in: {message}")]
    LoggedOut {
        /// What it said.
        message: String,
    },
    /// What a subscription allows is used up.
    #[error("the usage limit is reached{}: {message}", until.map(goes_on).unwrap_or_default())]
    UsageLimit {
        /// From when on it may go on, where that is said.
        until: Option<DateTime<Utc>>,
        /// What the program said.
        message: String,
    },
    /// A program's model used a tool, though it has none.
    #[error("the program used a tool, `{tool}`, and what it saw or did there is not known")]
    ToolUsed {
        /// The tool.
        tool: String,
    },
    /// Two attempts failed that count in full under the cost limit. A third would take as much again, so the call ends
    /// as if the server were gone.
    #[error("two attempts failed that may be on the bill, the last so: {last}")]
    FailedTwice {
        /// The last failure.
        last: Box<Self>,
    },
    /// It was not sent: the debate's limit of cost or calls has no room for it.
    #[error("the {limit} has no room for this call")]
    OverBudget {
        /// The limit.
        limit: BudgetLimit,
    },
    /// It was not sent: the debates of its directory have sent as many requests today as they may.
    #[error("the {limit} calls of today are used up; they go on at {}", until.format("%Y-%m-%d %H:%M UTC"))]
    NoCallsToday {
        /// How many requests a day may have.
        limit: u32,
        /// When the next day begins.
        until: DateTime<Utc>,
    },
    /// It was not sent: nothing had been heard of its whole round for too long.
    #[error("the round ran into its time limit before it was sent")]
    OutOfTime,
    /// The request cannot be sent as configured.
    #[error("the request cannot be sent: {message}")]
    Unsendable {
        /// Why.
        message: String,
    },
}

impl ModelError {
    /// The name of its kind, as records and traces have it: one of a short list, whatever the server said.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate-limited",
            Self::ServerFailed { .. } | Self::Unavailable { .. } => "server-failed",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Refused { .. } => "refused",
            Self::ContextExceeded { .. } => "context-exceeded",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed-out",
            Self::Broken { .. } => "broken",
            Self::Empty => "empty",
            Self::OutputLimit => "output-limit",
            Self::Filtered { .. } => "filtered",
            Self::ProgramFailed { .. } => "program-failed",
            Self::LoggedOut { .. } => "logged-out",
            Self::UsageLimit { .. } => "usage-limit",
            Self::ToolUsed { .. } => "tool-used",
            Self::FailedTwice { last } => last.kind(),
            Self::OverBudget { .. } => "over-budget",
            Self::NoCallsToday { .. } => "no-calls-today",
            Self::OutOfTime => "out-of-time",
            Self::Unsendable { .. } => "unsendable",
        }
    }

    /// Whether another attempt may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::ServerFailed { .. }
            | Self::Unavailable { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Broken { .. }
            | Self::ProgramFailed { .. }
            | Self::Empty => true,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::ContextExceeded { .. }
            | Self::OutputLimit
            | Self::Filtered { .. }
            | Self::LoggedOut { .. }
            | Self::UsageLimit { .. }
            | Self::ToolUsed { .. }
            | Self::FailedTwice { .. }
            | Self::OverBudget { .. }
            | Self::NoCallsToday { .. }
            | Self::OutOfTime
            | Self::Unsendable { .. } => false,
        }
    }

    /// Whether the attempt took all of its time.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::FailedTwice { last } => last.is_timeout(),
            error => matches!(error, Self::TimedOut { .. }),
        }
    }

    /// Whether the provider may bill the attempt although it gave no answer. For a refusal, the HTTP status decides;
    /// an error inside an answer that had begun [is billed](super::FailedAttempt) whatever it says.
    pub fn may_be_billed(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Broken { .. }
            | Self::Empty
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
            | Self::ContextExceeded { .. }
            | Self::Unreachable { .. }
            | Self::LoggedOut { .. }
            | Self::UsageLimit { .. }
            | Self::OverBudget { .. }
            | Self::NoCallsToday { .. }
            | Self::OutOfTime
            | Self::Unsendable { .. } => false,
        }
    }

    /// Whether the attempt came to no model: nobody was reached, or who asks or what is asked for is not known there.
    pub fn is_turned_away(&self) -> bool {
        match self {
            Self::Unauthorized { .. } | Self::Unreachable { .. } | Self::LoggedOut { .. } => true,
            Self::Refused { status, .. } => *status == 404,
            _ => false,
        }
    }

    /// Whether the same request may succeed later although retrying now is pointless: the server or its upstream cannot be
    /// reached, a usage limit is reached, or a third attempt would cost too much.
    pub fn is_server_gone(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Unavailable { .. }
                | Self::UsageLimit { .. }
                | Self::NoCallsToday { .. }
                | Self::FailedTwice { .. }
        )
    }

    /// Whether the calls that a subscription or the day allows are used up.
    pub fn is_used_up(&self) -> bool {
        matches!(self, Self::UsageLimit { .. } | Self::NoCallsToday { .. })
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. }
            | Self::ServerFailed { retry_after, .. }
            | Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
