//! Debaters and the judge: what each is asked, and how its answers are read.
//!
//! Everything here is a function from the record to a [`Request`](crate::llm::Request), or from a reply to a value;
//! when a call is made, and what becomes of its result, is the engine's business.

mod anonymous;
mod answer;
mod ask;
mod ballot;
mod debater;
mod ground;
mod history;
mod judge;
mod material;
mod mend;
mod panel;
mod questions;
mod solution;
mod written;

pub use anonymous::shuffled;
pub use answer::{AnswerError, read_json};
pub use ask::{Ask, OnReply, Past, Said, Solved, Tools, Unreadable};
pub use ballot::{Ballot, Slate};
pub use debater::Debater;
pub use ground::Ground;
pub use history::{SummaryPlan, finished_text, own_history_length};
pub use judge::{ASSESSMENT, Judge, Judged, MERGE_ASSESSMENT, Score, SynthesisMaterial};
pub use panel::{Panel, PanelError};
pub use questions::Questions;
pub use written::{Assessment, Written};

/// The methods by which history can be condensed, as configurations name them.
pub const SUMMARIZATION_METHODS: &[&str] = &["length-based"];
