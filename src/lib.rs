//! Language-model agents debate a problem, and a judge hands back one answer.
//!
//! This crate is the command line and the server, on top of the crates in `crates/`. `CONTRIBUTING.md` explains the
//! code. The program starts in [`cli::main`].
//!
//! | module | contents |
//! | --- | --- |
//! | [`cli`] | the command line; no debate logic |
//! | [`change`] | reads a change to review from git or a diff, trusting neither |
//! | [`evaluation`] | scores the solutions of saved debates, or compares two of them |
//! | [`sweep`] | sets of debates: plans, a store that many machines share, and workers |
//! | [`mcp`] | serves debates to coding agents over the Model Context Protocol |
//! | [`serve`] | serves debates to browsers, with an API for programs |
//! | [`archive`] | results of past debates: ratings of models, and a memory of decisions |
//! | [`trace`] | traces a running debate to Langfuse or any OTLP collector |
//! | [`status`] | the status of a saved debate |
//! | [`error`] | errors and exit codes |
//! | `advice` | the category and hint of each error |
//!
//! To run debates from your own program, start at [`dialectic_engine::runner`]; to define a protocol, at
//! [`dialectic_record::protocol`].
//!
//! `CONTRIBUTING.md` lists which crate may depend on which; the compiler enforces it. In this crate, `trace` reads the
//! record and the signals, but uses neither the runner nor the protocols.

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
