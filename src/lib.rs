//! Language-model agents debate a problem, and a judge hands back one answer.
//!
//! This is the command line, the server and what belongs to them, on top of the crates in `crates/`;
//! `docs/architecture.md` walks through all of it. The program itself is [`cli::main`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`cli`] | arguments in, results and exit code out: parse, resolve, run, print; no logic of debates |
//! | [`evaluation`] | has the solutions of saved debates scored, and writes the scores down |
//! | [`lift`] | compares debates with other ways to spend their money, blind |
//! | `mcp` | the debates for coding agents, over the Model Context Protocol |
//! | `serve` | the debates in a browser, and an API for programs |
//! | `archive` | what past debates have shown: ratings of models, and a memory of what was decided |
//! | [`trace`] | sends the spans of a running debate to Langfuse or any OTLP collector |
//! | [`features`] | which of these a build has: cargo's features have their names |
//! | [`signature`] | signs records with SSH keys, and says who signed one |
//! | [`status`] | where a saved debate stands, by its record |
//! | [`remedy`] | how the command line does what errors of the library recommend |
//! | [`error`] | every way to end without success, and the one mapping to exit codes |
//!
//! A program that wants to run debates begins at [`dialectic_engine::runner`]; one that wants a protocol of its own, at
//! [`dialectic_record::protocol`].
//!
//! `docs/architecture.md` lists the allowed dependencies, which the compiler enforces. `cli` is a client of the runner,
//! and
//! so is `serve`; `trace` depends on the record and the signals, not on protocols.

#[cfg(feature = "archive")]
pub mod archive;
pub mod change;
pub mod cli;
pub mod error;
pub mod evaluation;
pub mod features;
pub mod lift;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod remedy;
#[cfg(feature = "serve")]
pub mod serve;
pub mod signature;
mod standing;
pub mod status;
#[cfg_attr(not(feature = "trace"), path = "trace/absent.rs")]
pub mod trace;
