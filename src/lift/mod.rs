//! Measures the worth of debates: the same problems are solved by a debate and by cheaper ways to spend its money, and
//! compared blind.
//!
//! A debate and its arms solve each problem of a [`ProblemSet`], and [`Judge`]s compare the answers. [`Notes`] save
//! everything that was paid for. A [`Comparison`] counts the decisions, and [`statistics`] evaluates the counts.
//! Nothing here prints. `docs/worth.md` describes its use.

mod arm;
mod bill;
mod comparison;
mod identity;
mod judging;
mod meter;
mod notes;
mod set;
pub mod statistics;

pub use arm::{Allowance, Arm, Arms, LeftOut, has_text};
pub use bill::{Bill, Done};
pub use comparison::{Compared, Comparison, Decision, Longer, Ruling, Side, decide};
pub use identity::identity;
pub use judging::{
    Judge, Preference, Question, Replied, checklist_items, checklist_question, foreseen_checklist, ruling_question,
};
pub use meter::{Meter, Metering};
pub use notes::{Note, Notes, NotesError};
pub use set::{Answer, Problem, ProblemSet};
