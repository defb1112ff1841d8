//! The protocols as tables, as complete debates, and as prompts.

mod arena;
mod arms;
mod check;
mod course;
mod dialectic;
mod ledger;
mod motions;
mod prompts;
mod properties;
mod review;
mod tables;
