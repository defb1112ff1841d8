//! Traces a running debate for Langfuse or any other OTLP collector over HTTP.
//!
//! Consumes the same [`Signal`](dialectic_record::live::Signal)s as the display: [`Tracer::see`] turns them into
//! spans, a thread of the OpenTelemetry SDK sends these in batches, and [`Tracer::finish`] waits a limited time for the
//! last ones. A trace cannot delay a debate or make it fail: spans wait in a non-blocking queue, and failures are only
//! reported at the end, as one [`Undelivered`]. A [`TraceDestination`] is checked before anything is spent.
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
