//! What is learned about a model while it is used: which API serves it, and what it does not take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::debate::ApiKind;
use crate::llm::Request;

use super::failure::Refusal;

/// One of the two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    /// `POST /responses`.
    Responses,
    /// `POST /chat/completions`.
    Chat,
}

/// Which API serves a model, and how certain that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// The user says so.
    Fixed(Api),
    /// Responses until the server is known to lack it.
    Untried,
    /// The server's answers say so.
    Found(Api),
}

/// How the JSON of an answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    /// With the schema, by the provider's structured output.
    Schema,
    /// By the prompt alone.
    Prompt,
}

/// What becomes of the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temperature {
    /// It is sent.
    Sent,
    /// The model takes none.
    LeftOut,
}

/// What Chat Completions calls the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputLimit {
    /// `max_completion_tokens`: OpenAI's newer name, which its reasoning models insist on.
    MaxCompletionTokens,
    /// `max_tokens`: the older name, which everybody else knows.
    MaxTokens,
}

impl OutputLimit {
    fn name(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// How a request is put to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    route: Route,
    /// Only where the request wants JSON.
    pub(super) format: AnswerFormat,
    pub(super) temperature: Temperature,
    /// Only in Chat Completions, and where the request has a limit.
    pub(super) limit: OutputLimit,
    /// The name to try when that one is refused; none once it was.
    other_limit: Option<OutputLimit>,
}

impl Manner {
    /// What is known of `model` before it is called.
    pub(super) fn of_unused(model: &str, provider: &str, api: ApiKind) -> Self {
        let (limit, other) = match provider {
            "openai" => (OutputLimit::MaxCompletionTokens, OutputLimit::MaxTokens),
            _ => (OutputLimit::MaxTokens, OutputLimit::MaxCompletionTokens),
        };
        Self {
            route: match api {
                ApiKind::Auto => Route::Untried,
                ApiKind::Responses => Route::Fixed(Api::Responses),
                ApiKind::Chat => Route::Fixed(Api::Chat),
            },
            format: if lacks_structured_output(model) { AnswerFormat::Prompt } else { AnswerFormat::Schema },
            temperature: Temperature::Sent,
            limit,
            other_limit: Some(other),
        }
    }

    /// The API to send to.
    pub(super) fn api(self) -> Api {
        match self.route {
            Route::Fixed(api) | Route::Found(api) => api,
            Route::Untried => Api::Responses,
        }
    }

    /// Whether the API is settled.
    pub(super) fn is_settled(self) -> bool {
        self.route != Route::Untried
    }

    /// The same, its API confirmed by an answer.
    pub(super) fn confirmed(self) -> Self {
        match self.route {
            Route::Untried => Self { route: Route::Found(Api::Responses), ..self },
            Route::Fixed(_) | Route::Found(_) => self,
        }
    }

    /// How to put `request` after the server refused it in this manner; nothing when no other manner would help. Each
    /// step gives up one thing for good, so that a request is put a handful of times at most, and a server bills
    /// none of those it refuses.
    pub(super) fn after(self, refusal: &Refusal, request: &Request) -> Option<Self> {
        if self.route == Route::Untried && refusal.lacks_responses() {
            return Some(Self { route: Route::Found(Api::Chat), ..self });
        }
        // Whoever complains about a parameter has the route.
        let known = self.confirmed();
        if request.answer.is_some() && self.format == AnswerFormat::Schema && refusal.refuses_format() {
            return Some(Self { format: AnswerFormat::Prompt, ..known });
        }
        if self.temperature == Temperature::Sent && refusal.refuses_parameter("temperature") {
            return Some(Self { temperature: Temperature::LeftOut, ..known });
        }
        let names_limit = self.api() == Api::Chat && request.max_tokens.is_some();
        let other = self.other_limit.filter(|_| names_limit && refusal.refuses_parameter(self.limit.name()))?;
        Some(Self { limit: other, other_limit: None, ..known })
    }
}

/// Models of OpenAI from before structured output, in the snapshots that are still served.
fn lacks_structured_output(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    matches!(model, "gpt-4" | "gpt-4-0314" | "gpt-4-0613" | "gpt-4-1106-preview" | "gpt-4-0125-preview")
        || ["gpt-4-32k", "gpt-4-turbo", "gpt-3.5"].iter().any(|older| model.starts_with(older))
}

/// What is known of one model. Its lock is held for the blink of an eye, never while something is awaited.
pub(super) struct ModelFacts {
    manner: Mutex<Manner>,
    /// Held by the call that finds out which API serves the model.
    pub(super) probe: tokio::sync::Mutex<()>,
}

impl ModelFacts {
    fn new(manner: Manner) -> Self {
        Self { manner: Mutex::new(manner), probe: tokio::sync::Mutex::new(()) }
    }

    /// How to put a request to the model, by what is known so far.
    pub(super) fn manner(&self) -> Manner {
        *lock(&self.manner)
    }

    /// Keeps what the step from `tried` to `found` taught, beside what other calls have taught meanwhile.
    pub(super) fn learn(&self, tried: Manner, found: Manner) {
        let mut manner = lock(&self.manner);
        if manner.route == Route::Untried {
            manner.route = found.route;
        }
        if found.format != tried.format {
            manner.format = found.format;
        }
        if found.temperature != tried.temperature {
            manner.temperature = found.temperature;
        }
        if found.limit != tried.limit {
            manner.limit = found.limit;
            manner.other_limit = found.other_limit;
        }
    }
}

/// The models that were used in this run.
pub(super) struct Models {
    provider: Arc<str>,
    api: ApiKind,
    known: Mutex<HashMap<Arc<str>, Arc<ModelFacts>>>,
}

impl Models {
    /// None yet.
    pub(super) fn new(provider: Arc<str>, api: ApiKind) -> Self {
        Self { provider, api, known: Mutex::default() }
    }

    /// What is known of `model`.
    pub(super) fn facts(&self, model: &Arc<str>) -> Arc<ModelFacts> {
        let mut known = lock(&self.known);
        let facts = known
            .entry(Arc::clone(model))
            .or_insert_with(|| Arc::new(ModelFacts::new(Manner::of_unused(model, &self.provider, self.api))));
        Arc::clone(facts)
    }
}

/// What is under the lock is whole at any moment, so that a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_models_lack_structured_output() {
        for (model, lacks) in [
            ("gpt-4", true),
            ("openai/gpt-4", true),
            ("gpt-4-0613", true),
            ("gpt-4-32k-0613", true),
            ("gpt-4-turbo-2024-04-09", true),
            ("openai/gpt-3.5-turbo", true),
            ("gpt-4o", false),
            ("gpt-4.1-mini", false),
            ("mistral/gpt-4", false),
        ] {
            assert_eq!(lacks_structured_output(model), lacks, "{model}");
        }
    }

    #[test]
    fn what_two_calls_learn_at_once_is_kept_together() {
        let start = Manner::of_unused("m", "local", ApiKind::Auto);
        let facts = ModelFacts::new(start);
        let chat = Manner { route: Route::Found(Api::Chat), ..start };
        facts.learn(start, chat);
        facts.learn(start, Manner { temperature: Temperature::LeftOut, ..start.confirmed() });
        facts.learn(chat, Manner { format: AnswerFormat::Prompt, ..chat });
        let learned = facts.manner();
        assert_eq!(learned.api(), Api::Chat, "the first finding stands");
        assert_eq!(learned.temperature, Temperature::LeftOut);
        assert_eq!(learned.format, AnswerFormat::Prompt);
        assert_eq!(learned.limit, OutputLimit::MaxTokens);
    }
}
