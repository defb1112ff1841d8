//! Reads the destination of traces from the environment.

use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;

use dialectic_engine::access::{Environment, LANGFUSE};
use dialectic_record::settings::TraceTarget;

const LANGFUSE_BASE_URL: &str = "LANGFUSE_BASE_URL";
const LANGFUSE_PUBLIC_KEY: &str = "LANGFUSE_PUBLIC_KEY";
const LANGFUSE_SECRET_KEY: &str = "LANGFUSE_SECRET_KEY";
const LANGFUSE_PATH: &str = "/api/public/otel/v1/traces";
/// Makes Langfuse show spans immediately instead of after minutes.
const LANGFUSE_INGESTION: (&str, &str) = ("x-langfuse-ingestion-version", "4");

const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OTLP_TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const OTLP_TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const OTLP_TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const OTLP_TRACES_TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT";
const OTLP_DEFAULT: &str = "http://localhost:4318";
const OTLP_PATH: &str = "/v1/traces";

const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const DEFAULT_SERVICE_NAME: &str = "dialectic";

/// The default time limit of the OTLP specification.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct TraceDestination {
    pub url: Url,
    pub(super) credentials: Option<Credentials>,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    pub(super) service_name: String,
}

#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) user: SecretString,
    pub(super) password: SecretString,
}

/// Never quotes values, because they may be keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceConfigError {
    #[error(
        "not sending traces: setting `debate.trace` to `langfuse` requires the environment variable{} {}",
        plural(.0),
        .0.join(", ")
    )]
    Missing(Vec<&'static str>),
    #[error("the environment variable {variable} {fault}")]
    Invalid { variable: &'static str, fault: &'static str },
}

impl TraceConfigError {
    /// Whether the debate may run without a trace. This is so if variables are missing, but not if they are invalid.
    pub fn can_be_ignored(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

fn plural(variables: &[&str]) -> &'static str {
    if variables.len() == 1 { "" } else { "s" }
}

impl TraceDestination {
    /// The destination for `target`, as configured in `environment`.
    ///
    /// # Errors
    ///
    /// Returns an error if a required variable is unset or invalid.
    pub fn of(target: TraceTarget, environment: &Environment) -> Result<Self, TraceConfigError> {
        match target {
            TraceTarget::Langfuse => Self::langfuse(environment),
            TraceTarget::Otlp => Self::otlp(environment),
        }
    }

    fn langfuse(environment: &Environment) -> Result<Self, TraceConfigError> {
        let base = environment.get(LANGFUSE_BASE_URL).unwrap_or(LANGFUSE[0]);
        let needed = [LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY];
        let [Some(user), Some(password)] = needed.map(|variable| environment.key_for(variable, base)) else {
            let variables =
                needed.into_iter().filter(|variable| environment.key_for(variable, base).is_none()).collect();
            return Err(TraceConfigError::Missing(variables));
        };
        let url = url(LANGFUSE_BASE_URL, base, LANGFUSE_PATH)?;
        let (name, value) = LANGFUSE_INGESTION;
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        Ok(Self {
            url,
            credentials: Some(Credentials { user, password }),
            headers,
            timeout: DEFAULT_TIMEOUT,
            service_name: service_name(environment),
        })
    }

    /// Follows the OTLP exporter specification: a variable for traces overrides the general one. The variable for the
    /// endpoint of traces contains the whole URL rather than the base URL.
    fn otlp(environment: &Environment) -> Result<Self, TraceConfigError> {
        let (said_by, endpoint) =
            first(environment, [OTLP_TRACES_ENDPOINT, OTLP_ENDPOINT]).unwrap_or((OTLP_ENDPOINT, OTLP_DEFAULT));
        let url = url(said_by, endpoint, if said_by == OTLP_TRACES_ENDPOINT { "" } else { OTLP_PATH })?;
        let headers = first(environment, [OTLP_TRACES_HEADERS, OTLP_HEADERS])
            .map_or_else(|| Ok(HeaderMap::new()), |(variable, value)| headers(variable, value))?;
        let timeout = first(environment, [OTLP_TRACES_TIMEOUT, OTLP_TIMEOUT])
            .map_or(Ok(DEFAULT_TIMEOUT), |(variable, value)| millis(variable, value))?;
        Ok(Self { url, credentials: None, headers, timeout, service_name: service_name(environment) })
    }

    /// Omits the user name, the password and the query, which may contain keys.
    pub(super) fn shown(&self) -> String {
        let Self { url, .. } = self;
        let host = url.host_str().unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{host}{port}{}", url.scheme(), url.path())
    }
}

/// Omits keys.
impl fmt::Debug for TraceDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination").field("url", &self.shown()).finish_non_exhaustive()
    }
}

fn service_name(environment: &Environment) -> String {
    environment.get(SERVICE_NAME).unwrap_or(DEFAULT_SERVICE_NAME).to_owned()
}

fn first<'a>(environment: &'a Environment, variables: [&'static str; 2]) -> Option<(&'static str, &'a str)> {
    variables.into_iter().find_map(|variable| Some((variable, environment.get(variable)?)))
}

fn url(variable: &'static str, base: &str, path: &str) -> Result<Url, TraceConfigError> {
    let invalid = |fault| TraceConfigError::Invalid { variable, fault };
    let base = if path.is_empty() { base } else { base.trim_end_matches('/') };
    let url = Url::parse(&format!("{base}{path}")).map_err(|_| invalid("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid("must be an http or https URL"));
    }
    if !path.is_empty() && (url.query().is_some() || url.fragment().is_some()) {
        return Err(invalid("must not contain a query (`?`) or a fragment (`#`)"));
    }
    Ok(url)
}

/// The format is `name=value,name=value`, with percent-encoded values.
fn headers(variable: &'static str, text: &str) -> Result<HeaderMap, TraceConfigError> {
    let invalid = TraceConfigError::Invalid { variable, fault: "is not a list of headers (`name=value,name=value`)" };
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name.trim()).ok()?, value))
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs.map(header).collect::<Option<HeaderMap>>().ok_or(invalid)
}

fn millis(variable: &'static str, text: &str) -> Result<Duration, TraceConfigError> {
    let millis = text.parse().ok().filter(|millis| *millis > 0).map(Duration::from_millis);
    millis.ok_or(TraceConfigError::Invalid { variable, fault: "must be a whole number of milliseconds above 0" })
}

#[cfg(test)]
mod tests {
    use crate::error::Diagnostic as _;

    use super::*;

    fn otlp(pairs: &[(&str, &str)]) -> Result<TraceDestination, TraceConfigError> {
        TraceDestination::of(TraceTarget::Otlp, &Environment::from_pairs(pairs.iter().copied()))
    }

    fn langfuse(pairs: &[(&str, &str)]) -> Result<TraceDestination, TraceConfigError> {
        TraceDestination::of(TraceTarget::Langfuse, &Environment::from_pairs(pairs.iter().copied()))
    }

    #[test]
    fn langfuse_needs_its_keys_and_is_in_its_cloud_unless_it_is_elsewhere() {
        insta::assert_snapshot!(
            langfuse(&[("LANGFUSE_BASE_URL", "https://lf.example")]).unwrap_err(),
            @"not sending traces: setting `debate.trace` to `langfuse` requires the environment variables LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY"
        );
        let error = langfuse(&[("LANGFUSE_PUBLIC_KEY", "pk-1")]).unwrap_err();
        insta::assert_snapshot!(
            error,
            @"not sending traces: setting `debate.trace` to `langfuse` requires the environment variable LANGFUSE_SECRET_KEY"
        );
        assert!(error.hint().unwrap().contains("LANGFUSE_SECRET_KEY=..."), "{:?}", error.hint());
        let keys = [("LANGFUSE_PUBLIC_KEY", "pk-1"), ("LANGFUSE_SECRET_KEY", "sk-1")];
        let cloud = "https://cloud.langfuse.com/api/public/otel/v1/traces";
        assert_eq!(langfuse(&keys).unwrap().url.as_str(), cloud);
    }

    #[test]
    fn langfuse_takes_no_header_of_another_collector() {
        let destination = langfuse(&[
            ("LANGFUSE_BASE_URL", "https://lf.example/sub/"),
            ("LANGFUSE_PUBLIC_KEY", "pk-1"),
            ("LANGFUSE_SECRET_KEY", "sk-1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20other"),
        ])
        .unwrap();
        assert_eq!(destination.url.as_str(), "https://lf.example/sub/api/public/otel/v1/traces");
        assert_eq!(destination.headers.len(), 1);
        assert_eq!(destination.headers["x-langfuse-ingestion-version"], "4");
        let shown = format!("{destination:?}");
        assert!(!shown.contains("pk-1") && !shown.contains("sk-1"), "{shown}");
    }

    #[test]
    fn the_standard_variables_are_read_as_the_standard_says() {
        assert_eq!(otlp(&[]).unwrap().url.as_str(), "http://localhost:4318/v1/traces");
        let general = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/base/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b, authorization = Basic%20Zm9v ,"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ];
        let destination = otlp(&general).unwrap();
        assert_eq!(destination.url.as_str(), "http://collector:4318/base/v1/traces");
        assert_eq!(destination.headers["x-team"], "a b");
        assert_eq!(destination.headers["authorization"], "Basic Zm9v");
        assert_eq!(destination.timeout, Duration::from_millis(2500));
        let own = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=1"),
            ("OTEL_SERVICE_NAME", "ours"),
        ];
        let destination = otlp(&[&general[..], &own[..]].concat()).unwrap();
        assert_eq!(destination.url.as_str(), "https://traces.example/in");
        assert_eq!(destination.headers.len(), 1);
        assert_eq!(destination.service_name, "ours");
    }

    #[test]
    fn what_cannot_be_used_is_named_and_not_quoted() {
        for (variable, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "secret"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://secret"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://host/?secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0a"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "secret"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ] {
            let error = otlp(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.contains(variable) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_address_is_shown_without_user_password_and_query() {
        let endpoint = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://me:secret@host:4318/in?key=secret")];
        assert_eq!(otlp(&endpoint).unwrap().shown(), "http://host:4318/in");
    }
}
