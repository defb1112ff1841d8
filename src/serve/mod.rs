//! An HTTP server for browsers and programs, on top of the [runner](dialectic_engine::runner).
//!
//! The server is a client of the runner, like the command line. Requests are applied to the server's own configuration
//! with the same checks; displayed data come from the journal and the runs' signals. The server keeps nothing that is
//! not in the record.
//!
//! | file | what it does |
//! | --- | --- |
//! | `access.rs` | access control |
//! | `operations.rs` | the table of operations, for the router and the OpenAPI document |
//! | `api.rs` | handles requests |
//! | `request.rs`, `settings.rs` | the contents of requests, and debates within the server's limits |
//! | `registry.rs` | the running and queued debates |
//! | `catalogue.rs` | the list of the saved debates |
//! | `stream.rs` | streams events |
//! | `page.rs` | the page; its script and its styles are in `assets/` |
//! | `problem.rs` | errors of requests |

mod access;
mod api;
mod catalogue;
mod operations;
mod page;
mod problem;
mod registry;
mod request;
mod server;
mod settings;
mod stream;

pub use operations::openapi;
pub use registry::{RunRegistry, Watched};
pub use server::Server;
pub use settings::DebateInputs;
