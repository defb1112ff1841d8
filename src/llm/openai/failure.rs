//! What a server says when it says no, read from whatever shape it says it in.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

use crate::llm::ModelError;

use super::endpoint::Address;
use super::fault::Fault;
use super::transport::Answer;

/// Longer messages are cut.
const LONGEST_MESSAGE: usize = 600;
/// What is shown of a body that is not the API's.
const LONGEST_EXCERPT: usize = 200;

/// A refusal: an answer with an error status, or a good status with an error inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The HTTP status, or the one that the error inside names.
    pub(super) status: u16,
    /// How long the server wants to be left alone.
    pub(super) retry_after: Option<Duration>,
    /// The error's code or, without one, its type.
    pub(super) code: Option<String>,
    /// The parameter that is at fault.
    pub(super) param: Option<String>,
    /// What the server said: one line, without secrets and control characters.
    pub(super) message: String,
}

impl Refusal {
    /// From an answer with an error status.
    pub(super) fn of_answer(answer: &Answer, address: &Address) -> Self {
        let said = Fault::read(&answer.body).unwrap_or_default();
        let message = if let Some(message) = said.message.filter(|message| !message.trim().is_empty()) {
            tidy(&address.redact(&message), LONGEST_MESSAGE)
        } else if let Some(target) = redirect_target(answer) {
            format!("it redirects to {}, which is not followed", address.redact(&target))
        } else {
            excerpt(&answer.body, address)
        };
        Self {
            status: answer.status.as_u16(),
            retry_after: retry_after(&answer.headers, SystemTime::now()),
            message: if message.is_empty() { reason(answer.status) } else { message },
            code: said.code,
            param: said.param,
        }
    }

    /// From an error inside an answer with a good status.
    pub(super) fn inside(fault: Fault, answer: &Answer, address: &Address) -> Self {
        let status = fault.code.as_deref().and_then(status_of_code).unwrap_or(answer.status.as_u16());
        let message = fault.message.unwrap_or_else(|| "an error without a message".to_owned());
        Self {
            status,
            retry_after: retry_after(&answer.headers, SystemTime::now()),
            message: tidy(&address.redact(&message), LONGEST_MESSAGE),
            code: fault.code,
            param: fault.param,
        }
    }

    /// The failure that it is to the caller.
    pub(super) fn into_error(self) -> ModelError {
        let Self { status, retry_after, message, .. } = self;
        match status {
            // Waiting does not pay bills.
            429 if self.code.as_deref() == Some("insufficient_quota") => ModelError::Refused { status, message },
            429 => ModelError::RateLimited { retry_after, message },
            401 | 403 => ModelError::Unauthorized { status, message },
            // A good status with an error inside that says no more is a server at fault.
            200..=299 | 408 | 409 | 425 | 500.. => ModelError::ServerFailed { status, retry_after, message },
            _ => ModelError::Refused { status, message },
        }
    }

    /// Whether the server lacks the Responses API, rather than the model or anything else.
    pub(super) fn lacks_responses(&self) -> bool {
        let said = self.message.to_lowercase();
        let names_route =
            ["/responses", "responses api", "responses endpoint", "`responses`"].iter().any(|it| said.contains(it));
        match self.status {
            405 | 501 => true,
            404 => names_route || !self.names_missing_model(&said),
            400 => {
                let unknown = ["not support", "unsupported", "not implement", "not available", "not found", "cannot"];
                let no_route = ["unknown endpoint", "unknown route", "unknown path", "unknown url", "invalid url"];
                names_route && unknown.iter().any(|it| said.contains(it))
                    || no_route.iter().any(|it| said.contains(it))
                    || said.contains("unrecognized request url")
            }
            _ => false,
        }
    }

    fn names_missing_model(&self, said: &str) -> bool {
        self.code.as_deref().is_some_and(|code| code.contains("model"))
            || self.param.as_deref() == Some("model")
            || said.contains("model")
            // OpenRouter's word for a model that nobody serves.
            || said.contains("no endpoints found")
    }

    /// Whether it is about the form of the answer that was asked for.
    pub(super) fn refuses_format(&self) -> bool {
        self.is_about_parameters()
            && self.names(&[
                "response_format",
                "text.format",
                "json_schema",
                "structured output",
                "'format'",
                "`format`",
                "\"format\"",
            ])
    }

    /// Whether the model takes no `parameter`. One that is merely out of range is the user's to correct.
    pub(super) fn refuses_parameter(&self, parameter: &str) -> bool {
        let said = self.message.to_lowercase();
        let unsupported = [
            "unsupported",
            "not support",
            "n't support",
            "only the default",
            "deprecated",
            "not permitted",
            "not allowed",
            "unknown",
            "unrecognized",
            "unexpected",
        ];
        self.is_about_parameters()
            && self.names(&[parameter])
            && (unsupported.iter().any(|it| said.contains(it))
                || self.code.as_deref().is_some_and(|code| code.starts_with("unsupported")))
    }

    fn is_about_parameters(&self) -> bool {
        matches!(self.status, 400 | 422)
    }

    fn names(&self, parameters: &[&str]) -> bool {
        let said = self.message.to_lowercase();
        let param = self.param.as_deref().unwrap_or_default();
        parameters.iter().any(|it| said.contains(it) || param == it.trim_matches(['\'', '`', '"']))
            || parameters.iter().any(|it| param.starts_with(&format!("{it}.")))
    }
}

/// The HTTP status that an error's code stands for, where it stands for one.
fn status_of_code(code: &str) -> Option<u16> {
    match code {
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" | "insufficient_quota" => Some(429),
        "authentication_error" | "invalid_api_key" => Some(401),
        "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" | "content_filter" => Some(400),
        "model_not_found" | "not_found_error" => Some(404),
        "server_error" | "api_error" | "internal_error" | "internal_server_error" => Some(500),
        "overloaded_error" => Some(503),
        number => number.parse().ok().filter(|status| (400..=599).contains(status)),
    }
}

/// How long the server wants to be left alone, from `now` on.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
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

fn redirect_target(answer: &Answer) -> Option<String> {
    let target = answer.headers.get(LOCATION).filter(|_| answer.status.is_redirection())?.to_str().ok()?;
    // A query or a password in it is nobody's business.
    Some(match Url::parse(target) {
        Ok(url) => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Err(_) => target.split(['?', '#']).next().unwrap_or_default().to_owned(),
    })
}

fn reason(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("no reason given").to_lowercase()
}

/// The beginning of a body that is not the API's, as readable text without secrets.
pub(super) fn excerpt(body: &[u8], address: &Address) -> String {
    tidy(&without_tags(&address.redact(&String::from_utf8_lossy(body))), LONGEST_EXCERPT)
}

/// `text` on one line, without control characters, cut at `longest` characters.
fn tidy(text: &str, longest: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `html` with its tags, and what is in scripts and styles, replaced by spaces.
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
