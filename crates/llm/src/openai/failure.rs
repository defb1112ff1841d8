//! Parses refusals in all known forms.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::{FailedAttempt, ModelError, StatedUsage};

use super::endpoint::Address;
use super::sse::ServerSentEvent;
use super::transport::HttpAnswer;

const LONGEST_MESSAGE: usize = 600;
/// The maximum length of an excerpt of an unknown body, in characters.
const LONGEST_EXCERPT: usize = 200;

/// A refusal: an answer with an error status, or with a success status and an error inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerRefusal {
    /// The HTTP status, or the status that an error inside an answer states.
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) param: Option<String>,
    /// The server's message on one line, without secrets or control characters.
    pub(super) message: String,
    /// All codes, each between `<` and `>`, and the message, in lower case, for searching.
    pub(super) said: String,
    /// The requested URL, if the server says that nothing exists there.
    pub(super) url: Option<String>,
    /// Whether the refusal occurred inside an answer that had started.
    pub(super) in_answer: bool,
    /// Whether `status` is the HTTP status rather than one stated inside an answer.
    pub(super) is_http_status: bool,
}

pub(super) fn refusal_body(answer: &HttpAnswer) -> Option<Value> {
    serde_json::from_slice(&answer.body).ok().or_else(|| {
        // LiteLLM sends the refusal of a stream as an event.
        let lines = std::str::from_utf8(&answer.body).ok()?.lines();
        lines.filter_map(|line| line.strip_prefix("data:")).find_map(|data| serde_json::from_str(data).ok())
    })
}

impl ServerRefusal {
    pub(super) fn of_answer(answer: &HttpAnswer, body: Option<&Value>, address: &Address, path: &str) -> Self {
        let said = body.and_then(fault_in).unwrap_or_default();
        let message = if let Some(message) = said.message.clone().filter(|message| !message.trim().is_empty()) {
            one_line(&message, address)
        } else if let Some(target) = redirect_target(answer) {
            format!("refusing to follow the redirect to {}", address.redact(&target))
        } else {
            excerpt(&answer.body, address)
        };
        let message = if message.is_empty() { reason(answer.status) } else { message };
        let names_model = message.to_lowercase().contains("model");
        let hint = if address.lacks_version() && !names_model { "; most base URLs end in `/v1`" } else { "" };
        let is_missing = matches!(answer.status.as_u16(), 404 | 405 | 410);
        let url = is_missing.then(|| address.shown(path) + hint);
        Self { url, is_http_status: true, ..Self::of(answer.status.as_u16(), said, message, answer) }
    }

    fn of(status: u16, fault: Fault, message: String, answer: &HttpAnswer) -> Self {
        let Fault { message: _, codes, param, retry_after } = fault;
        let said = format!("<{}> {message}", codes.join("> <")).to_lowercase();
        let in_words = || {
            ["retry in ", "try again in ", "reset after ", "retry after "].iter().find_map(|words| {
                let (_, wait) = said.split_once(words)?;
                duration(wait.split([' ', ',']).next()?.trim_end_matches('.'))
            })
        };
        let retry_after = wait_in(&answer.headers, SystemTime::now()).or(retry_after).or_else(in_words);
        Self { status, retry_after, param, message, said, url: None, in_answer: false, is_http_status: false }
    }

    /// `fault` is the error found in an answer with a success status.
    pub(super) fn inside(fault: Fault, answer: &HttpAnswer, address: &Address) -> Self {
        let status = fault.codes.iter().find_map(|code| status_of_code(code)).unwrap_or(answer.status.as_u16());
        let message = fault.message.clone().unwrap_or_else(|| fault.codes.join(", "));
        Self::of(status, fault, one_line(&message, address), answer)
    }
}

/// The `error` field if it is an object or a text; otherwise `MiniMax`'s status if that is a failure.
pub(super) fn error_field(object: &Value) -> Option<&Value> {
    let status = object.get("base_resp").filter(|status| status["status_code"].as_i64().is_some_and(|code| code != 0));
    object.get("error").filter(|error| error.is_object() || error.is_string()).or(status)
}

/// The error in a stream event, if any: an `error` field, an event named `error`, or an object of type `error`. `data`
/// is the event's data, if it is JSON.
pub(super) fn error_in(event: &ServerSentEvent<'_>, data: &Value) -> Option<Value> {
    if let Some(error) = error_field(data) {
        return says_something(error).then(|| error.clone());
    }
    let is_error = event.name == "error" || ["type", "object"].iter().any(|key| data[key] == "error");
    let has_words = data.is_object() || data.is_string();
    is_error.then(|| if has_words { data.clone() } else { event.data.into() })
}

fn says_something(error: &Value) -> bool {
    match error.as_str() {
        Some(message) => !message.trim().is_empty(),
        None => !error["message"].is_null() || codes(error).next().is_some(),
    }
}

/// An error's code and type, Google's status and reasons, Anthropic's code in the details, Azure's inner code, and
/// `MiniMax`'s status.
fn codes(error: &Value) -> impl Iterator<Item = String> {
    let pointers = ["/code", "/type", "/status", "/details/error_code", "/innererror/code", "/status_code"];
    let codes = pointers.into_iter().filter_map(|pointer| error.pointer(pointer));
    let reasons = error["details"].as_array().into_iter().flatten().map(|detail| &detail["reason"]);
    codes.chain(reasons).filter(|code| code.is_string() || code.is_number()).map(prose)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    message: Option<String>,
    codes: Vec<String>,
    param: Option<String>,
    /// The delay that Google's errors ask for.
    retry_after: Option<Duration>,
}

impl Fault {
    /// `None` for an empty error such as `{}` or `""`.
    pub(super) fn of(error: &Value) -> Option<Self> {
        if let Some(text) = error.as_str() {
            return (!text.trim().is_empty()).then(|| Self { message: Some(text.to_owned()), ..Self::default() });
        }
        // OpenRouter copies the upstream provider's message here.
        let raw = Some(&error["metadata"]["raw"]).filter(|raw| !raw.is_null()).map(prose);
        let message = message_of(error).filter(|message| !message.is_empty());
        let message = match (message, raw) {
            (Some(message), Some(raw)) => Some(format!("{message}: {raw}")),
            (message, raw) => message.or(raw),
        };
        let codes: Vec<String> = codes(error).collect();
        let param = error["param"].as_str().map(str::to_owned);
        // Xiaomi puts its message into the parameter.
        let said = param.as_ref().filter(|param| param.contains(' '));
        let message = message.map(|message| said.map(|said| format!("{message}: {said}")).unwrap_or(message));
        let mut details = error["details"].as_array().into_iter().flatten();
        let retry_after = details.find_map(|detail| duration(detail["retryDelay"].as_str()?));
        (message.is_some() || !codes.is_empty()).then_some(Self { message, codes, param, retry_after })
    }
}

/// The error in the body of a refusal: an `error` field, the body itself, or either of these in a list (Google). Some
/// servers put only the error's name into the field, and the message next to it.
fn fault_in(body: &Value) -> Option<Fault> {
    if let Some(list) = body.as_array() {
        return list.iter().find_map(fault_in);
    }
    let Some(error) = error_field(body) else { return Fault::of(body).filter(|_| body.is_object()) };
    let is_name = error.as_str().is_some_and(|name| !name.trim().contains(char::is_whitespace));
    let mut fault = Fault::of(error).unwrap_or_default();
    // xAI puts its code next to the message.
    fault.codes.extend(codes(body));
    let Some(beside) = message_of(body).filter(|message| !message.trim().is_empty()) else {
        return Some(fault).filter(|fault| *fault != Fault::default());
    };
    if is_name {
        fault.codes.extend(fault.message.clone());
    }
    fault.message = Some(match fault.message {
        Some(message) if message.contains(&beside) => message,
        Some(name) if is_name => format!("{name}: {beside}"),
        Some(message) if !beside.contains(&message) => format!("{message}: {beside}"),
        Some(_) | None => beside,
    });
    Some(fault)
}

/// The message of an object; otherwise FastAPI's `detail` or `MiniMax`'s `status_msg`.
fn message_of(object: &Value) -> Option<String> {
    ["message", "detail", "status_msg"]
        .into_iter()
        .map(|key| &object[key])
        .find(|message| !message.is_null())
        .map(prose)
}

fn prose(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn status_of_code(code: &str) -> Option<u16> {
    match code {
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "too_many_requests"
        | "insufficient_quota"
        | "RESOURCE_EXHAUSTED" => Some(429),
        "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => Some(401),
        "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" | "content_filter" => Some(400),
        "model_not_found" | "not_found_error" => Some(404),
        "server_error" | "api_error" | "internal_error" | "internal_server_error" => Some(500),
        "overloaded_error" => Some(503),
        number => number.parse().ok().filter(|status| (400..=599).contains(status)),
    }
}

/// A delay as Google or OpenAI write it: `38s`, `7.66s`, `250ms`, `1h2m3s`; a plain number means seconds.
fn duration(text: &str) -> Option<Duration> {
    let (mut seconds, mut rest) = (0.0, text.trim());
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |next| digits + next);
        let amount: f64 = rest[..digits].parse().ok()?;
        seconds += amount
            * match &rest[digits..unit] {
                "ms" => 1e-3,
                "" | "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

fn wait_in(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let amount = |text: &str, unit: f64| {
        let amount: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(amount * unit).ok()
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| amount(text, 1e-3)) {
        return Some(wait);
    }
    let text = text(RETRY_AFTER.as_str())?;
    amount(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

fn redirect_target(answer: &HttpAnswer) -> Option<String> {
    let target = answer.headers.get(LOCATION).filter(|_| answer.status.is_redirection())?.to_str().ok()?;
    // The query and password may be secret.
    Some(match Url::parse(target) {
        Ok(url) => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Err(_) => target.split(['?', '#']).next().unwrap_or_default().to_owned(),
    })
}

fn reason(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("no reason given").to_lowercase()
}

pub(super) fn one_line(said: &str, address: &Address) -> String {
    tidy(&address.redact(said), LONGEST_MESSAGE)
}

pub(super) fn excerpt(body: &[u8], address: &Address) -> String {
    tidy(&without_tags(&address.redact(&String::from_utf8_lossy(body))), LONGEST_EXCERPT)
}

fn tidy(text: &str, longest: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Removes HTML tags, scripts and styles.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!') {
            text.push('<');
            continue;
        }
        text.push(' ');
        let hidden = ["script", "style"]
            .into_iter()
            .find(|tag| rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag)));
        if let Some(tag) = hidden {
            rest = rest.find(&format!("</{tag}")).map_or("", |end| &rest[end + 1..]);
        }
        rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
    }
    text.push_str(rest);
    text
}

pub(super) struct RequestFailure {
    pub(super) failed: Box<FailedAttempt>,
    pub(super) cause: FailureCause,
}

pub(super) enum FailureCause {
    Refused(Box<ServerRefusal>),
    /// A success status with content that is not from this API.
    Foreign,
    BrokenStream,
    Other,
}

impl RequestFailure {
    pub(super) fn refused(refusal: ServerRefusal, usage: StatedUsage) -> Self {
        let failed = FailedAttempt { error: refusal.error(), usage, may_be_billed: refusal.may_be_billed() };
        Self { failed: failed.into(), cause: FailureCause::Refused(Box::new(refusal)) }
    }

    pub(super) fn foreign(failed: FailedAttempt) -> Self {
        Self { failed: failed.into(), cause: FailureCause::Foreign }
    }

    pub(super) fn charged_as(self, other: &Self) -> Self {
        let FailedAttempt { usage, may_be_billed, .. } = *other.failed;
        Self { failed: FailedAttempt { usage, may_be_billed, ..*self.failed }.into(), ..self }
    }

    /// Whether the request or its sender was rejected, so that asking differently would not help.
    pub(super) fn names_cause(&self) -> bool {
        match &self.cause {
            FailureCause::Refused(refusal) => matches!(refusal.status, 401 | 403) || refusal.is_about_the_request(),
            FailureCause::Other => matches!(self.failed.error, ModelError::Filtered { .. }),
            FailureCause::BrokenStream | FailureCause::Foreign => false,
        }
    }

    /// Whether the API may have caused the failure, given that another API is known to answer.
    pub(super) fn speaks_against_the_api(&self) -> bool {
        match &self.cause {
            FailureCause::Foreign => true,
            FailureCause::Refused(refusal) => !matches!(refusal.status, 408 | 429),
            FailureCause::BrokenStream => false,
            FailureCause::Other => !self.failed.error.is_transient(),
        }
    }

    pub(super) fn lacks_route(&self) -> bool {
        matches!(&self.cause, FailureCause::Refused(refusal) if matches!(refusal.status, 404 | 405 | 410 | 501))
    }
}

impl<T: Into<FailedAttempt>> From<T> for RequestFailure {
    fn from(failed: T) -> Self {
        Self { failed: Box::new(failed.into()), cause: FailureCause::Other }
    }
}
