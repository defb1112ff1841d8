//! Remembers what models support, so that a server rejects nothing twice, and reduces schemas to what a model accepts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::models::{Feature, facts};
use crate::{AnswerSchema, FinishReason, Reply, Request};
use dialectic_base::provider::{ApiKind, serves_responses};

use super::endpoint::Endpoint;
use super::reasoning::begins_within;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Chat,
}

/// The original name of the output limit in Chat Completions, which compatible servers still use.
pub(super) const MAX_TOKENS: &str = "max_tokens";
/// OpenAI's newer name for the output limit.
pub(super) const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Server,
    Model,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streaming {
    /// With token counts at the end, which must be requested in Chat Completions.
    WithUsage,
    /// Without requesting token counts.
    Bare,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings")]
pub(super) struct Capabilities {
    /// `None` while the model's API is unknown.
    pub(super) api: Option<Api>,
    pub(super) schemas: Schemas,
    /// How many more unexplained refusals may be blamed on the schema; 0 once a schema was accepted.
    pub(super) schema_doubts: u8,
    /// Whether requests with schemas use Chat Completions, because the Responses API ignores schemas.
    pub(super) schemas_by_chat: bool,
    pub(super) takes_tools: bool,
    pub(super) takes_temperature: bool,
    /// Whether the model accepts system messages. If not, the system text is put before the user's text.
    pub(super) takes_system: bool,
    /// Whether the model accepts its own messages unchanged rather than just their text and calls.
    pub(super) replays: bool,
    pub(super) reasons: bool,
    /// The highest output limit that the model accepts, if a refusal stated it.
    pub(super) most_output: Option<u32>,
    /// The name of the output limit in Chat Completions.
    pub(super) limit: &'static str,
    /// Whether `limit` was changed once. The name is not changed again, because two rejected names would alternate.
    pub(super) limit_is_certain: bool,
    pub(super) streaming: Streaming,
    /// Whether the model's answers start inside reasoning. Streamed text is then held back until the reasoning has
    /// ended.
    pub(super) begins_within: bool,
}

/// How long calls wait while the first call determines which API the server supports. A server without the Responses
/// API refuses immediately. A server with it answers only when the model is done, so the other calls stop waiting and
/// try the Responses API too.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_millis(250);
/// Like [`PROBE_TIMEOUT`], for a local server, whose refusal arrives sooner.
const LOOPBACK_PROBE_TIMEOUT: Duration = Duration::from_millis(20);

pub(super) struct KnownCapabilities {
    endpoint: Endpoint,
    pub(super) serves_responses: bool,
    pub(super) probe_timeout: Duration,
    /// The first API that the server was found to support. Later findings apply to single models only.
    api: OnceLock<Api>,
    /// Acquired by the call that probes the API, and closed once the API is known. If the probing call ends without a
    /// finding, the next call probes.
    probe: Semaphore,
    findings: Mutex<Findings>,
}

struct Findings {
    models: HashMap<Arc<str>, Capabilities>,
    schemas: SchemaRoute,
    /// How many more failures may be blamed on streaming; 0 once a stream arrived. Some servers fail on every stream.
    stream_doubts: u8,
    /// The number of times that a complete answer followed a failed stream.
    wholes: u8,
    /// How the last stream broke, and how many streams in a row broke in that way.
    breaks: (String, u8),
}

/// Streams are no longer requested after this many broke in the same way in a row, or this many were followed by a
/// complete answer.
const ENOUGH: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaRoute {
    /// The API that the model uses for other requests. It might ignore schemas.
    Presumed,
    Chat,
    /// The API that the model uses for other requests, because Chat Completions is missing or handles schemas no
    /// better.
    Settled,
}

impl Capabilities {
    /// Whether to request reasoning that can be sent back, since the Responses API is told to store nothing.
    pub(super) fn asks_for_reasoning(&self, request: &Request) -> bool {
        self.replays && self.reasons && !request.tools.is_empty()
    }
}

impl KnownCapabilities {
    pub(super) fn new(endpoint: Endpoint, is_loopback: bool) -> Self {
        let (models, breaks) = (HashMap::new(), (String::new(), 0));
        let findings = Findings { models, schemas: SchemaRoute::Presumed, stream_doubts: 6, wholes: 0, breaks };
        Self {
            serves_responses: serves_responses(&endpoint.name, &endpoint.base_url),
            probe_timeout: if is_loopback { LOOPBACK_PROBE_TIMEOUT } else { PROBE_TIMEOUT },
            endpoint,
            api: OnceLock::new(),
            probe: Semaphore::new(1),
            findings: Mutex::new(findings),
        }
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn capabilities(&self, model: &str) -> Capabilities {
        let findings = self.findings();
        let mut capabilities = findings.models.get(model).copied().unwrap_or_else(|| self.presumed(model));
        capabilities.api = capabilities.api.or(self.api.get().copied().filter(|api| *api == Api::Chat));
        capabilities.schemas_by_chat = findings.schemas == SchemaRoute::Chat;
        if findings.wholes >= ENOUGH || findings.breaks.1 >= ENOUGH {
            capabilities.streaming = Streaming::Never;
        }
        capabilities
    }

    pub(super) fn update(&self, model: &Arc<str>, change: impl FnOnce(&mut Capabilities)) {
        change(self.findings().models.entry(Arc::clone(model)).or_insert_with(|| self.presumed(model)));
    }

    pub(super) fn reached(&self, model: &Arc<str>, api: Api) {
        self.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(api)));
        self.settle(api);
    }

    pub(super) fn lacks_responses(&self, model: &Arc<str>, lack: Missing) {
        self.update(model, |capabilities| capabilities.api = Some(Api::Chat));
        self.settle(match lack {
            Missing::Server => Api::Chat,
            Missing::Model => Api::Responses,
        });
    }

    /// Lets the first call to a server determine which API it supports while the others wait briefly. The first call
    /// keeps the permit until it has an answer.
    pub(super) async fn await_turn(&self, model: &str) -> Option<SemaphorePermit<'_>> {
        if self.capabilities(model).api.is_some() {
            return None;
        }
        timeout(self.probe_timeout, self.probe.acquire()).await.ok()?.ok()
    }

    /// Notes that the Responses API ignored a schema. The next schema goes to Chat Completions, unless the API is
    /// configured, the server is known to support the Responses API, or Chat Completions was already tried.
    pub(super) fn tries_schemas_by_chat(&self) {
        let route = &mut self.findings().schemas;
        if self.endpoint.api == ApiKind::Auto && !self.serves_responses && *route == SchemaRoute::Presumed {
            *route = SchemaRoute::Chat;
        }
    }

    /// Notes that Chat Completions is missing or handles schemas no better.
    pub(super) fn keeps_schemas_where_they_are(&self) {
        self.findings().schemas = SchemaRoute::Settled;
    }

    /// Whether a failure may be blamed on streaming. Each call of this function uses up one of the remaining doubts.
    pub(super) fn may_fail_on_streams(&self) -> bool {
        let left = &mut self.findings().stream_doubts;
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }

    /// Notes a complete answer after a failed stream. After enough of them, streams are no longer requested.
    pub(super) fn answers_as_a_whole(&self) {
        self.findings().wholes += 1;
    }

    /// Notes that a stream broke in this way. Returns `true` once that has happened often enough to stop requesting
    /// streams.
    pub(super) fn broke(&self, way: &str) -> bool {
        let Findings { stream_doubts, breaks, .. } = &mut *self.findings();
        if *stream_doubts > 0 {
            *breaks = (way.to_owned(), if breaks.0 == way { breaks.1 + 1 } else { 1 });
        }
        breaks.1 >= ENOUGH
    }

    /// Notes that the server streams, so later failures have other causes.
    pub(super) fn streams(&self) {
        let mut findings = self.findings();
        (findings.stream_doubts, findings.wholes, findings.breaks) = (0, 0, (String::new(), 0));
    }

    pub(super) fn settle(&self, api: Api) {
        self.api.get_or_init(|| api);
        self.probe.close();
    }

    fn presumed(&self, model: &str) -> Capabilities {
        let Endpoint { name, api, streams, takes_schemas, .. } = &self.endpoint;
        let known = facts(name, model);
        let takes = |feature| known.is_none_or(|facts| facts.takes(feature));
        let is_openai = &**name == "openai";
        Capabilities {
            api: match api {
                ApiKind::Auto if !takes(Feature::Responses) => Some(Api::Chat),
                ApiKind::Auto if !takes(Feature::Chat) => Some(Api::Responses),
                ApiKind::Auto => None,
                ApiKind::Responses => Some(Api::Responses),
                ApiKind::Chat => Some(Api::Chat),
            },
            schemas: match (*takes_schemas && takes(Feature::Schema), is_openai) {
                (false, _) => Schemas::None,
                // OpenAI's strict schemas do not allow string lengths.
                (true, true) => Schemas::WithoutLengths,
                (true, false) => Schemas::Whole,
            },
            schema_doubts: 2,
            schemas_by_chat: false,
            takes_tools: takes(Feature::Tools),
            takes_temperature: takes(Feature::Temperature),
            takes_system: takes(Feature::System),
            replays: true,
            reasons: known.is_some_and(|facts| facts.reasons),
            most_output: None,
            limit: if is_openai { MAX_COMPLETION_TOKENS } else { MAX_TOKENS },
            limit_is_certain: false,
            streaming: if *streams { Streaming::WithUsage } else { Streaming::Never },
            begins_within: begins_within(model),
        }
    }
}

/// How much of a schema a model accepts. Later variants accept less, so `max` combines two findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Schemas {
    Whole,
    /// Without string lengths, which OpenAI's strict schemas do not allow.
    WithoutLengths,
    /// Without any bounds.
    Unbounded,
    None,
}

const LENGTHS: [&str; 2] = ["minLength", "maxLength"];
const AMOUNTS: [&str; 6] = ["minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

impl Schemas {
    pub(super) fn of(self, answer: Option<&AnswerSchema>) -> Option<AnswerSchema> {
        let mut answer = answer.filter(|_| self != Self::None)?.clone();
        match self {
            Self::Whole | Self::None => {}
            Self::WithoutLengths => take_away(&mut answer.schema, &LENGTHS),
            Self::Unbounded => {
                take_away(&mut answer.schema, &LENGTHS);
                take_away(&mut answer.schema, &AMOUNTS);
            }
        }
        Some(answer)
    }

    /// Drops from `answer`'s schema the bounds for which `refuses` holds, or the whole schema if it contains no such
    /// bounds.
    pub(super) fn without_refused(self, answer: &AnswerSchema, refuses: impl Fn(&str) -> bool) -> Self {
        let Some(AnswerSchema { schema: sent, .. }) = self.of(Some(answer)) else { return Self::None };
        let any_of = |keywords: &[&str]| keywords.iter().any(|keyword| uses(&sent, keyword) && refuses(keyword));
        if any_of(&AMOUNTS) {
            Self::Unbounded
        } else if any_of(&LENGTHS) {
            Self::WithoutLengths
        } else {
            Self::None
        }
    }

    /// Whether the part of `answer`'s schema that is sent contains bounds.
    pub(super) fn bounds(self, answer: &AnswerSchema) -> bool {
        let Some(AnswerSchema { schema: sent, .. }) = self.of(Some(answer)) else { return false };
        LENGTHS.iter().chain(&AMOUNTS).any(|keyword| uses(&sent, keyword))
    }
}

fn take_away(schema: &mut Value, keywords: &[&str]) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
    for (keyword, part) in schema {
        match part {
            Value::Array(list) => list.iter_mut().for_each(|part| take_away(part, keywords)),
            // Property names are not keywords.
            Value::Object(named) if keyword == "properties" => {
                named.values_mut().for_each(|part| take_away(part, keywords));
            }
            Value::Object(_) => take_away(part, keywords),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn uses(schema: &Value, keyword: &str) -> bool {
    let mut without = schema.clone();
    take_away(&mut without, &[keyword]);
    without != *schema
}

/// Whether the reply shows that the server ignored the schema: it is not a JSON object, or lacks a required property.
pub(super) fn is_ignored(answer: &AnswerSchema, reply: &Reply) -> bool {
    let text = reply.text.trim();
    if text.is_empty() || !reply.tool_calls.is_empty() || reply.finish == FinishReason::Filtered {
        return false;
    }
    if !text.starts_with('{') {
        return true;
    }
    let required = answer.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(object) => required.into_iter().any(|key| !object.contains_key(key)),
        Err(error) => reply.finish == FinishReason::Complete || !error.is_eof(),
    }
}

/// The system text and the user's text. For a model without system messages, the user's text contains both.
pub(super) fn texts(request: &Request, capabilities: Capabilities) -> (Option<&str>, Cow<'_, str>) {
    let Request { system, prompt, .. } = request;
    if capabilities.takes_system {
        (Some(system), Cow::Borrowed(prompt))
    } else {
        (None, Cow::Owned(format!("{system}\n\n{prompt}")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;
    use tokio::time::Instant;

    use crate::strict_object;

    use super::*;

    fn nothing_known(api: ApiKind) -> KnownCapabilities {
        KnownCapabilities::new(crate::fixture::endpoint("", "", api), false)
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_for_the_first_but_not_for_long() {
        let known = nothing_known(ApiKind::Auto);
        let start = Instant::now();
        let probe = known.await_turn("m").await;
        assert!(probe.is_some());
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(known.await_turn("m").await.is_none());
        assert!(known.await_turn("other model").await.is_none());
        assert_eq!(start.elapsed(), 2 * PROBE_TIMEOUT);
        known.reached(&Arc::from("m"), Api::Responses);
        assert!(known.await_turn("m").await.is_none());
        assert!(known.await_turn("other model").await.is_none());
        assert_eq!(start.elapsed(), 2 * PROBE_TIMEOUT);
        drop(probe);
        assert!(known.await_turn("m").await.is_none(), "a finding outlives its probe");
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_given_up_passes_to_one_who_waits() {
        let known = Arc::new(nothing_known(ApiKind::Auto));
        let probe = known.await_turn("m").await;
        let waiting = tokio::spawn({
            let known = Arc::clone(&known);
            async move {
                let start = Instant::now();
                (known.await_turn("m").await.is_some(), start.elapsed())
            }
        });
        tokio::time::sleep(PROBE_TIMEOUT / 5).await;
        drop(probe);
        assert_eq!(waiting.await.unwrap(), (true, PROBE_TIMEOUT / 5));
    }

    #[test]
    fn what_one_model_lacks_is_not_the_servers_lack() {
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        let known = nothing_known(ApiKind::Auto);
        known.lacks_responses(&a, Missing::Model);
        assert_eq!((known.capabilities(&a).api, known.capabilities(&b).api), (Some(Api::Chat), None));
        known.reached(&b, Api::Responses);
        known.lacks_responses(&c, Missing::Server);
        assert_eq!((known.capabilities(&c).api, known.capabilities("d").api), (Some(Api::Chat), None));

        let known = nothing_known(ApiKind::Auto);
        known.lacks_responses(&a, Missing::Server);
        assert_eq!(known.capabilities(&b).api, Some(Api::Chat));
    }

    static BOUNDED: LazyLock<AnswerSchema> = LazyLock::new(|| AnswerSchema {
        name: "bounded",
        schema: strict_object([
            ("text", json!({ "type": "string", "maxLength": 20 })),
            ("maxLength", json!({ "type": "array", "items": { "type": "string", "maxLength": 9 }, "maxItems": 3 })),
            ("score", json!({ "type": "number", "minimum": 0, "maximum": 100 })),
        ]),
    });

    fn sent(schemas: Schemas) -> String {
        schemas.of(Some(&BOUNDED)).map(|answer| answer.schema["properties"].to_string()).unwrap_or_default()
    }

    #[test]
    fn a_schema_loses_its_bounds_and_nothing_else() {
        let whole = r#"{"text":{"type":"string","maxLength":20},"maxLength":{"type":"array","items":{"type":"string","maxLength":9},"maxItems":3},"score":{"type":"number","minimum":0,"maximum":100}}"#;
        let without_lengths = r#"{"text":{"type":"string"},"maxLength":{"type":"array","items":{"type":"string"},"maxItems":3},"score":{"type":"number","minimum":0,"maximum":100}}"#;
        let unbounded = r#"{"text":{"type":"string"},"maxLength":{"type":"array","items":{"type":"string"}},"score":{"type":"number"}}"#;
        assert_eq!(sent(Schemas::Whole), whole);
        assert_eq!(sent(Schemas::WithoutLengths), without_lengths);
        assert_eq!(sent(Schemas::Unbounded), unbounded);
        assert_eq!(Schemas::None.of(Some(&BOUNDED)), None);
    }

    #[test]
    fn a_refused_keyword_costs_its_kind_and_a_refused_schema_all() {
        let next = |schemas: Schemas, refused: &str| schemas.without_refused(&BOUNDED, |keyword| keyword == refused);
        assert_eq!(next(Schemas::Whole, "maxLength"), Schemas::WithoutLengths);
        assert_eq!(next(Schemas::Whole, "maxItems"), Schemas::Unbounded);
        assert_eq!(next(Schemas::WithoutLengths, "minimum"), Schemas::Unbounded);
        assert_eq!(next(Schemas::Whole, "format"), Schemas::None);
        // A feature that is no longer sent cannot be the reason.
        assert_eq!(next(Schemas::WithoutLengths, "maxLength"), Schemas::None);
        assert_eq!(next(Schemas::Unbounded, "maxItems"), Schemas::None);
    }

    #[test]
    fn what_a_server_did_not_enforce_is_seen() {
        let reply = |text: &str, finish| Reply { text: text.to_owned(), finish, ..Reply::default() };
        let whole = r#" {"text": "t", "maxLength": [], "score": 1} "#;
        for (text, ignored) in [
            (whole, false),
            ("", false),
            (r#"{"text": "t", "score": 1}"#, true),
            ("```json\n{\"text\": \"t\", \"maxLength\": [], \"score\": 1}\n```", true),
            ("The score is 1.", true),
            (r#"{"text": "t", "maxL"#, true),
        ] {
            assert_eq!(is_ignored(&BOUNDED, &reply(text, FinishReason::Complete)), ignored, "{text}");
        }
        assert!(!is_ignored(&BOUNDED, &reply(r#"{"text": "t", "maxL"#, FinishReason::Length)));
        assert!(is_ignored(&BOUNDED, &reply("```json\n{\"te", FinishReason::Length)));
        assert!(!is_ignored(&BOUNDED, &reply("I will not.", FinishReason::Filtered)));
    }
}
