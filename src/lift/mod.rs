//! What a debate is worth: the same problems solved by a debate and by cheaper ways to spend its money, compared blind.
//!
//! A [`Comparison`] counts what rulings decided, and [`statistics`] says what the counts show. Nothing here prints.
//! `docs/worth.md` describes it from outside.

mod comparison;
pub mod statistics;

pub use comparison::{Compared, Comparison, Decision, Longer, Ruling, Side, decide};
