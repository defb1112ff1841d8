//! The record of a debate: its problem, texts, decisions and cost.
//!
//! Pure data: nothing here reads files, the environment or the clock. The state is always the fold of the journal's
//! [`Event`](crate::event::Event)s ([`Debate::apply`]). `docs/record.md` documents the wire format, which is compatible
//! with existing dialectic files.

mod check;
mod clarification;
mod contribution;
mod gathered;
mod named_texts;
mod outcome;
mod state;

#[cfg(any(test, feature = "fixtures"))]
#[doc(hidden)]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::wildcard_imports, reason = "for tests only")]
pub mod fixture;

pub use check::{Draft, Lens};
pub use clarification::{AgentClarifications, Answerer, Clarification, Question};
pub use contribution::{Contribution, Metadata};
pub use gathered::{
    AgentStanding, Attachment, Gathered, Material, MaterialSource, Selection, Standings, TeamCandidate,
};
pub use named_texts::shuffled;
pub use outcome::{AnswerBasis, AnswerState, Outcome, OutcomeKind};
pub use state::{
    CostWarning, CutAnswer, Debate, DebateFile, Evaluation, Failure, FollowUp, ModelUsage, Round, Status, StopReason,
    Summary, SummaryMetadata, UnknownEnd,
};
