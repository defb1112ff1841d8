//! The program as its users meet it: the real binary in a directory of its own, against a mock model server.
//!
//! One binary, so that the kit in `support` is compiled once. A file for each command or concern.

#![cfg(test)]

mod support;

mod bad_input;
mod clarify;
mod config_command;
mod cut_journals;
mod debate;
mod debate_output;
mod docs;
mod evaluation;
mod failures;
mod fixtures;
mod judge;
mod kit;
mod list;
mod old_files;
mod other_commands;
mod providers;
mod report_page;
mod resume;
mod state_fold;
mod summaries;
mod synthesis;
mod terminal;
mod timing;
mod tools;
mod trace;
