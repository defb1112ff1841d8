//! Calls language models: one trait, its providers, and everything around a call (retries, time limits, concurrency,
//! prices, streaming).
//!
//! This crate knows nothing of debates and prints nothing. Its errors never contain keys.

// New variants must be handled explicitly.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod caller;
mod error;
#[cfg(test)]
mod fixture;
mod host;
mod live;
mod request;

pub mod models;

pub mod command;
pub mod offline;
pub mod openai;

pub use caller::{Account, AttemptUsage, CallObserver, Caller, CallerLimits, ConcurrencyLimit, FailedCall, Reserved};
pub use error::ModelError;
pub use host::HostModel;
pub use live::{FailedAttempt, Further, IdleTimeout, Listener, Live, StatedUsage, Timeouts};
pub use models::built_in_price;
pub use request::{
    ANSWER_LIMIT, AnswerSchema, ChatModel, FinishReason, Reply, Request, ToolSpec, Turn, request_bytes, strict_object,
};
