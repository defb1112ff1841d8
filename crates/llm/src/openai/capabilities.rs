//! What a model can do, as far as is known: found out while it is used, so that nothing is refused twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

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

/// The name of the field that limits the output of Chat Completions: OpenAI renamed it, its imitators kept the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxCompletionTokens,
    MaxTokens,
}

/// Who it is that cannot be reached by the Responses API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Server,
    Model,
}

/// How a model streams its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streaming {
    /// With its token counts at the end, for which Chat Completions have to be asked.
    WithUsage,
    /// Without being asked for token counts.
    Bare,
    /// Not at all.
    Never,
}

/// What is known of a model on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
pub(super) struct Capabilities {
    /// The API it is reached by; unknown until it answered, or its server turned out to have only one.
    pub(super) api: Option<Api>,
    /// How much of a schema for its answer it takes, as far as is known.
    pub(super) schemas: Schemas,
    /// How often a refusal without a reason may still be laid to the schema; never after one was taken.
    pub(super) schema_doubts: u8,
    /// Whether its server heeds schemas in Chat Completions alone.
    pub(super) schemas_by_chat: bool,
    /// Whether it takes a temperature, as far as is known.
    pub(super) takes_temperature: bool,
    /// What Chat Completions call its output limit, as far as is known.
    pub(super) limit: LimitField,
    /// Whether that was found out: it is learned once; otherwise two refused names would alternate.
    pub(super) limit_is_certain: bool,
    /// How it streams, as far as is known.
    pub(super) streaming: Streaming,
    /// Whether its answers begin in the midst of reasoning, as far as is known: streamed text is held back until the
    /// reasoning has ended, so that nobody sees it.
    pub(super) begins_within: bool,
}

/// How long calls wait for the finding of the first one. A server that lacks the Responses API says so at once; one
/// that has it answers when the model is done, and nobody is to wait for that: they go ahead with the same API.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_millis(250);
/// The same for a server on this machine, from which a refusal takes no time to arrive.
pub(super) const LOOPBACK_PROBE_TIMEOUT: Duration = Duration::from_millis(20);

/// What is taken for granted of every model on a server, until one of them says otherwise.
#[derive(Debug, Clone)]
pub(super) struct Presumed {
    pub(super) api: ApiKind,
    pub(super) limit: LimitField,
    pub(super) streams: bool,
    pub(super) takes_schemas: bool,
    /// Its name in configurations, for what is known of its models.
    pub(super) provider: Arc<str>,
    /// Whether it is known to serve the Responses API.
    pub(super) serves_responses: bool,
}

/// What is known of a server and of each model on it.
pub(super) struct KnownCapabilities {
    presumed: Presumed,
    probe_timeout: Duration,
    server: watch::Sender<Finding>,
    models: Mutex<HashMap<Arc<str>, Capabilities>>,
    schemas: Mutex<SchemaRoute>,
    streams: Mutex<StreamTrials>,
}

/// What has been found out of a server that fails where a stream is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StreamTrials {
    /// How often a failure may still be laid to the stream; never after one was sent.
    left: u8,
    /// How often an answer came as a whole where a stream had failed just before.
    wholes: u8,
}

impl StreamTrials {
    /// Once may be chance.
    const ENOUGH: u8 = 2;

    const FIRST: Self = Self { left: 6, wholes: 0 };
}

/// By which API answers with a schema are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SchemaRoute {
    /// By the model's own API, which may turn out to ignore them.
    #[default]
    Presumed,
    /// By Chat Completions.
    Chat,
    /// By that of their model, since the other does no better.
    Settled,
}

/// Something that a refusal teaches of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adjustment {
    Schemas(Schemas),
    NoTemperature,
    Limit(LimitField),
    Streaming(Streaming),
}

impl Capabilities {
    /// Heeds a adjustment. None takes back an earlier one.
    pub(super) fn apply(&mut self, adjustment: Adjustment) {
        match adjustment {
            Adjustment::Schemas(schemas) => self.schemas = self.schemas.max(schemas),
            Adjustment::NoTemperature => self.takes_temperature = false,
            Adjustment::Limit(limit) => (self.limit, self.limit_is_certain) = (limit, true),
            Adjustment::Streaming(streaming) => self.streaming = streaming,
        }
    }
}

/// What is known of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// Nothing, and nobody is finding out.
    Unknown,
    /// A call is on its way that will tell.
    Probing,
    /// It has the Responses API, or has Chat Completions only.
    Known(Api),
}

/// The call that finds out for all others. Dropped without a finding, as by a call that failed or was given up, it
/// leaves the task to the next one.
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

    /// What is known of `model`.
    pub(super) fn capabilities(&self, model: &str) -> Capabilities {
        let known = self.models().get(model).copied();
        let mut capabilities = known.unwrap_or_else(|| self.presumed(model));
        if *self.server.borrow() == Finding::Known(Api::Chat) {
            capabilities.api = capabilities.api.or(Some(Api::Chat));
        }
        capabilities.schemas_by_chat = *self.schema_route() == SchemaRoute::Chat;
        if self.stream_trials().wholes >= StreamTrials::ENOUGH {
            capabilities.streaming = Streaming::Never;
        }
        capabilities
    }

    /// Remembers something of `model`.
    pub(super) fn update(&self, model: &Arc<str>, change: impl FnOnce(&mut Capabilities)) {
        let presumed = || self.presumed(model);
        change(self.models().entry(Arc::clone(model)).or_insert_with(presumed));
    }

    /// Remembers that `model` is reached by `api`.
    pub(super) fn reached(&self, model: &Arc<str>, api: Api) {
        self.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(api)));
        self.settle(api);
    }

    /// Remembers who it was that has no Responses API.
    pub(super) fn lacks_responses(&self, model: &Arc<str>, lack: Missing) {
        self.update(model, |capabilities| capabilities.api = Some(Api::Chat));
        self.settle(match lack {
            Missing::Server => Api::Chat,
            Missing::Model => Api::Responses,
        });
    }

    /// The first call to a server goes ahead and finds out which API it has; the others wait for that, for a short
    /// time. The call keeps the probe until it has its answer.
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

    /// Whether it is a server that is known to have the Responses API.
    pub(super) fn serves_responses(&self) -> bool {
        self.presumed.serves_responses
    }

    /// The server did not heed a schema in the Responses API: the next one goes to Chat Completions, where that is ours
    /// to choose.
    pub(super) fn tries_schemas_by_chat(&self) {
        let mut route = self.schema_route();
        let is_free = self.presumed.api == ApiKind::Auto && !self.presumed.serves_responses;
        if is_free && *route == SchemaRoute::Presumed {
            *route = SchemaRoute::Chat;
        }
    }

    /// Chat Completions do no better with schemas, or are not there.
    pub(super) fn keeps_schemas_where_they_are(&self) {
        *self.schema_route() = SchemaRoute::Settled;
    }

    /// Whether a failure may be laid to the stream that was wished for; each time that is said counts.
    pub(super) fn may_fail_on_streams(&self) -> bool {
        let mut trials = self.stream_trials();
        let may = trials.left > 0;
        trials.left = trials.left.saturating_sub(1);
        may
    }

    /// An answer came as a whole where a stream had failed. Where that happens again, streams are wished for no more.
    pub(super) fn answers_as_a_whole(&self) {
        self.stream_trials().wholes += 1;
    }

    /// The server streams: what it fails on from now on is something else.
    pub(super) fn streams(&self) {
        *self.stream_trials() = StreamTrials { left: 0, wholes: 0 };
    }

    fn stream_trials(&self) -> MutexGuard<'_, StreamTrials> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn schema_route(&self) -> MutexGuard<'_, SchemaRoute> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found first of a server stays: what a single model says later concerns that model.
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
                // Its strict schemas allow no lengths of strings.
                (true, "openai") => Schemas::WithoutLengths,
                (true, _) => Schemas::Whole,
            },
            schema_doubts: 2,
            schemas_by_chat: false,
            takes_temperature: takes(Feature::Temperature),
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
