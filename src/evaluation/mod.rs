//! Scores for the solutions of saved debates, given by evaluators: models that took no part in them.
//!
//! An [`Evaluator`] scores a [`Subject`]. [`evaluate`] asks all of them at once and hands back what each said or why it
//! said nothing; [`output`] turns that into a table, JSON or CSV. Nothing here prints: what the user should know comes
//! back as data. `docs/evaluation.md` describes it all from outside.

mod answer;
mod compare;
mod criterion;
mod evaluator;
pub mod output;
mod requirements;
mod run;
mod schema;
mod statistics;
mod subject;

pub use answer::{EvaluatorAnswer, Ignored};
pub use compare::indistinct;
pub use criterion::{Criterion, Scores};
pub use evaluator::{Evaluator, PromptText, evaluators};
pub use requirements::{Coverage, Requirements};
pub use run::{Attempt, Evaluated, EvaluationRun, Skipped, Usage, evaluate};
pub use statistics::Figure;
pub use subject::{Subject, SubjectError};
