//! Debates for coding agents and other programs that speak the Model Context Protocol, over standard input and output.
//!
//! The server keeps no state. Each debate is a detached run that continues when the server ends; its status is read
//! from its record. Each tool runs the command of that name in a separate process, with all checks of the command line.
//!
//! | file | what it does |
//! | --- | --- |
//! | `server.rs` | answers the protocol's requests and runs the tools |
//! | `tools.rs` | the tools and their parameters |
//! | `command.rs` | runs the program for one command |
//! | `limits.rs` | the limits of a debate; marks the words of models |

mod command;
mod limits;
mod server;
mod tools;

pub use limits::Limits;
pub use server::{Options, serve};
