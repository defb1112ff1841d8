//! Debates in a browser, and the same for programs: an HTTP server over the [runner](dialectic_engine::runner).
//!
//! The server is a client of the runner as the command line is. What a request asks for is laid over the server's own
//! configuration and goes the same way to a debate, with the same checks; what is shown comes from the journal and from
//! the signals of the runs. Nothing is kept here that the record does not say.
//!
//! | file | what it does |
//! | --- | --- |
//! | `access.rs` | who gets in |
//! | `listen.rs` | connections: how many, and how long each may be silent |
//! | `operations.rs` | the API as a table, of which the router and the OpenAPI document are made |
//! | `api.rs` | what requests do |
//! | `request.rs`, `settings.rs` | what a request may say, and how that becomes a debate within the server's limits |
//! | `hall.rs` | the debates that run here, and those that wait for a place |
//! | `catalogue.rs` | the list of the saved debates |
//! | `stream.rs` | events on their way to watchers |
//! | `page.rs` | the page; its script and its styles are in `assets/` |
//! | `problem.rs` | what is said of a request that is not carried out |

mod access;
mod api;
mod catalogue;
mod listen;
mod operations;
mod page;
mod problem;
mod registry;
mod request;
mod server;
mod settings;
mod stream;

pub use operations::openapi;
pub use server::{Options, ServeError, Server, ServerHost, Watched};
pub use settings::Workplace;
