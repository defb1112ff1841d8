//! Collects spans, and delivers them from a separate thread.

use std::error::Error as _;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData, SpanExporter, SpanLimits,
};
use prost::Message;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode};
use secrecy::ExposeSecret;
use tokio::runtime::Runtime;

use dialectic_record::debate::Debate;
use dialectic_record::live::Signal;

use super::destination::TraceDestination;
use super::spans::Spans;

const FINISH_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum number of queued spans, more than the longest debate has. Further spans are dropped.
const QUEUE: usize = 1 << 16;
/// The maximum number of spans per request. Spans contain whole texts twice, and collectors limit the size of requests.
const BATCH: usize = 64;

/// Some spans were not delivered, which only causes a warning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not deliver traces to {to}: {reason}")]
pub struct Undelivered {
    /// The URL without secrets.
    pub to: String,
    pub reason: String,
}

pub struct Tracer {
    spans: Option<Spans>,
    provider: SdkTracerProvider,
    reports: Receiver<ExportReport>,
    to: String,
}

impl Tracer {
    /// `prompts` is the version of the prompts.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that sends the spans cannot be created.
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

    /// Never blocks.
    pub fn see(&mut self, signal: &Signal) {
        if let Some(spans) = &mut self.spans {
            spans.see(signal, SystemTime::now());
        }
    }

    /// Unlike [`finish`](Self::finish), does not wait until the last spans are sent.
    pub fn close(&mut self) {
        if let Some(spans) = self.spans.take() {
            spans.close(SystemTime::now());
        }
    }

    /// Ends the trace and waits at most three seconds until its last spans are sent. Blocks the thread, so asynchronous
    /// code must not call it directly.
    ///
    /// # Errors
    ///
    /// Returns an error if spans were lost, or were not sent in time.
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
        let late = ended.is_err().then(|| trouble.unwrap_or_else(|| "timed out".to_owned()));
        match lost.or(late) {
            Some(reason) => Err(Undelivered { to: self.to, reason }),
            None => Ok(()),
        }
    }
}

/// The delays before retries of a batch.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

pub(super) enum ExportReport {
    /// An attempt failed and will be repeated.
    Trouble(String),
    Lost(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("{}", innermost(.0))]
    NoAnswer(reqwest::Error),
    #[error("the server answered {0}")]
    Refused(StatusCode),
    #[error("the server rejected {0} of the spans")]
    Partly(i64),
}

impl SendError {
    /// Whether OTLP allows a retry.
    fn is_transient(&self) -> bool {
        matches!(self, Self::Refused(status) if matches!(status.as_u16(), 429 | 502 | 503 | 504))
    }
}

/// The root cause of an error, such as `Connection refused`. The outer errors add nothing, and contain the URL, which
/// may include a key.
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let Some(mut cause) = error.source() else { return "the request failed".to_owned() };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Runs on a thread of the SDK, where it may block.
pub(super) struct Exporter {
    destination: TraceDestination,
    http: Client,
    runtime: Runtime,
    resource: ResourceAttributesWithSchema,
    reports: Sender<ExportReport>,
}

impl Exporter {
    pub(super) fn new(
        destination: TraceDestination,
        http: Client,
        reports: Sender<ExportReport>,
    ) -> std::io::Result<Self> {
        // Use a separate runtime: the debate's runtime is busy, and has ended when the last batch is sent.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { destination, http, runtime, resource: ResourceAttributesWithSchema::default(), reports })
    }

    fn deliver(&self, batch: Vec<SpanData>) -> Result<(), SendError> {
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        let mut waits = WAITS.into_iter();
        loop {
            let sent = self.runtime.block_on(self.send(body.clone()));
            let Err(error) = &sent else { return sent };
            let Some(wait) = waits.next().filter(|_| error.is_transient()) else { return sent };
            self.report(ExportReport::Trouble(error.to_string()));
            std::thread::sleep(wait);
        }
    }

    fn report(&self, report: ExportReport) {
        // The caller may have stopped waiting.
        drop(self.reports.send(report));
    }

    async fn send(&self, body: Vec<u8>) -> Result<(), SendError> {
        let TraceDestination { url, credentials, headers, timeout, .. } = &self.destination;
        let mut request = self
            .http
            .post(url.clone())
            .timeout(*timeout)
            .headers(headers.clone())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(body);
        if let Some(credentials) = credentials {
            request = request.basic_auth(credentials.user.expose_secret(), Some(credentials.password.expose_secret()));
        }
        let response = request.send().await.map_err(SendError::NoAnswer)?;
        if !response.status().is_success() {
            return Err(SendError::Refused(response.status()));
        }
        let answer = response.bytes().await.map_err(SendError::NoAnswer)?;
        // A JSON or empty response says nothing about lost spans, so ignore it.
        let answer = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
        match answer.partial_success {
            Some(partly) if partly.rejected_spans > 0 => Err(SendError::Partly(partly.rejected_spans)),
            _ => Ok(()),
        }
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.deliver(batch).map_err(|error| {
            let error = error.to_string();
            self.report(ExportReport::Lost(error.clone()));
            OTelSdkError::InternalFailure(error)
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("destination", &self.destination).finish_non_exhaustive()
    }
}
