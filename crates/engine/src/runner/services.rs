//! What debates depend on: environment, models, and past debates.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::access::{
    Environment, MissingKeys, ProviderAccessError, VariableError, endpoint, is_program, known_keys, missing_keys,
    program, program_warnings, routed_providers,
};
use crate::agent::{Panel, PanelError, price_of, timeouts_of};
use crate::engine::{BudgetError, check_prices};
use dialectic_base::provider::{HOST, OFFLINE};
use dialectic_base::secrets::KnownKeys;
use dialectic_llm::command::CommandModel;
use dialectic_llm::offline::OfflineProvider;
use dialectic_llm::openai::{ClientError, HttpClientError, OpenAiClient, http_client, http_client_under_limit};
use dialectic_llm::{Caller, CallerLimits, ChatModel, ConcurrencyLimit, HostModel};
use dialectic_record::debate::{Material, Standings};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{AgentSettings, ProviderSettings, Settings};

/// The clients of providers, by their configuration.
type SharedModels = Mutex<HashMap<String, Arc<dyn ChatModel>>>;

/// The environment, the models and the past debates that new debates use.
#[derive(Clone)]
pub struct Services {
    pub(super) environment: Environment,
    model: Option<Arc<dyn ChatModel>>,
    /// The clients that all debates share; `None` unless [`sharing_models`](Self::sharing_models) was called.
    shared: Option<Arc<SharedModels>>,
    pub(super) past: Option<Arc<dyn DebateHistory>>,
}

/// Why the agents and the judge cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ServicesError {
    /// Keys are missing.
    #[error(transparent)]
    Keys(#[from] MissingKeys),
    /// An environment variable has an invalid value.
    #[error(transparent)]
    Environment(#[from] VariableError),
    /// A provider cannot be called as configured.
    #[error(transparent)]
    Endpoint(#[from] ProviderAccessError),
    /// A provider's client cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The HTTP client cannot be built.
    #[error(transparent)]
    Http(#[from] HttpClientError),
    /// The cost limit cannot be enforced.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A role or a prompt cannot be used.
    #[error(transparent)]
    Panel(#[from] PanelError),
}

impl Services {
    /// Services that call the providers in the settings, with keys and addresses from `environment`.
    pub fn new(environment: Environment) -> Self {
        Self { environment, model: None, shared: None, past: None }
    }

    /// Uses `model` for every provider, without keys.
    pub fn with_model(self, model: Arc<dyn ChatModel>) -> Self {
        Self { model: Some(model), ..self }
    }

    /// Shares provider clients among all debates, including their connections and what they have learned about servers.
    pub fn sharing_models(self) -> Self {
        Self { shared: Some(Arc::default()), ..self }
    }

    /// Lets debates use the results of past debates.
    pub fn with_past(self, past: Arc<dyn DebateHistory>) -> Self {
        Self { past: Some(past), ..self }
    }

    /// Builds the agents and the judge for these settings.
    ///
    /// # Errors
    ///
    /// Returns an error if an agent or the judge cannot be called. Nothing has been spent in that case.
    pub fn panel(&self, protocol: &Protocol, settings: &Settings) -> Result<Panel, ServicesError> {
        let environment = &self.environment;
        check_prices(settings)?;
        let mut warnings = Vec::new();
        let models = if let Some(model) = &self.model {
            Models::only(Arc::clone(model))
        } else {
            missing_keys(settings, environment)?;
            warnings = self.program_warnings(settings)?;
            let used = settings.everybody().map(|agent| agent.provider.as_str());
            match &self.shared {
                Some(shared) => Models::shared(shared, used, settings, environment)?,
                None => Models::of_settings(used, settings, environment)?,
            }
        };
        let debate = &settings.debate;
        let limits = CallerLimits {
            in_flight: Arc::new(ConcurrencyLimit::at_most(debate.max_concurrency as usize)),
            max_retries: debate.max_retries,
        };
        let mut panel = Panel::build(protocol, settings, |agent| Caller {
            chat: models.of(&agent.provider),
            provider: agent.provider.as_str().into(),
            price: price_of(agent, settings),
            timeouts: timeouts_of(debate),
            silence: None,
            limits: limits.clone(),
            account: None,
            observer: None,
        })?;
        panel.warnings.splice(0..0, warnings);
        panel.routed = routed_providers(settings, environment);
        panel.withheld = self.withheld();
        panel.environment = environment.clone();
        panel.keys = self.keys(settings);
        Ok(panel)
    }

    pub(super) fn program_warnings(&self, settings: &Settings) -> Result<Vec<String>, ProviderAccessError> {
        let used = settings.everybody().map(|agent| agent.provider.as_str());
        program_warnings(used, &settings.providers, &self.environment, &project_of(settings))
    }

    pub(super) fn keys(&self, settings: &Settings) -> KnownKeys {
        known_keys(&settings.providers, &self.environment)
    }

    /// The file with keys, which agents must not see.
    pub(super) fn withheld(&self) -> Option<PathBuf> {
        self.environment.file().map(std::path::absolute).and_then(Result::ok)
    }
}

/// The project's directories. Programs in them are not used as providers, because they may come with an untrusted
/// repository.
fn project_of(settings: &Settings) -> Vec<PathBuf> {
    [&settings.base_dir, &settings.context_dir].into_iter().flatten().cloned().collect()
}

/// The results of past debates. Debates and their forecasts read them, and each debate adds its own at its end. The
/// methods may block the thread.
///
/// # Errors
///
/// The user sees the error, and the debate continues without the missing results.
pub trait DebateHistory: Send + Sync {
    /// The past results of the agents' models in their roles.
    ///
    /// # Errors
    ///
    /// Returns an error if the results cannot be read.
    fn standings(&self, agents: &[AgentSettings]) -> Result<Standings, String>;

    /// Past decisions on the same subject, each with its source; empty if the debate must not see them.
    ///
    /// # Errors
    ///
    /// Returns an error if the decisions cannot be read.
    fn material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, String>;

    /// Indexes a debate that has ended with these settings, if later debates can use it.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be added.
    fn take_in(&self, settings: &Settings) -> Result<(), String>;
}

/// The clients of the providers in use, one per provider, so that connections are shared.
pub struct Models {
    by_provider: Vec<(String, Arc<dyn ChatModel>)>,
}

impl Models {
    /// Builds a client for each provider named in `used`. `configured` are the providers in the settings, and
    /// `has_limit` says whether there is a cost limit. Programs in the `project` directories are not used.
    ///
    /// # Errors
    ///
    /// Returns an error if a provider cannot be called.
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
                Arc::new(rehearsal(environment)?)
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

    fn of_settings<'a>(
        used: impl IntoIterator<Item = &'a str>,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, ServicesError> {
        let has_limit = settings.max_cost().is_some();
        Self::build(used, &settings.providers, environment, has_limit, &project_of(settings))
    }

    fn shared<'a>(
        shared: &SharedModels,
        used: impl IntoIterator<Item = &'a str>,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, ServicesError> {
        let (has_limit, project) = (settings.max_cost().is_some(), project_of(settings));
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut models = Self { by_provider: Vec::new() };
        for name in used {
            if models.by_provider.iter().any(|(provider, _)| provider == name) {
                continue;
            }
            // Settings can always be serialized as JSON.
            let provider = serde_json::to_string(&settings.providers.get(name)).unwrap_or_default();
            let key = format!("{name} {has_limit} {project:?} {provider}");
            let chat = if let Some(chat) = shared.get(&key) {
                Arc::clone(chat)
            } else {
                let built = Self::of_settings([name], settings, environment)?;
                Arc::clone(shared.entry(key).or_insert(built.of(name)))
            };
            models.by_provider.push((name.to_owned(), chat));
        }
        Ok(models)
    }

    pub(super) fn only(model: Arc<dyn ChatModel>) -> Self {
        Self { by_provider: vec![(String::new(), model)] }
    }

    /// The client of the provider `name`, which must be in use.
    pub fn of(&self, name: &str) -> Arc<dyn ChatModel> {
        let found = self.by_provider.iter().find(|(provider, _)| provider == name);
        let (_, chat) = found.unwrap_or_else(|| &self.by_provider[0]);
        Arc::clone(chat)
    }
}

fn rehearsal(environment: &Environment) -> Result<OfflineProvider, ServicesError> {
    let seed = environment.offline_seed()?.unwrap_or_default();
    let latency = environment.offline_latency()?.unwrap_or_default();
    let every = environment.offline_fail_every()?;
    let fail_every = every.and_then(|n| NonZeroU32::new(u32::try_from(n).unwrap_or(u32::MAX)));
    Ok(OfflineProvider::new(seed, latency, fail_every))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use dialectic_base::money::Usd;
    use dialectic_record::settings::default_settings;

    use super::*;

    /// A server that answers every request and keeps connections open, and its number of connections.
    fn patient_server() -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, opened) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&opened);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || answer_all(connection));
            }
        });
        (address, opened)
    }

    fn answer_all(mut connection: TcpStream) {
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while let Some(read) = connection.read(&mut piece).ok().filter(|read| *read > 0) {
            seen.extend_from_slice(&piece[..read]);
            if seen.ends_with(b"\r\n\r\n") {
                seen.clear();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                connection.write_all(answer).unwrap();
            }
        }
    }

    #[tokio::test]
    async fn under_a_limit_connections_are_kept_for_two_seconds_at_most() {
        let opened = async |limit| {
            let (address, opened) = patient_server();
            let url = format!("http://{address}/v1");
            let environment = Environment::from_pairs([("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", url.as_str())]);
            let mut settings = default_settings();
            settings.debate.budget.max_cost_usd = limit;
            let protocol = Protocol::named(&settings.debate.protocol).unwrap();
            let panel = Services::new(environment).panel(protocol, &settings).unwrap();
            for wait in [0, 0, 2200] {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                panel.judge.caller.chat.reach().await.unwrap();
            }
            opened.load(Ordering::SeqCst)
        };
        assert_eq!(tokio::join!(opened(None), opened(Some(Usd::from_dollars(1.0)))), (1, 2));
    }
}
