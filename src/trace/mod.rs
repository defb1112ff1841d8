//! Traces a running debate for Langfuse or any other OTLP collector over HTTP. A trace cannot delay a debate or make it
//! fail: spans wait in a non-blocking queue, and failures are only reported at the end, as one [`Undelivered`].
//!
//! `docs/automation.md` says what is sent.

mod attributes;
mod destination;
mod generation;
mod spans;
mod tracer;

#[cfg(test)]
mod tests;

pub use destination::{TraceConfigError, TraceDestination};
pub use tracer::{Tracer, Undelivered};
