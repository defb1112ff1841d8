//! The protocols as tables, as debates that run their course, and as prompts.

mod course;
mod properties;
mod tables;
