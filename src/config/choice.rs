//! Which model is asked where nothing says it.

use std::collections::BTreeMap;
use std::fmt;

use crate::debate::{AgentSettings, ProviderSettings};
use crate::diagnostic::{Blame, Diagnostic};
use crate::llm::presets::DEFAULT_MODELS;

use super::endpoint::Outline;
use super::env::Environment;

/// The provider and the model that agents and judge have whose configuration names none, and why these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider.
    pub provider: &'static str,
    /// Its model.
    pub model: &'static str,
    /// Why.
    pub because: Because,
}

/// Why a provider was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// It is the first in the order whose key is there, in this environment variable.
    KeyIsSet(String),
    /// No key of any is there: it is the first in the order.
    NoKeyIsSet,
}

impl ModelChoice {
    /// The first provider whose key is there, with the one model that is listed for it. One for all: nothing is sent
    /// to a second provider because its key happens to be there as well.
    pub(super) fn of(configured: &BTreeMap<String, ProviderSettings>, environment: &Environment) -> Self {
        let with_key = DEFAULT_MODELS.iter().find_map(|(provider, model)| {
            let variable = Outline::of(provider, configured)?.api_key_env()?;
            let because = Because::KeyIsSet(variable.to_owned());
            environment.has(variable).then_some(Self { provider, model, because })
        });
        with_key.unwrap_or_else(|| Self::first(Because::NoKeyIsSet))
    }

    fn first(because: Because) -> Self {
        let (provider, model) = DEFAULT_MODELS[0];
        Self { provider, model, because }
    }

    /// As an error, where no key is there to make a call with.
    ///
    /// # Errors
    /// The variables of which one is needed.
    pub fn callable(&self) -> Result<(), NoKey> {
        match self.because {
            Because::KeyIsSet(_) => Ok(()),
            Because::NoKeyIsSet => Err(NoKey),
        }
    }
}

/// Why, to be read after what was chosen.
impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyIsSet(variable) => write!(f, "{variable} is set"),
            Self::NoKeyIsSet => f.write_str("assumed, as no API key is set"),
        }
    }
}

/// The first line of a run.
impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, model, because } = self;
        write!(f, "No model is configured: {model} of {provider} is used ({because}).")
    }
}

/// No model is configured, and there is no key to ask one with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no API key is set, and nothing says which model to ask")]
pub struct NoKey;

impl Diagnostic for NoKey {
    fn blame(&self) -> Blame {
        Blame::Configuration
    }

    fn hint(&self) -> Option<String> {
        let none = BTreeMap::new();
        let variables = DEFAULT_MODELS.iter().filter_map(|(name, _)| Outline::of(name, &none)?.api_key_env());
        let variables: Vec<&str> = variables.collect();
        Some(format!(
            "put one of {} into the environment or a `.env` file; or try `--offline`, which needs no key; or name \
             provider and model in a configuration",
            variables.join(", ")
        ))
    }
}

/// Provider and model, for agents that are given them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) provider: String,
    pub(super) model: String,
}

impl Served {
    /// The same as an agent.
    pub(super) fn like(agent: &AgentSettings) -> Self {
        Self { provider: agent.provider.clone(), model: agent.model.clone() }
    }

    /// What the list of default models names for a provider.
    pub(super) fn by(provider: &str) -> Option<Self> {
        let (provider, model) = DEFAULT_MODELS.iter().find(|(name, _)| *name == provider)?;
        Some(Self { provider: (*provider).to_owned(), model: (*model).to_owned() })
    }

    /// An agent with these.
    pub(super) fn lent_to(&self, agent: AgentSettings) -> AgentSettings {
        AgentSettings { provider: self.provider.clone(), model: self.model.clone(), ..agent }
    }
}

impl From<&ModelChoice> for Served {
    fn from(choice: &ModelChoice) -> Self {
        Self { provider: choice.provider.to_owned(), model: choice.model.to_owned() }
    }
}
