//! The protocols as tables, as debates that run their course, and as prompts.

mod arena;
mod arms;
mod check;
mod code_review;
mod course;
mod dialectic;
mod ledger;
mod motions;
mod prompts;
mod properties;
mod tables;
