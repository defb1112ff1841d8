//! Error responses (RFC 9457), and JSON responses.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Diagnostic, ErrorCategory, in_full};
use dialectic_base::sanitize::{escaped_json, sanitize};
use dialectic_config::ConfigError;
use dialectic_engine::engine::FollowUpError;
use dialectic_engine::runner::{RunnerError, ServicesError, SpendingError};
use dialectic_record::debate::{Debate, Failure, StopReason};
use dialectic_record::store::{JournalError, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A model could not be called, or gave no usable answer.
    ModelError,
    /// A model did not answer in time.
    Timeout,
    /// A cost limit would be exceeded, or cannot be enforced.
    CostLimit,
    /// The request contains an invalid value.
    Validation,
    /// A model's server could not be reached.
    Network,
    /// The client is not allowed to make the request.
    Access,
    /// The requested resource does not exist.
    NotFound,
    /// The debate's status or files do not allow the request.
    Conflict,
    /// The server cannot take the request now.
    Busy,
    /// The server failed.
    Internal,
}

/// An error as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemDetails {
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// The kind of error in words.
    pub(super) title: &'static str,
    /// The HTTP status.
    pub(super) status: u16,
    /// What went wrong.
    pub(super) detail: String,
    /// How to fix it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// The key in the request that caused the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// Whether the same request may succeed later.
    pub(super) retryable: bool,
}

impl Kind {
    /// The title, and whether a retry may succeed.
    fn meaning(self) -> (&'static str, bool) {
        match self {
            Self::ModelError => ("A model could not be called, or gave no usable answer", false),
            Self::Timeout => ("A model did not respond in time", true),
            Self::CostLimit => ("A cost limit does not allow this", false),
            Self::Validation => ("The request is invalid", false),
            Self::Network => ("A model's server could not be reached", true),
            Self::Access => ("Access denied", false),
            Self::NotFound => ("Not found", false),
            Self::Conflict => ("The debate's status or files do not allow this", false),
            Self::Busy => ("The server is busy", true),
            Self::Internal => ("The server failed", false),
        }
    }

    /// The kind of error for a failed call whose recorded kind is `kind`, and whether a retry may succeed.
    fn of_failure(kind: Option<&str>) -> (Self, bool) {
        match kind {
            Some("unreachable" | "broken") => (Self::Network, true),
            Some("timed-out" | "out-of-time") => (Self::Timeout, true),
            Some("over-budget") => (Self::CostLimit, false),
            Some("rate-limited" | "server-failed") => (Self::ModelError, true),
            _ => (Self::ModelError, false),
        }
    }
}

impl ProblemDetails {
    pub(super) fn new(status: StatusCode, kind: Kind, detail: impl Into<String>) -> Self {
        let (title, retryable) = kind.meaning();
        Self { kind, title, status: status.as_u16(), detail: detail.into(), hint: None, key: None, retryable }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn key(key: impl Into<String>, detail: impl Into<String>) -> Self {
        let key = Some(key.into());
        Self { key, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, Kind::Validation, detail) }
    }

    pub(super) fn validation(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Kind::Validation, detail)
    }

    pub(super) fn cost(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Kind::CostLimit, detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, Kind::Conflict, detail)
    }

    pub(super) fn no_such_debate() -> Self {
        Self::new(StatusCode::NOT_FOUND, Kind::NotFound, "there is no debate with that id")
    }

    pub(super) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Kind::Busy, detail)
    }

    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Kind::Internal, detail)
    }

    /// Why a debate failed; `None` if it did not.
    pub(super) fn of_debate(debate: &Debate) -> Option<Self> {
        let detail = debate.error.clone()?;
        let of_round = |failure: &&Failure| failure.key.round == debate.current_round;
        let failure = debate.failures.iter().rfind(of_round).or(debate.failures.last());
        let (kind, retryable) = match (debate.stop_reason, failure) {
            (Some(StopReason::Budget), _) => (Kind::CostLimit, false),
            // No call failed, so the user stopped the debate before it had a proposal.
            (None, None) => return Some(Self::conflict(detail)),
            (_, failure) => Kind::of_failure(failure.and_then(|failure| failure.kind.as_deref())),
        };
        let said = failure.map(|failure| failure.error.as_str()).filter(|said| !detail.contains(*said));
        let detail = said.map_or(detail.clone(), |said| format!("{detail} ({said})"));
        Some(Self { retryable, ..Self::new(StatusCode::BAD_GATEWAY, kind, detail) })
    }

    /// The response for an error. Omits the error's hint, which may name command-line options.
    pub(super) fn diagnosed(error: &dyn Diagnostic) -> Self {
        let detail = in_full(error);
        match error.blame() {
            ErrorCategory::Arguments => Self::validation(detail),
            ErrorCategory::Configuration => Self::new(StatusCode::SERVICE_UNAVAILABLE, Kind::ModelError, detail),
            ErrorCategory::Provider => Self::new(StatusCode::BAD_GATEWAY, Kind::ModelError, detail),
            ErrorCategory::General => Self::internal(detail),
            ErrorCategory::Busy => Self::conflict(detail),
        }
    }
}

impl From<ConfigError> for ProblemDetails {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Argument { option: "--set", message } => {
                let key = message.split([':', ' ']).next().unwrap_or_default().trim_matches('`').to_owned();
                Self::key(key, message)
            }
            ConfigError::Argument { option, message } | ConfigError::NeedsProvider { option, message } => {
                Self::key(option.trim_start_matches('-'), format!("{} {message}", option.trim_start_matches('-')))
            }
            error => Self::internal(error.to_string()),
        }
    }
}

impl From<StoreError> for ProblemDetails {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { .. } => Self::no_such_debate(),
            StoreError::Journal(JournalError::Locked { .. }) => {
                Self::conflict("the debate is running, or another request is using it").hint("wait until it ends")
            }
            error => match error.blame() {
                ErrorCategory::Arguments | ErrorCategory::Busy => Self::conflict(error.to_string()),
                ErrorCategory::General | ErrorCategory::Provider | ErrorCategory::Configuration => {
                    Self::internal(error.to_string())
                }
            },
        }
    }
}

impl From<SpendingError> for ProblemDetails {
    fn from(error: SpendingError) -> Self {
        match error {
            SpendingError::Store(error) => error.into(),
            error @ SpendingError::Held(_) => Self { hint: error.hint(), ..Self::busy(error.to_string()) },
            SpendingError::Unreadable { .. }
            | SpendingError::Damaged { .. }
            | SpendingError::Newer { .. }
            | SpendingError::Lock { .. } => Self::diagnosed(&error),
        }
    }
}

impl From<RunnerError> for ProblemDetails {
    fn from(error: RunnerError) -> Self {
        match error {
            RunnerError::Store(error) => error.into(),
            RunnerError::IsFinished { .. }
            | RunnerError::NotResumable { .. }
            | RunnerError::NotAnswerable { .. }
            | RunnerError::ReplyNotWanted
            | RunnerError::ReplyUnusable(_) => Self::conflict(error.to_string()),
            RunnerError::Services(ServicesError::Budget(error)) => {
                Self { hint: error.hint(), ..Self::cost(error.to_string()) }
            }
            RunnerError::Trust(_) => Self::conflict(in_full(&error))
                .hint("continue the debate on the command line, where you can allow this"),
            RunnerError::Services(_)
            | RunnerError::Unfit(_)
            | RunnerError::Engine(_)
            | RunnerError::Forecast(_)
            | RunnerError::Window(_)
            | RunnerError::Fork { .. } => Self::diagnosed(&error),
        }
    }
}

impl From<FollowUpError> for ProblemDetails {
    fn from(error: FollowUpError) -> Self {
        match error {
            FollowUpError::TooDear { .. } | FollowUpError::NoCallLeft => Self::cost(error.to_string()),
            FollowUpError::TooMany(_) | FollowUpError::HostJudge => Self::conflict(error.to_string()),
            FollowUpError::Failed { .. } | FollowUpError::Interrupted | FollowUpError::Engine(_) => {
                Self::diagnosed(&error)
            }
        }
    }
}

impl IntoResponse for ProblemDetails {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, sanitize(&body).into_owned()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.retryable && status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A JSON response in which control characters are escaped.
pub(super) struct Json<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.1) {
            Ok(text) => (self.0, [(header::CONTENT_TYPE, "application/json")], escaped_json(text)).into_response(),
            Err(error) => ProblemDetails::internal(error.to_string()).into_response(),
        }
    }
}

pub(super) fn ok<T: Serialize>(value: T) -> Response {
    Json(StatusCode::OK, value).into_response()
}
