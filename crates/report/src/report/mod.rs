//! What is written about a debate: one view of it, and the formats that render the view.
//!
//! Formats take a [`View`] and make text of it, where it goes is not theirs to know; none of them asks the clock.
//! Nothing that came from a model is trusted here: as Markdown it stands in fences that it cannot leave, as HTML it is
//! escaped.

pub(crate) mod block;
pub(crate) mod compare;
mod decision;
mod difference;
mod html;
mod markdown;
mod overview;
mod prose;
mod said;
mod share;
mod stages;
pub(crate) mod subject;
mod view;

pub(crate) use compare::excerpt;
pub use compare::{Comparison, Decided, Figures, Line, Setting, Side, draft_and_final};
pub use decision::decision_record;
pub use html::html;
pub use markdown::{ReportDetail, markdown};
pub use overview::overview;
pub use said::{Said, readable, said};
pub use share::{Shared, shared_settings};
pub(crate) use stages::preposition;
pub use view::{ParticipantView, View};

#[cfg(test)]
mod tests;
