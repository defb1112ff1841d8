//! A model's settings over its listed facts.

use std::time::Duration;

use dialectic_base::money::Price;
use dialectic_llm::Timeouts;
use dialectic_llm::models::{ModelFacts, built_in_price, facts, with_cache_writes};
use dialectic_record::debate::{AgentSettings, DebateSettings, ModelLimits, Settings};

/// The configured price of an agent's model, otherwise the list price, which applies only to the provider's own
/// address.
pub fn price_of(agent: &AgentSettings, settings: &Settings) -> Option<Price> {
    let listed = || {
        let is_own = !settings.elsewhere.contains(&agent.provider);
        is_own.then(|| built_in_price(&agent.provider, &agent.model)).flatten()
    };
    let price = settings.prices.get(&agent.model).copied().or_else(listed);
    price.map(|price| with_cache_writes(price, &agent.provider, &agent.model))
}

/// The listed facts of an agent's model, if its calls go to the provider's own address.
pub fn facts_of(agent: &AgentSettings, settings: &Settings) -> Option<&'static ModelFacts> {
    if settings.elsewhere.contains(&agent.provider) { None } else { facts(&agent.provider, &agent.model) }
}

/// The configured token limits of an agent's model, otherwise those in the table.
pub fn limits_of(agent: &AgentSettings, settings: &Settings) -> ModelLimits {
    let configured = settings.models.get(&agent.model).copied().unwrap_or_default();
    let listed = facts_of(agent, settings);
    ModelLimits {
        context_window: configured.context_window.or_else(|| listed?.context_window),
        max_output: configured.max_output.or_else(|| listed?.max_output),
    }
}

/// The idle timeouts of the models in a debate, the same for agents and judge.
pub fn timeouts_of(debate: &DebateSettings) -> Timeouts {
    Timeouts {
        first_token: Duration::from_millis(debate.call_timeout),
        idle: Duration::from_millis(debate.idle_timeout),
    }
}
