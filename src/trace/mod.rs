//! A trace of a running debate for Langfuse or any other OTLP collector over HTTP.
//!
//! It consumes the same [`Signal`](dialectic_record::debate::Signal)s as the display: [`Tracer::see`] turns them into
//! spans, a thread of the OpenTelemetry SDK sends these in batches, and [`Tracer::finish`] waits a limited time for the
//! last ones. It cannot delay a debate or make it fail: spans wait in a non-blocking queue, and failures are one
//! [`Undelivered`] at the end. A [`TraceDestination`] is built and checked before anything is paid.
//!
//! Depends on `debate` and the given environment. `docs/automation.md` says what is sent.

mod attributes;
mod destination;
mod generation;
mod spans;
mod tracer;

#[cfg(test)]
mod tests;

pub use destination::{TraceConfigError, TraceDestination};
pub use tracer::{Tracer, Undelivered};
