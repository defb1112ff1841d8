//! Calls of language models: one trait, the providers behind it, and what surrounds a call (retry, time-out,
//! concurrency, price, words on their way to watchers).
//!
//! Nothing here knows what a debate asks for. Nothing here prints, and no key is ever part of an error.

mod account;
mod caller;
mod error;
mod idle_timeout;
mod live;
mod request;
mod schema;

pub mod models;
pub mod presets;

pub mod command;
pub mod offline;
pub mod openai;

pub use account::{Account, Reserved};
pub use caller::{AttemptUsage, CallObserver, Caller, CallerLimits, CompletedCall, ConcurrencyLimit, FailedCall};
pub use error::ModelError;
pub use idle_timeout::IdleTimeout;
pub use live::{FailedAttempt, Further, Listener, Live, StatedUsage, Timeouts};
pub use models::built_in_price;
pub use request::{ANSWER_LIMIT, ChatModel, FinishReason, Reply, Request, ToolSpec, Turn, request_bytes};
pub use schema::{AnswerSchema, strict_object};
