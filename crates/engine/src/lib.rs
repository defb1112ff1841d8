//! Runs debates: what another program embeds. `examples/embed.rs` is an example of a few lines.
//!
//! | module | contents |
//! | --- | --- |
//! | [`runner`] | the entry point to debates: start, resume or fork it, and get a handle to the run |
//! | [`engine`] | runs a debate by its protocol: starts the calls that are ready, records results, keeps the budget |
//! | [`agent`] | debaters and judge: from a step to a request, from a reply to a value |
//! | [`access`] | how providers are called: addresses, headers, keys, and trust |
//! | [`tools`] | what agents may look up while they write, and the sandbox around it |
//! | [`process`] | run the user's commands in a shell, with limits |
//!
//! Nothing here prints, reads a configuration or the process's environment, or knows a terminal.

pub mod access;
pub mod agent;
pub mod engine;
pub mod process;
pub mod runner;
pub mod tools;
