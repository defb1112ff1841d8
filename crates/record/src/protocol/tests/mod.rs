//! The protocols as tables and as complete debates.

mod arena;
mod arms;
mod check;
mod course;
mod dialectic;
mod ledger;
mod motions;
mod properties;
mod review;
mod tables;
