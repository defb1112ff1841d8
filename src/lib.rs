//! Language-model agents debate a problem, and a judge hands back one answer.
//!
//! This is the command line and the server, on top of the crates in `crates/`; `CONTRIBUTING.md` walks through all
//! of it. The program itself is [`cli::main`].
//!
//! | module | contents |
//! | --- | --- |
//! | [`cli`] | arguments in, results and exit code out: parse, resolve, run, print; no debate logic |
//! | [`change`] | a change to review, from git or a diff, none of which is trusted |
//! | [`evaluation`] | scores the solutions of saved debates, or compares two of them |
//! | [`sweep`] | sets of debates: plans, a store that many machines share, and the worker |
//! | [`mcp`] | serves debates to coding agents over the Model Context Protocol |
//! | [`serve`] | serves debates to browsers, with an API for programs |
//! | [`archive`] | results of past debates: ratings of models, and a memory of decisions |
//! | [`trace`] | sends the spans of a running debate to Langfuse or any OTLP collector |
//! | [`status`] | the status of a saved debate |
//! | [`error`] | all errors and their exit codes |
//! | `advice` | the category and the hint of each error |
//!
//! A program that wants to run debates starts at [`dialectic_engine::runner`]; one that wants its own protocol, at
//! [`dialectic_record::protocol`].
//!
//! `CONTRIBUTING.md` lists the allowed dependencies, which the compiler enforces. `cli` and `serve` are clients of
//! the runner; `trace` depends on the record and the signals, not on protocols.

mod advice;
pub mod archive;
pub mod change;
pub mod cli;
pub mod error;
pub mod evaluation;
pub mod mcp;
pub mod serve;
pub mod status;
pub mod sweep;
pub mod trace;
