//! Known capabilities of models: found out in use, so that nothing is refused twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::Request;
use crate::models::{Feature, facts};
use dialectic_base::provider::ApiKind;

use super::reasoning::begins_within;
use super::schema::Schemas;

/// One of the two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Chat,
}

/// The name of the output limit in Chat Completions: OpenAI renamed it, compatible servers kept the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxCompletionTokens,
    MaxTokens,
}

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
    pub(super) limit: LimitField,
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
pub(super) const LOOPBACK_PROBE_TIMEOUT: Duration = Duration::from_millis(20);

/// Initial assumptions about every model on a server.
#[derive(Debug, Clone)]
pub(super) struct Presumed {
    pub(super) api: ApiKind,
    pub(super) limit: LimitField,
    pub(super) streams: bool,
    pub(super) takes_schemas: bool,
    /// The name in configurations, for look-ups of its models.
    pub(super) provider: Arc<str>,
    /// Whether it is known to serve the Responses API.
    pub(super) serves_responses: bool,
}

/// The known capabilities of a server and its models.
pub(super) struct KnownCapabilities {
    presumed: Presumed,
    probe_timeout: Duration,
    server: watch::Sender<Finding>,
    models: Mutex<HashMap<Arc<str>, Capabilities>>,
    schemas: Mutex<SchemaRoute>,
    streams: Mutex<StreamTrials>,
}

/// Findings about a server that fails when streams are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    const FIRST: Self = Self { left: 6, wholes: 0, breaks: (String::new(), 0) };
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

/// A finding about a model from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adjustment {
    Schemas(Schemas),
    NoTemperature,
    NoSystem,
    NoReplay,
    MostOutput(u32),
    Limit(LimitField),
    Streaming(Streaming),
}

impl Capabilities {
    /// Applies an adjustment. Adjustments are never undone.
    pub(super) fn apply(&mut self, adjustment: Adjustment) {
        match adjustment {
            Adjustment::Schemas(schemas) => self.schemas = self.schemas.max(schemas),
            Adjustment::NoTemperature => self.takes_temperature = false,
            Adjustment::NoSystem => self.takes_system = false,
            Adjustment::NoReplay => self.replays = false,
            Adjustment::MostOutput(most) => self.most_output = Some(most),
            Adjustment::Limit(limit) => (self.limit, self.limit_is_certain) = (limit, true),
            Adjustment::Streaming(streaming) => self.streaming = streaming,
        }
    }

    /// Whether the Responses API is asked for reasoning that can go back: it stores none.
    pub(super) fn asks_for_reasoning(&self, request: &Request) -> bool {
        self.replays && self.reasons && !request.tools.is_empty()
    }
}

/// The state of knowledge about a server's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// Unknown, and no call is finding out.
    Unknown,
    /// A call is finding out.
    Probing,
    /// It has the Responses API, or only Chat Completions.
    Known(Api),
}

/// The call that finds out for all others. Dropping it without a finding passes the task to the next call.
pub(super) struct CapabilityProbe<'a>(&'a KnownCapabilities);

impl Drop for CapabilityProbe<'_> {
    fn drop(&mut self) {
        self.0.server.send_if_modified(|finding| {
            let open = *finding == Finding::Probing;
            if open {
                *finding = Finding::Unknown;
            }
            open
        });
    }
}

impl KnownCapabilities {
    pub(super) fn new(presumed: Presumed, probe_timeout: Duration) -> Self {
        Self {
            presumed,
            probe_timeout,
            server: watch::Sender::new(Finding::Unknown),
            models: Mutex::default(),
            schemas: Mutex::default(),
            streams: Mutex::new(StreamTrials::FIRST),
        }
    }

    /// The known capabilities of `model`.
    pub(super) fn capabilities(&self, model: &str) -> Capabilities {
        let known = self.models().get(model).copied();
        let mut capabilities = known.unwrap_or_else(|| self.presumed(model));
        if *self.server.borrow() == Finding::Known(Api::Chat) {
            capabilities.api = capabilities.api.or(Some(Api::Chat));
        }
        capabilities.schemas_by_chat = *self.schema_route() == SchemaRoute::Chat;
        let trials = self.stream_trials();
        if trials.wholes >= StreamTrials::ENOUGH || trials.breaks.1 >= StreamTrials::ENOUGH {
            capabilities.streaming = Streaming::Never;
        }
        capabilities
    }

    /// Updates the capabilities of `model`.
    pub(super) fn update(&self, model: &Arc<str>, change: impl FnOnce(&mut Capabilities)) {
        let presumed = || self.presumed(model);
        change(self.models().entry(Arc::clone(model)).or_insert_with(presumed));
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
    pub(super) async fn await_turn(&self, model: &str) -> Option<CapabilityProbe<'_>> {
        let deadline = Instant::now() + self.probe_timeout;
        let mut findings = self.server.subscribe();
        while self.capabilities(model).api.is_none() && !matches!(*findings.borrow(), Finding::Known(_)) {
            if self.claim() {
                return Some(CapabilityProbe(self));
            }
            if timeout_at(deadline, findings.wait_for(|finding| *finding != Finding::Probing)).await.is_err() {
                break;
            }
        }
        None
    }

    fn claim(&self) -> bool {
        self.server.send_if_modified(|finding| {
            let free = *finding == Finding::Unknown;
            if free {
                *finding = Finding::Probing;
            }
            free
        })
    }

    /// Whether the server is known to have the Responses API.
    pub(super) fn serves_responses(&self) -> bool {
        self.presumed.serves_responses
    }

    /// Notes that the Responses API ignored a schema: the next one goes to Chat Completions, unless the configuration
    /// forbids it.
    pub(super) fn tries_schemas_by_chat(&self) {
        let mut route = self.schema_route();
        let is_free = self.presumed.api == ApiKind::Auto && !self.presumed.serves_responses;
        if is_free && *route == SchemaRoute::Presumed {
            *route = SchemaRoute::Chat;
        }
    }

    /// Notes that Chat Completions handle schemas no better, or do not exist.
    pub(super) fn keeps_schemas_where_they_are(&self) {
        *self.schema_route() = SchemaRoute::Settled;
    }

    /// Whether a failure may be attributed to streaming; each positive answer counts.
    pub(super) fn may_fail_on_streams(&self) -> bool {
        let mut trials = self.stream_trials();
        let may = trials.left > 0;
        trials.left = trials.left.saturating_sub(1);
        may
    }

    /// Notes a complete answer after a failed stream. After enough of them, streams are no longer requested.
    pub(super) fn answers_as_a_whole(&self) {
        self.stream_trials().wholes += 1;
    }

    /// Notes that a stream broke in this way. After enough alike, streams are no longer requested; returns whether that is
    /// so.
    pub(super) fn broke(&self, way: &str) -> bool {
        let mut trials = self.stream_trials();
        let is_same = trials.breaks.0 == way;
        if trials.left > 0 {
            trials.breaks = (way.to_owned(), if is_same { trials.breaks.1 + 1 } else { 1 });
        }
        trials.breaks.1 >= StreamTrials::ENOUGH
    }

    /// Notes that the server streams: later failures have other causes.
    pub(super) fn streams(&self) {
        *self.stream_trials() = StreamTrials { left: 0, ..StreamTrials::FIRST };
    }

    fn stream_trials(&self) -> MutexGuard<'_, StreamTrials> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn schema_route(&self) -> MutexGuard<'_, SchemaRoute> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the first finding about a server; later ones concern single models.
    pub(super) fn settle(&self, api: Api) {
        self.server.send_if_modified(|finding| {
            let open = !matches!(finding, Finding::Known(_));
            if open {
                *finding = Finding::Known(api);
            }
            open
        });
    }

    fn presumed(&self, model: &str) -> Capabilities {
        let known = facts(&self.presumed.provider, model);
        let takes = |feature| known.is_none_or(|facts| facts.takes(feature));
        Capabilities {
            api: match self.presumed.api {
                ApiKind::Auto if !takes(Feature::Responses) => Some(Api::Chat),
                ApiKind::Auto if !takes(Feature::Chat) => Some(Api::Responses),
                ApiKind::Auto => None,
                ApiKind::Responses => Some(Api::Responses),
                ApiKind::Chat => Some(Api::Chat),
            },
            schemas: match (self.presumed.takes_schemas && takes(Feature::Schema), &*self.presumed.provider) {
                (false, _) => Schemas::None,
                // Its strict schemas do not allow string lengths.
                (true, "openai") => Schemas::WithoutLengths,
                (true, _) => Schemas::Whole,
            },
            schema_doubts: 2,
            schemas_by_chat: false,
            takes_temperature: takes(Feature::Temperature),
            takes_system: takes(Feature::System),
            replays: true,
            reasons: known.is_some_and(|facts| facts.reasons),
            most_output: None,
            limit: self.presumed.limit,
            limit_is_certain: false,
            streaming: if self.presumed.streams { Streaming::WithUsage } else { Streaming::Never },
            begins_within: begins_within(model),
        }
    }

    fn models(&self) -> MutexGuard<'_, HashMap<Arc<str>, Capabilities>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presumed(api: ApiKind) -> Presumed {
        Presumed {
            api,
            limit: LimitField::MaxTokens,
            streams: true,
            takes_schemas: true,
            provider: "local".into(),
            serves_responses: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_for_the_first_but_not_for_long() {
        let known = KnownCapabilities::new(presumed(ApiKind::Auto), PROBE_TIMEOUT);
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
        let known = Arc::new(KnownCapabilities::new(presumed(ApiKind::Auto), PROBE_TIMEOUT));
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
        let known = KnownCapabilities::new(presumed(ApiKind::Auto), PROBE_TIMEOUT);
        known.lacks_responses(&a, Missing::Model);
        assert_eq!((known.capabilities(&a).api, known.capabilities(&b).api), (Some(Api::Chat), None));
        known.reached(&b, Api::Responses);
        known.lacks_responses(&c, Missing::Server);
        assert_eq!((known.capabilities(&c).api, known.capabilities("d").api), (Some(Api::Chat), None));

        let known = KnownCapabilities::new(presumed(ApiKind::Auto), PROBE_TIMEOUT);
        known.lacks_responses(&a, Missing::Server);
        assert_eq!(known.capabilities(&b).api, Some(Api::Chat));
    }

    #[test]
    fn a_configured_api_is_not_found_out() {
        for (kind, api) in [(ApiKind::Responses, Api::Responses), (ApiKind::Chat, Api::Chat)] {
            assert_eq!(KnownCapabilities::new(presumed(kind), PROBE_TIMEOUT).capabilities("m").api, Some(api));
        }
    }
}
