//! Agents and judge: turns a protocol's step into a request, and a reply into a value.
//!
//! The step determines the call's content. This module collects the texts, shortens them, renders the prompt, asks,
//! runs tools, parses the reply, and asks again if the reply is unusable. The engine decides when to call.

mod ask;
mod call;
mod compare;
mod json;
mod labels;
mod panel;
mod points;
mod reply;
mod rulings;
mod texts;
mod written;

pub use ask::{Ask, OnReply, PaidReply, RequestResult, Tools, Value, answer};
pub use call::{Call, beginnings, prepare};
pub use json::{AnswerError, read_json};
pub use panel::{Agent, Panel, PanelError, facts_of, limits_of, price_at, price_of, timeouts_of, tool_room};
pub use reply::Cast;
pub use rulings::Ruled;
pub use texts::cut_summary;
pub use written::{Assessment, CANDIDATES, Written};

/// The valid values of `summarization.method`. There is only one, so no code depends on the method.
pub const SUMMARIZATION_METHODS: &[&str] = &["length-based"];
