//! The program as its users meet it: the real binary in a directory of its own, against a mock model server.
//!
//! One binary, so that the kit in `support` is compiled once. A file for each command or concern.

#![cfg(test)]

mod support;

mod archive;
mod arena;
mod ask;
mod bad_input;
mod budget;
mod budget_property;
mod check;
mod check_limit;
mod clarify;
mod config_command;
mod cut_answers;
mod cut_journals;
mod debate;
mod debate_output;
mod docs;
mod eval;
mod evaluation;
mod failures;
mod fault_matrix;
mod first_contact;
mod first_minute;
mod fixtures;
mod foreign_protocol;
mod fork;
mod found_money;
mod handling;
mod hanging_judge;
mod hooks;
mod hostile_text;
mod house;
mod interrupts;
mod judge;
mod kill;
mod last_answer;
mod learned;
mod ledger;
mod ledger_corpus;
mod list;
mod models;
mod old_files;
mod oracle;
mod other_commands;
mod outage;
mod pitch;
mod providers;
mod proxies;
mod replay;
mod report;
mod report_of_a_run;
mod report_page;
mod resume;
mod sections;
mod serve;
mod set_up;
mod show;
mod slow;
mod stalled;
mod state_fold;
mod storage;
mod stranger;
mod streaming;
mod subscribers;
mod summaries;
mod synthesis;
mod terminal;
mod timing;
mod tools;
mod trace;
mod verify;
