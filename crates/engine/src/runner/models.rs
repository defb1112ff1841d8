//! Builds callable models from settings.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::access::{Environment, endpoint, is_program, program};
use dialectic_base::provider::{HOST, OFFLINE};
use dialectic_llm::command::CommandModel;
use dialectic_llm::offline::{OfflineOptions, OfflineProvider};
use dialectic_llm::openai::{OpenAiClient, http_client, http_client_under_limit};
use dialectic_llm::{ChatModel, HostModel};
use dialectic_record::debate::ProviderSettings;

use super::ServicesError;

/// The clients of the providers in use, one each, so that connections are shared.
pub struct Models {
    by_provider: Vec<(String, Arc<dyn ChatModel>)>,
}

impl Models {
    /// Builds the clients of `used`, at least one provider in use; `configured` are the providers of the file.
    /// `has_limit` is whether there is a cost limit, and `project` lists directories where programs are not searched.
    ///
    /// # Errors
    /// A provider cannot be called.
    pub fn build<'a>(
        used: impl IntoIterator<Item = &'a str>,
        configured: &BTreeMap<String, ProviderSettings>,
        environment: &Environment,
        has_limit: bool,
        project: &[PathBuf],
    ) -> Result<Self, ServicesError> {
        let mut models = Self { by_provider: Vec::new() };
        let mut http = None;
        for name in used {
            if models.by_provider.iter().any(|(provider, _)| provider == name) {
                continue;
            }
            let chat: Arc<dyn ChatModel> = if name == OFFLINE {
                Arc::new(OfflineProvider::new(rehearsal_options(environment)?))
            } else if name == HOST {
                Arc::new(HostModel::default())
            } else if is_program(name, configured) {
                Arc::new(CommandModel::new(program(name, configured, environment, project)?))
            } else {
                let http = match &http {
                    Some(http) => http,
                    None => http.insert(if has_limit {
                        http_client_under_limit(environment.certificate_file())?
                    } else {
                        http_client(environment.certificate_file())?
                    }),
                };
                let endpoint = endpoint(name, configured, environment)?;
                Arc::new(OpenAiClient::new(endpoint, http)?)
            };
            models.by_provider.push((name.to_owned(), chat));
        }
        Ok(models)
    }

    /// One model for every provider.
    pub(super) fn only(model: Arc<dyn ChatModel>) -> Self {
        Self { by_provider: vec![(String::new(), model)] }
    }

    /// The client of a provider in use.
    pub fn of(&self, name: &str) -> Arc<dyn ChatModel> {
        let found = self.by_provider.iter().find(|(provider, _)| provider == name);
        let (_, chat) = found.unwrap_or_else(|| &self.by_provider[0]);
        Arc::clone(chat)
    }
}

/// The clients that the debates of a process share.
#[derive(Default)]
pub(super) struct SharedModels(Mutex<HashMap<String, Arc<dyn ChatModel>>>);

impl SharedModels {
    /// Like [`Models::build`], but builds only missing clients.
    pub(super) fn models<'a>(
        &self,
        used: impl IntoIterator<Item = &'a str>,
        configured: &BTreeMap<String, ProviderSettings>,
        environment: &Environment,
        has_limit: bool,
        project: &[PathBuf],
    ) -> Result<Models, ServicesError> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut models = Models { by_provider: Vec::new() };
        for name in used {
            if models.by_provider.iter().any(|(provider, _)| provider == name) {
                continue;
            }
            // Settings always have a JSON form.
            let settings = serde_json::to_string(&configured.get(name)).unwrap_or_default();
            let key = format!("{name} {has_limit} {project:?} {settings}");
            let chat = if let Some(chat) = shared.get(&key) {
                Arc::clone(chat)
            } else {
                let built = Models::build([name], configured, environment, has_limit, project)?;
                Arc::clone(shared.entry(key).or_insert(built.of(name)))
            };
            models.by_provider.push((name.to_owned(), chat));
        }
        Ok(models)
    }
}

fn rehearsal_options(environment: &Environment) -> Result<OfflineOptions, ServicesError> {
    Ok(OfflineOptions {
        seed: environment.offline_seed()?.unwrap_or_default(),
        latency: environment.offline_latency()?.unwrap_or_default(),
        fail_every: environment
            .offline_fail_every()?
            .and_then(|n| NonZeroU32::new(u32::try_from(n).unwrap_or(u32::MAX))),
    })
}
