//! From settings to models that can be called.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::config::{Environment, endpoint};
use crate::debate::{AgentSettings, Settings};
use crate::error::Error;
use crate::llm::ChatModel;
use crate::llm::offline::{Rehearsal, RehearsalOptions};
use crate::llm::openai::{Endpoint, OpenAiClient, http_client};
use crate::llm::presets::OFFLINE;

/// The clients of the providers in use, each built once: connections are shared.
pub(super) struct Models {
    by_provider: Vec<(String, Arc<dyn ChatModel>)>,
}

impl Models {
    pub(super) fn build(settings: &Settings, environment: &Environment) -> Result<Self, Error> {
        let mut models = Self { by_provider: Vec::new() };
        let mut http = None;
        for agent in settings.agents.iter().chain([&settings.judge]) {
            if models.by_provider.iter().any(|(provider, _)| *provider == agent.provider) {
                continue;
            }
            let chat: Arc<dyn ChatModel> = if agent.provider == OFFLINE {
                Arc::new(Rehearsal::new(rehearsal_options(environment)?))
            } else {
                let http = match &http {
                    Some(http) => http,
                    None => http.insert(http_client()?),
                };
                let resolved = endpoint(&agent.provider, &settings.providers, environment)?;
                let endpoint = Endpoint {
                    name: resolved.name.as_str().into(),
                    base_url: resolved.base_url,
                    api_key: resolved.api_key,
                    headers: resolved.headers,
                    api: resolved.api,
                };
                Arc::new(OpenAiClient::new(endpoint, http.clone())?)
            };
            models.by_provider.push((agent.provider.clone(), chat));
        }
        Ok(models)
    }

    /// The client of an agent's provider. Every provider in the settings has one.
    pub(super) fn of(&self, agent: &AgentSettings) -> Arc<dyn ChatModel> {
        let found = self.by_provider.iter().find(|(provider, _)| *provider == agent.provider);
        let (_, chat) = found.unwrap_or_else(|| &self.by_provider[0]);
        Arc::clone(chat)
    }
}

fn rehearsal_options(environment: &Environment) -> Result<RehearsalOptions, Error> {
    Ok(RehearsalOptions {
        seed: environment.offline_seed()?.unwrap_or_default(),
        latency: environment.offline_latency()?.unwrap_or_default(),
        fail_every: environment
            .offline_fail_every()?
            .and_then(|n| NonZeroU32::new(u32::try_from(n).unwrap_or(u32::MAX))),
    })
}
