//! Reports of a debate: one view of it, and its formats.
//!
//! Formats turn a [`View`] into text without knowing its destination or the time. Text of models is not trusted:
//! Markdown fences it, HTML escapes it.

pub(crate) mod block;
pub(crate) mod compare;
mod decision;
mod difference;
mod html;
mod markdown;
mod overview;
mod prose;
mod review;
mod said;
mod share;
mod stages;
pub(crate) mod subject;
mod view;

pub(crate) use compare::excerpt;
pub use compare::{Comparison, Decided, Figures, Line, Setting, Side, draft_and_final};
pub use decision::decision_record;
pub use html::{SetDebate, SetPage, SetVariant, html};
pub use markdown::{ReportDetail, markdown};
pub use overview::overview;
pub use review::{review_github, review_json, review_sarif};
pub use said::{Said, readable, said};
pub use share::{Shared, shared_settings};
pub(crate) use stages::preposition;
pub use view::{ParticipantView, View};

#[cfg(test)]
mod tests;
