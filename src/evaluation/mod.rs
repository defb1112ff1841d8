//! Has models score saved solutions, or compare them in pairs. Must not print: warnings are returned.
//!
//! `docs/evaluation.md` describes the usage.

mod answer;
mod evaluator;
pub mod output;
pub mod pairwise;
mod run;

pub use answer::{Criterion, EvaluatorAnswer, Ignored, Requirements, Scores};
pub use evaluator::{Evaluator, PromptText, Subject, SubjectError, evaluators};
pub use run::{Attempt, Evaluated, Figure, Skipped, Usage, answers, averages, evaluate, indistinct};
