//! The tracer connects spans and their delivery.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanLimits};

use dialectic_record::debate::{Debate, Signal};

use super::destination::TraceDestination;
use super::exporter::{ExportReport, Exporter};
use super::spans::Spans;

/// The time limit for the last spans.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum queued spans, more than the longest debate has. Further ones are dropped.
const QUEUE: usize = 1 << 16;
/// The maximum spans per request. They contain whole texts twice, and collectors limit sizes.
const BATCH: usize = 64;

/// Undelivered traces, which only cause a warning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("traces could not be delivered to {to}: {reason}")]
pub struct Undelivered {
    /// The address without secrets.
    pub to: String,
    pub reason: String,
}

/// The trace of a run.
pub struct Tracer {
    spans: Option<Spans>,
    provider: SdkTracerProvider,
    reports: Receiver<ExportReport>,
    to: String,
}

impl Tracer {
    /// Starts the trace of `debate`. `prompts` is the version of the prompts; `http` sends the spans from a separate
    /// thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(
        destination: TraceDestination,
        http: reqwest::Client,
        debate: Debate,
        prompts: &str,
    ) -> Result<Self, Undelivered> {
        let to = destination.shown();
        let service = destination.service_name.clone();
        let (sender, reports) = channel();
        let exporter = Exporter::new(destination, http, sender)
            .map_err(|error| Undelivered { to: to.clone(), reason: error.to_string() })?;
        let batches =
            BatchConfigBuilder::default().with_max_queue_size(QUEUE).with_max_export_batch_size(BATCH).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = Resource::builder_empty()
            .with_service_name(service)
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampler::AlwaysOn)
            .with_span_limits(SpanLimits::default())
            .with_span_processor(processor)
            .build();
        let scope = InstrumentationScope::builder("dialectic").with_version(env!("CARGO_PKG_VERSION")).build();
        let tracer = provider.tracer_with_scope(scope);
        let spans = Spans::new(tracer, debate, prompts.to_owned(), SystemTime::now());
        Ok(Self { spans: Some(spans), provider, reports, to })
    }

    /// Adds a signal at the current time. Never blocks.
    pub fn see(&mut self, signal: &Signal) {
        if let Some(spans) = &mut self.spans {
            spans.see(signal, SystemTime::now());
        }
    }

    /// Ends the trace without sending its last spans.
    pub fn close(&mut self) {
        if let Some(spans) = self.spans.take() {
            spans.close(SystemTime::now());
        }
    }

    /// Ends the trace and waits at most three seconds for its last spans. Blocks the thread: not for asynchronous code.
    ///
    /// # Errors
    /// Spans were lost, or are not sent yet.
    pub fn finish(mut self) -> Result<(), Undelivered> {
        self.close();
        let ended = self.provider.shutdown_with_timeout(FINISH_TIMEOUT);
        let (mut lost, mut trouble) = (None, None);
        for report in self.reports.try_iter() {
            match report {
                ExportReport::Lost(reason) => lost = Some(reason),
                ExportReport::Trouble(reason) => trouble = Some(reason),
            }
        }
        let late = ended.is_err().then(|| trouble.unwrap_or_else(|| "no answer in time".to_owned()));
        match lost.or(late) {
            Some(reason) => Err(Undelivered { to: self.to, reason }),
            None => Ok(()),
        }
    }
}
