//! Runs debates, also inside other programs (see `examples/embed.rs`).
//!
//! | module | contents |
//! | --- | --- |
//! | [`runner`] | the entry point to debates: start, resume or fork one, and get a handle to the run |
//! | [`engine`] | runs a debate by its protocol: starts the calls that are ready, records results, enforces the limits |
//! | [`agent`] | debaters and judge: turns steps into requests, and replies into results |
//! | [`access`] | access to providers: addresses, headers, keys, and trust |
//! | [`tools`] | the tools for agents, and their sandbox |
//! | [`git`] | reads a repository without running anything from it |
//! | [`process`] | runs the user's commands in a shell, with limits |
//!
//! Nothing here prints, uses a terminal, or reads a configuration or the process's environment.

// A match must name every variant, so that a new one cannot be overlooked.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod access;
pub mod agent;
pub mod engine;
pub mod git;
pub mod process;
pub mod runner;
pub mod tools;
