//! An HTTP server for browsers and programs, on top of the [runner](dialectic_engine::runner).
//!
//! The server is a client of the runner, like the command line. A request changes the server's own configuration for one
//! debate, and the result passes the same checks as on the command line. What clients see comes from the journal and the
//! signals of running debates.
//!
//! | file | what it does |
//! | --- | --- |
//! | `access.rs` | checks hosts, origins, cookies and tokens |
//! | `operations.rs` | the table of operations, for the router and the OpenAPI document |
//! | `api.rs` | handles requests |
//! | `server.rs` | binds, runs and shuts down the server |
//! | `app.rs` | the state shared by the handlers |
//! | `request.rs` | the bodies and queries of requests |
//! | `settings.rs` | prepares debates within the server's limits |
//! | `registry.rs` | the running and queued debates |
//! | `catalogue.rs` | the list of saved debates, and responses about a debate |
//! | `stream.rs` | streams events |
//! | `page.rs` | the HTML pages; their scripts and styles are in `assets/` |
//! | `problem.rs` | error responses |

mod access;
mod api;
mod app;
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
