//! Has evaluators, models that took no part in the debates, score saved solutions or compare two of them.
//!
//! An [`Evaluator`] scores a [`Subject`]. [`evaluate`] calls all of them concurrently and returns each answer or
//! failure; [`output`] turns these into a table, JSON or CSV. Nothing here prints: warnings are returned as data.
//! `docs/evaluation.md` describes how to use it.

mod answer;
mod evaluator;
pub mod output;
pub mod pairwise;
mod run;

pub use answer::{Criterion, EvaluatorAnswer, Ignored, Requirements, Scores};
pub use evaluator::{Evaluator, PromptText, Subject, SubjectError, evaluators};
pub use pairwise::{Figure, indistinct};
pub use run::{Attempt, Evaluated, Skipped, Usage, answers, averages, evaluate};
