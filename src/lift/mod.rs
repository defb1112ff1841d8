//! What a debate is worth: the same problems solved by a debate and by cheaper ways to spend its money, compared blind.
//!
//! A [`ProblemSet`] is read, each of its problems is solved by the debate and by its arms, and [`Judge`]s compare the
//! answers. [`Notes`] keep what was paid for. A [`Comparison`] counts what was decided, and [`statistics`] says what the
//! counts show. Nothing here prints. `docs/worth.md` describes it from outside.

mod comparison;
mod identity;
mod judging;
mod notes;
mod set;
pub mod statistics;

pub use comparison::{Compared, Comparison, Decision, Longer, Ruling, Side, decide};
pub use identity::identity;
pub use judging::{
    Judge, Preference, Question, Replied, checklist_items, checklist_question, foreseen_checklist, ruling_question,
};
pub use notes::{Note, Notes, NotesError};
pub use set::{Answer, Problem, ProblemSet, SetError};
