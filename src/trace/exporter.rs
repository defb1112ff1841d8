//! OTLP over HTTP: spans as protobuf, posted to the destination.
//!
//! Our own, because the exporter of `opentelemetry-otlp` takes headers from the process's environment whatever it is
//! told: keys meant for one collector would go to another, and those of the `.env` file would be missed.

use std::error::Error as _;
use std::fmt;
use std::sync::mpsc::Sender;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode};
use secrecy::ExposeSecret;
use tokio::runtime::Runtime;

use super::destination::TraceDestination;

/// The waits before a batch is sent again.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// What became of a batch.
pub(super) enum ExportReport {
    /// An attempt failed; another follows.
    Trouble(String),
    /// It was given up.
    Lost(String),
}

/// A batch that was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// No answer came.
    #[error("{}", innermost(.0))]
    NoAnswer(reqwest::Error),
    /// The answer was an error.
    #[error("the server answered {0}")]
    Refused(StatusCode),
    /// Some spans were not taken.
    #[error("the server rejected {0} spans")]
    Partly(i64),
}

impl SendError {
    /// Whether the protocol lets the same batch be sent again.
    fn is_transient(&self) -> bool {
        matches!(self, Self::Refused(status) if matches!(status.as_u16(), 429 | 502 | 503 | 504))
    }
}

/// What is at the bottom of an error, such as `Connection refused`: the rest is the client's own doing, and the
/// address, which may hold a key, is in it.
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let Some(mut cause) = error.source() else { return "the request failed".to_owned() };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Sends batches. The SDK calls it from a thread of its own, where it may block.
pub(super) struct Exporter {
    destination: TraceDestination,
    http: Client,
    runtime: Runtime,
    resource: ResourceAttributesWithSchema,
    reports: Sender<ExportReport>,
}

impl Exporter {
    /// # Errors
    /// The system refuses what a runtime needs.
    pub(super) fn new(
        destination: TraceDestination,
        http: Client,
        reports: Sender<ExportReport>,
    ) -> std::io::Result<Self> {
        // The client needs a runtime, and the debate's own is busy with the debate, and gone when the last batch is
        // sent.
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
        // The one who asked may have stopped waiting.
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
        // Servers answer with JSON or nothing too: what is not the protocol's message says nothing about spans.
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
