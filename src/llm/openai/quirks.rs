//! What is learned of a model while it is used, so that nothing is refused twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::debate::ApiKind;

/// One of the two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Chat,
}

/// What is known of a model on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quirks {
    /// The API it is reached by; unknown until the first answer.
    pub(super) api: Option<Api>,
    /// Whether it takes a schema for its answer, as far as is known.
    pub(super) takes_schema: bool,
    /// Whether it takes a temperature, as far as is known.
    pub(super) takes_temperature: bool,
}

/// How long calls wait for the finding of the first one. A server that lacks the Responses API says so at once; one
/// that has it answers when the model is done, and nobody is to wait for that: they go ahead with the same API.
const PATIENCE: Duration = Duration::from_millis(250);

/// Models of `OpenAI` that answer a schema with an error (platform.openai.com, "Structured outputs", supported models).
const WITHOUT_SCHEMA: [&str; 3] = ["gpt-4-turbo", "gpt-4-32k", "gpt-3.5"];

/// What is known of each model of a server.
pub(super) struct Learned {
    api: ApiKind,
    models: Mutex<HashMap<Arc<str>, Arc<Model>>>,
}

/// What is known of one model.
pub(super) struct Model {
    quirks: Mutex<Quirks>,
    probe: watch::Sender<Probe>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    Untried,
    Running,
    Settled,
}

impl Learned {
    pub(super) fn new(api: ApiKind) -> Self {
        Self { api, models: Mutex::default() }
    }

    pub(super) fn model(&self, name: &Arc<str>) -> Arc<Model> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || {
            let api = match self.api {
                ApiKind::Auto => None,
                ApiKind::Responses => Some(Api::Responses),
                ApiKind::Chat => Some(Api::Chat),
            };
            let quirks = Quirks { api, takes_schema: takes_schema(name), takes_temperature: true };
            let probe = if api.is_some() { Probe::Settled } else { Probe::Untried };
            Arc::new(Model { quirks: Mutex::new(quirks), probe: watch::Sender::new(probe) })
        };
        Arc::clone(models.entry(Arc::clone(name)).or_insert_with(fresh))
    }
}

impl Model {
    pub(super) fn quirks(&self) -> Quirks {
        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn learn(&self, change: impl FnOnce(&mut Quirks)) {
        change(&mut self.quirks.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The first call of a model goes ahead and finds out which API it is reached by; the others wait for that, for
    /// a short time.
    pub(super) async fn await_turn(&self) {
        let first = self.probe.send_if_modified(|probe| {
            let untried = *probe == Probe::Untried;
            if untried {
                *probe = Probe::Running;
            }
            untried
        });
        if !first {
            let mut receiver = self.probe.subscribe();
            // Out of patience is as good as settled: the call goes ahead.
            drop(timeout(PATIENCE, receiver.wait_for(|probe| *probe == Probe::Settled)).await);
        }
    }

    /// Ends the wait of the others, whatever the first call found.
    pub(super) fn settle(&self) {
        self.probe.send_if_modified(|probe| std::mem::replace(probe, Probe::Settled) != Probe::Settled);
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
        let learned = Learned::new(ApiKind::Auto);
        let model = learned.model(&Arc::from("m"));
        let start = tokio::time::Instant::now();
        model.await_turn().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        model.await_turn().await;
        assert_eq!(start.elapsed(), PATIENCE);
        model.settle();
        model.await_turn().await;
        assert_eq!(start.elapsed(), PATIENCE);
    }
}
