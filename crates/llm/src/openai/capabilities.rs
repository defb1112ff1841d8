//! Known capabilities of models: found out in use, so that nothing is refused twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::Request;
use crate::models::{Feature, facts};
use dialectic_base::provider::{ApiKind, serves_responses};

use super::endpoint::Endpoint;
use super::reasoning::begins_within;
use super::schema::Schemas;

/// One of the two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Chat,
}

/// The output limit's original name in Chat Completions, which compatible servers kept.
pub(super) const MAX_TOKENS: &str = "max_tokens";
/// OpenAI's newer name for it.
pub(super) const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// The extent to which the Responses API is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Server,
    Model,
}

/// How a model streams its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streaming {
    /// With token counts at the end, which Chat Completions must request.
    WithUsage,
    /// Without requesting token counts.
    Bare,
    /// Not at all.
    Never,
}

/// The known capabilities of a model on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings")]
pub(super) struct Capabilities {
    /// The API; unknown until it has answered, or its server proved to have only one.
    pub(super) api: Option<Api>,
    /// The schema features that it accepts, as far as known.
    pub(super) schemas: Schemas,
    /// How many more unexplained refusals may be attributed to the schema; none after one was accepted.
    pub(super) schema_doubts: u8,
    /// Whether its server obeys schemas only in Chat Completions.
    pub(super) schemas_by_chat: bool,
    /// Whether it can be offered tools, as far as known.
    pub(super) takes_tools: bool,
    /// Whether it accepts a temperature, as far as known.
    pub(super) takes_temperature: bool,
    /// Whether it accepts a system message, as far as known: otherwise its text precedes the user's.
    pub(super) takes_system: bool,
    /// Whether its messages go back as they came, not just their text and calls, as far as known.
    pub(super) replays: bool,
    /// Whether it is known to reason.
    pub(super) reasons: bool,
    /// The highest output limit that it accepts, if it stated one.
    pub(super) most_output: Option<u32>,
    /// The field name for the output limit in Chat Completions, as far as known.
    pub(super) limit: &'static str,
    /// Whether the field name is final: otherwise two refused names would alternate.
    pub(super) limit_is_certain: bool,
    /// The kind of streaming, as far as known.
    pub(super) streaming: Streaming,
    /// Whether its answers begin inside reasoning, as far as known: streamed text is then held back until the reasoning
    /// has ended.
    pub(super) begins_within: bool,
}

/// How long calls wait for the first one's finding. A server without the Responses API refuses at once; one with it
/// answers only when the model is done, so the others proceed with the same API.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_millis(250);
/// The same for a local server, whose refusals arrive immediately.
const LOOPBACK_PROBE_TIMEOUT: Duration = Duration::from_millis(20);

/// The known capabilities of a server and its models.
pub(super) struct KnownCapabilities {
    /// The initial assumptions about every model.
    endpoint: Endpoint,
    /// Whether the server is known to have the Responses API.
    pub(super) serves_responses: bool,
    pub(super) probe_timeout: Duration,
    /// The first finding about the server's API; later ones concern single models.
    api: OnceLock<Api>,
    /// Held by the call that probes the API; closed once the API is known. If that call ends without a finding, the next
    /// one probes.
    probe: Semaphore,
    findings: Mutex<Findings>,
}

/// What use has shown about models and their server.
#[derive(Default)]
struct Findings {
    models: HashMap<Arc<str>, Capabilities>,
    schemas: SchemaRoute,
    streams: StreamTrials,
}

/// Findings about a server that fails when streams are requested.
struct StreamTrials {
    /// How many more failures may be attributed to streaming; none after a stream arrived.
    left: u8,
    /// How often a complete answer followed a failed stream.
    wholes: u8,
    /// How the last stream broke, and how often in this way.
    breaks: (String, u8),
}

impl StreamTrials {
    /// A single time may be chance.
    const ENOUGH: u8 = 2;

    fn is_over(&self) -> bool {
        self.wholes >= Self::ENOUGH || self.breaks.1 >= Self::ENOUGH
    }
}

impl Default for StreamTrials {
    fn default() -> Self {
        Self { left: 6, wholes: 0, breaks: (String::new(), 0) }
    }
}

/// The API for requests with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SchemaRoute {
    /// The model's own API, which may ignore schemas.
    #[default]
    Presumed,
    /// Use Chat Completions.
    Chat,
    /// The model's own API, since the other is no better.
    Settled,
}

impl Capabilities {
    /// Whether the Responses API is asked for reasoning that can go back: it stores none.
    pub(super) fn asks_for_reasoning(&self, request: &Request) -> bool {
        self.replays && self.reasons && !request.tools.is_empty()
    }
}

impl KnownCapabilities {
    pub(super) fn new(endpoint: Endpoint, is_loopback: bool) -> Self {
        Self {
            serves_responses: serves_responses(&endpoint.name, &endpoint.base_url),
            probe_timeout: if is_loopback { LOOPBACK_PROBE_TIMEOUT } else { PROBE_TIMEOUT },
            endpoint,
            api: OnceLock::new(),
            probe: Semaphore::new(1),
            findings: Mutex::default(),
        }
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The known capabilities of `model`.
    pub(super) fn capabilities(&self, model: &str) -> Capabilities {
        let findings = self.findings();
        let mut capabilities = findings.models.get(model).copied().unwrap_or_else(|| self.presumed(model));
        capabilities.api = capabilities.api.or(self.api.get().copied().filter(|api| *api == Api::Chat));
        capabilities.schemas_by_chat = findings.schemas == SchemaRoute::Chat;
        if findings.streams.is_over() {
            capabilities.streaming = Streaming::Never;
        }
        capabilities
    }

    /// Updates the capabilities of `model`.
    pub(super) fn update(&self, model: &Arc<str>, change: impl FnOnce(&mut Capabilities)) {
        change(self.findings().models.entry(Arc::clone(model)).or_insert_with(|| self.presumed(model)));
    }

    /// Remembers the API of `model`.
    pub(super) fn reached(&self, model: &Arc<str>, api: Api) {
        self.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(api)));
        self.settle(api);
    }

    /// Remembers who lacks the Responses API.
    pub(super) fn lacks_responses(&self, model: &Arc<str>, lack: Missing) {
        self.update(model, |capabilities| capabilities.api = Some(Api::Chat));
        self.settle(match lack {
            Missing::Server => Api::Chat,
            Missing::Model => Api::Responses,
        });
    }

    /// Lets the first call to a server find out its API; the others wait for it briefly. The call keeps the probe until
    /// its answer.
    pub(super) async fn await_turn(&self, model: &str) -> Option<SemaphorePermit<'_>> {
        if self.capabilities(model).api.is_some() {
            return None;
        }
        timeout(self.probe_timeout, self.probe.acquire()).await.ok()?.ok()
    }

    /// Notes that the Responses API ignored a schema: the next one goes to Chat Completions, unless the configuration
    /// forbids it.
    pub(super) fn tries_schemas_by_chat(&self) {
        let route = &mut self.findings().schemas;
        if self.endpoint.api == ApiKind::Auto && !self.serves_responses && *route == SchemaRoute::Presumed {
            *route = SchemaRoute::Chat;
        }
    }

    /// Notes that Chat Completions handle schemas no better, or do not exist.
    pub(super) fn keeps_schemas_where_they_are(&self) {
        self.findings().schemas = SchemaRoute::Settled;
    }

    /// Whether a failure may be attributed to streaming; each positive answer counts.
    pub(super) fn may_fail_on_streams(&self) -> bool {
        let left = &mut self.findings().streams.left;
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }

    /// Notes a complete answer after a failed stream. After enough of them, streams are no longer requested.
    pub(super) fn answers_as_a_whole(&self) {
        self.findings().streams.wholes += 1;
    }

    /// Notes that a stream broke in this way. After enough alike, streams are no longer requested; returns whether this is
    /// now the case.
    pub(super) fn broke(&self, way: &str) -> bool {
        let StreamTrials { left, breaks, .. } = &mut self.findings().streams;
        if *left > 0 {
            *breaks = (way.to_owned(), if breaks.0 == way { breaks.1 + 1 } else { 1 });
        }
        breaks.1 >= StreamTrials::ENOUGH
    }

    /// Notes that the server streams: later failures have other causes.
    pub(super) fn streams(&self) {
        self.findings().streams = StreamTrials { left: 0, ..StreamTrials::default() };
    }

    /// Records the first finding about a server.
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
                // Its strict schemas do not allow string lengths.
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn nothing_known(api: ApiKind) -> KnownCapabilities {
        let endpoint = Endpoint {
            name: "local".into(),
            base_url: String::new(),
            api_key: None,
            headers: vec![],
            api,
            streams: true,
            takes_schemas: true,
        };
        KnownCapabilities::new(endpoint, false)
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

    #[test]
    fn a_configured_api_is_not_found_out() {
        for (kind, api) in [(ApiKind::Responses, Api::Responses), (ApiKind::Chat, Api::Chat)] {
            assert_eq!(nothing_known(kind).capabilities("m").api, Some(api));
        }
    }
}
