//! Reads the bodies and the query parameters of requests.

use std::borrow::Cow;

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use dialectic_report::report::{FORMATS, ReportFormat};

use super::catalogue::DebateStanding;
use super::problem::{Kind, ProblemDetails};
use super::server::App;

/// The maximum size of a request's body.
const MOST_BYTES: usize = 1024 * 1024;

/// A request's body of limited size.
pub(super) struct RequestBody(pub(super) Bytes);

impl FromRequest<App> for RequestBody {
    type Rejection = ProblemDetails;

    async fn from_request(request: Request, _: &App) -> Result<Self, ProblemDetails> {
        let too_large = || {
            let detail = format!("the body of a request may have at most {MOST_BYTES} bytes");
            ProblemDetails::new(StatusCode::PAYLOAD_TOO_LARGE, Kind::Validation, detail)
        };
        let said = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if said.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > MOST_BYTES) {
            return Err(too_large());
        }
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with("application/json")) {
            let detail = "the body of a request must be application/json";
            return Err(ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Kind::Validation, detail));
        }
        to_bytes(request.into_body(), MOST_BYTES).await.map(Self).map_err(|_| too_large())
    }
}

/// A request's query parameters.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<App> for QueryParams<T> {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ProblemDetails> {
        let Query(asked) =
            Query::try_from_uri(&parts.uri).map_err(|rejection| ProblemDetails::validation(rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// Filters of the list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Filter {
    /// Words in the title or the id, in any case.
    pub(super) search: Option<String>,
    /// The status of the debate.
    pub(super) status: Option<DebateStanding>,
    /// The protocol.
    pub(super) protocol: Option<String>,
    /// The maximum number of debates: 50 by default, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub(super) limit: Option<u32>,
    /// How many matches to skip.
    pub(super) skip: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct FormatName(pub(super) &'static ReportFormat);

impl Default for FormatName {
    fn default() -> Self {
        Self(ReportFormat::usual())
    }
}

impl TryFrom<String> for FormatName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let names = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        ReportFormat::named(&name).map(Self).ok_or_else(|| format!("there is no format `{name}`: use {}", names()))
    }
}

impl JsonSchema for FormatName {
    fn schema_name() -> Cow<'static, str> {
        "ReportFormat".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let forms = FORMATS.iter().map(|one| json!({ "const": one.name, "description": format!("{}.", one.about) }));
        json_schema!({ "oneOf": forms.collect::<Vec<_>>() })
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ReportQuery {
    /// The format.
    pub(super) format: FormatName,
    /// Whether to download it as a file.
    pub(super) download: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct AfterQuery {
    /// The number of the last known event: only later ones are sent. The header `Last-Event-ID` overrides it.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub(super) after: u64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Several {
    /// Ids of debates, each with `:` and the number of its last known event, separated by commas.
    pub(super) debates: String,
    /// Whether to include changes of the list.
    pub(super) list: bool,
}
