//! Agents and judge: from a step of a protocol to a request, and from a reply to a value.
//!
//! What a call says and shows is decided by its step; this module fetches the texts, bounds them, renders the prompt,
//! asks, runs tools, gives second chances and reads what comes back. When a call is made is the engine's business.

mod answer;
mod ask;
mod call;
mod compare;
mod dispute;
mod draft;
mod excerpt;
mod labels;
mod mend;
mod model;
mod panel;
mod points;
mod reply;
mod ruling;
mod rulings;
mod solution;
mod texts;
mod written;

pub use answer::{AnswerError, read_json};
pub use ask::{Ask, Delivered, OnReply, PaidReply, RequestResult, Tools, Unreadable, Value, answer};
pub use call::{Call, SharedPrompt, prepare};
pub use excerpt::cut_summary;
pub use labels::Labels;
pub use model::{facts_of, limits_of, price_of, timeouts_of};
pub use panel::{Agent, Panel, PanelError};
pub use reply::Cast;
pub use rulings::Ruled;
pub use solution::CANDIDATES;
pub use written::{Assessment, Written};

/// How summaries are made: a second method is a second name here and an arm where they are planned.
pub const SUMMARIZATION_METHODS: &[&str] = &["length-based"];
