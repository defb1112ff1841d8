//! Debates for coding agents and other programs that speak the Model Context Protocol, over standard input and output.
//!
//! The server holds nothing. Each debate is a run of its own, which the program starts as `debate --detach` does and which
//! goes on when the server ends; what is told of it is read from its record. What a tool does is done by the command of that
//! name, in a process of its own, so that each check holds that holds on the command line.
//!
//! | file | what it does |
//! | --- | --- |
//! | `server.rs` | what a client asks for |
//! | `tools.rs` | the tools: what each takes |
//! | `command.rs` | the program, started for one command |
//! | `limits.rs` | what a debate may cost |
//! | `questions.rs` | what a debate asks, put to the user of the client |
//! | `words.rs` | what is said in the words of models, and marked as that |

mod command;
mod limits;
mod questions;
mod server;
mod tools;
mod words;

pub use server::{McpError, Options, serve};
