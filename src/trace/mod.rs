//! A trace of a running debate, sent to Langfuse or any other collector that takes OTLP over HTTP.
//!
//! A consumer of the same [`Signal`](dialectic_record::debate::Signal)s as the display: [`Tracer::see`] turns them into
//! spans, a thread of the OpenTelemetry SDK sends those in batches, and [`Tracer::finish`] waits a bounded time for the
//! last of them. Nothing here can slow a debate down or make it fail: spans wait in a queue that never blocks, and what
//! could not be delivered is one [`Undelivered`] at the end. Where traces go is decided by a [`TraceDestination`],
//! which is built, and found faulty, before anything is paid for.
//!
//! Knows `debate`, and the environment that is handed to it. What is sent, and under which names: `docs/tracing.md`.

mod attributes;
mod destination;
mod exporter;
mod generation;
mod spans;
mod tracer;

#[cfg(test)]
mod tests;

pub use destination::{TraceConfigError, TraceDestination};
pub use tracer::{Tracer, Undelivered};
