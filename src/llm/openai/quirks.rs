//! What is learned of a model while it is used, so that nothing is refused twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::debate::ApiKind;

use super::reasoning::begins_within;

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
pub(super) enum Lack {
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
pub(super) struct Quirks {
    /// The API it is reached by; unknown until it answered, or its server turned out to have only one.
    pub(super) api: Option<Api>,
    /// Whether it takes a schema for its answer, as far as is known.
    pub(super) takes_schema: bool,
    /// Whether it takes a temperature, as far as is known.
    pub(super) takes_temperature: bool,
    /// What Chat Completions call its output limit, as far as is known.
    pub(super) limit: LimitField,
    /// How it streams, as far as is known.
    pub(super) streaming: Streaming,
    /// Whether its answers begin in the midst of reasoning, as far as is known: what streams is held back until that has
    /// ended, so that nobody sees it.
    pub(super) begins_within: bool,
}

/// How long calls wait for the finding of the first one. A server that lacks the Responses API says so at once; one
/// that has it answers when the model is done, and nobody is to wait for that: they go ahead with the same API.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);
/// The same for a server on this machine, from which a refusal takes no time to arrive.
pub(super) const LOOPBACK_PATIENCE: Duration = Duration::from_millis(60);

/// Models of `OpenAI` that answer a schema with an error (platform.openai.com, "Structured outputs", supported models).
const WITHOUT_SCHEMA: [&str; 3] = ["gpt-4-turbo", "gpt-4-32k", "gpt-3.5"];

/// What is taken for granted of every model on a server, until one of them says otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Presumed {
    pub(super) api: ApiKind,
    pub(super) limit: LimitField,
    pub(super) streams: bool,
    pub(super) takes_schemas: bool,
}

/// What is known of a server and of each model on it.
pub(super) struct Learned {
    presumed: Presumed,
    patience: Duration,
    server: watch::Sender<Finding>,
    models: Mutex<HashMap<Arc<str>, Quirks>>,
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
pub(super) struct Probe<'a>(&'a Learned);

impl Drop for Probe<'_> {
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

impl Learned {
    pub(super) fn new(presumed: Presumed, patience: Duration) -> Self {
        Self { presumed, patience, server: watch::Sender::new(Finding::Unknown), models: Mutex::default() }
    }

    /// What is known of `model`.
    pub(super) fn quirks(&self, model: &str) -> Quirks {
        let known = self.models().get(model).copied();
        let mut quirks = known.unwrap_or_else(|| self.presumed(model));
        if *self.server.borrow() == Finding::Known(Api::Chat) {
            quirks.api = quirks.api.or(Some(Api::Chat));
        }
        quirks
    }

    /// Remembers something of `model`.
    pub(super) fn learn(&self, model: &Arc<str>, change: impl FnOnce(&mut Quirks)) {
        let presumed = || self.presumed(model);
        change(self.models().entry(Arc::clone(model)).or_insert_with(presumed));
    }

    /// Remembers that `model` is reached by `api`.
    pub(super) fn reached(&self, model: &Arc<str>, api: Api) {
        self.learn(model, |quirks| quirks.api = Some(api));
        self.settle(api);
    }

    /// Remembers who it was that has no Responses API.
    pub(super) fn lacks_responses(&self, model: &Arc<str>, lack: Lack) {
        self.learn(model, |quirks| quirks.api = Some(Api::Chat));
        self.settle(match lack {
            Lack::Server => Api::Chat,
            Lack::Model => Api::Responses,
        });
    }

    /// The first call to a server goes ahead and finds out which API it has; the others wait for that, for a short
    /// time. The call keeps the probe until it has its answer.
    pub(super) async fn await_turn(&self, model: &str) -> Option<Probe<'_>> {
        let deadline = Instant::now() + self.patience;
        let mut findings = self.server.subscribe();
        while self.quirks(model).api.is_none() && !matches!(*findings.borrow(), Finding::Known(_)) {
            if self.claim() {
                return Some(Probe(self));
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

    /// What was found first of a server stays: what a single model says later concerns that model.
    fn settle(&self, api: Api) {
        self.server.send_if_modified(|finding| {
            let open = !matches!(finding, Finding::Known(_));
            if open {
                *finding = Finding::Known(api);
            }
            open
        });
    }

    fn presumed(&self, model: &str) -> Quirks {
        Quirks {
            api: match self.presumed.api {
                ApiKind::Auto => None,
                ApiKind::Responses => Some(Api::Responses),
                ApiKind::Chat => Some(Api::Chat),
            },
            takes_schema: self.presumed.takes_schemas && takes_schema(model),
            takes_temperature: true,
            limit: self.presumed.limit,
            streaming: if self.presumed.streams { Streaming::WithUsage } else { Streaming::Never },
            begins_within: begins_within(model),
        }
    }

    fn models(&self) -> MutexGuard<'_, HashMap<Arc<str>, Quirks>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn takes_schema(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    let original = model == "gpt-4" || model.strip_prefix("gpt-4-").is_some_and(|rest| rest.starts_with('0'));
    !original && !WITHOUT_SCHEMA.iter().any(|name| model.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presumed(api: ApiKind) -> Presumed {
        Presumed { api, limit: LimitField::MaxTokens, streams: true, takes_schemas: true }
    }

    #[test]
    fn the_first_generations_take_no_schema() {
        for model in ["gpt-4", "gpt-4-0613", "openai/gpt-4", "gpt-4-turbo-2024-04-09", "gpt-3.5-turbo", "gpt-4-32k"] {
            assert!(!takes_schema(model), "{model}");
        }
        for model in ["gpt-4o", "gpt-4.1-mini", "gpt-5", "mistral-large", "openai/gpt-4o-mini"] {
            assert!(takes_schema(model), "{model}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_for_the_first_but_not_for_long() {
        let learned = Learned::new(presumed(ApiKind::Auto), PATIENCE);
        let start = Instant::now();
        let probe = learned.await_turn("m").await;
        assert!(probe.is_some());
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(learned.await_turn("m").await.is_none());
        assert!(learned.await_turn("other model").await.is_none());
        assert_eq!(start.elapsed(), 2 * PATIENCE);
        learned.reached(&Arc::from("m"), Api::Responses);
        assert!(learned.await_turn("m").await.is_none());
        assert!(learned.await_turn("other model").await.is_none());
        assert_eq!(start.elapsed(), 2 * PATIENCE);
        drop(probe);
        assert!(learned.await_turn("m").await.is_none(), "a finding outlives its probe");
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_given_up_passes_to_one_who_waits() {
        let learned = Arc::new(Learned::new(presumed(ApiKind::Auto), PATIENCE));
        let probe = learned.await_turn("m").await;
        let waiting = tokio::spawn({
            let learned = Arc::clone(&learned);
            async move {
                let start = Instant::now();
                (learned.await_turn("m").await.is_some(), start.elapsed())
            }
        });
        tokio::time::sleep(PATIENCE / 5).await;
        drop(probe);
        assert_eq!(waiting.await.unwrap(), (true, PATIENCE / 5));
    }

    #[test]
    fn what_one_model_lacks_is_not_the_servers_lack() {
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        let learned = Learned::new(presumed(ApiKind::Auto), PATIENCE);
        learned.lacks_responses(&a, Lack::Model);
        assert_eq!((learned.quirks(&a).api, learned.quirks(&b).api), (Some(Api::Chat), None));
        learned.reached(&b, Api::Responses);
        learned.lacks_responses(&c, Lack::Server);
        assert_eq!((learned.quirks(&c).api, learned.quirks("d").api), (Some(Api::Chat), None));

        let learned = Learned::new(presumed(ApiKind::Auto), PATIENCE);
        learned.lacks_responses(&a, Lack::Server);
        assert_eq!(learned.quirks(&b).api, Some(Api::Chat));
    }

    #[test]
    fn a_configured_api_is_not_found_out() {
        for (kind, api) in [(ApiKind::Responses, Api::Responses), (ApiKind::Chat, Api::Chat)] {
            assert_eq!(Learned::new(presumed(kind), PATIENCE).quirks("m").api, Some(api));
        }
    }
}
