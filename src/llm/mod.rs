//! Calls of language models: one trait, the providers behind it, and what surrounds a call (retry, time-out,
//! concurrency, price, words on their way to whoever watches).
//!
//! Nothing here knows what a debate asks for; a [`Request`] carries that along in its [`Brief`], for tracing, cost
//! and the offline provider. Nothing here prints, and no key is ever part of an error.

mod budget;
mod caller;
mod error;
mod live;
mod request;
mod silence;

pub mod models;
pub mod presets;

pub mod offline;
pub mod openai;

pub use budget::{ANSWER_LIMIT, Budget, BudgetError, SHORTEST_CLOSING, request_bytes};
pub use caller::{Answered, CallObserver, Caller, CallerLimits, FailedCall, InFlight, Spent};
pub use error::ModelError;
pub use live::{FailedAttempt, Figures, Listener, Live, Timeouts};
pub use models::{built_in_price, facts_of, limits_of, price_of};
pub use request::{
    AnswerSchema, Brief, ChatModel, FinishReason, Material, MaterialKind, Reply, Request, ToolSpec, Turn,
};
pub use silence::Silence;
