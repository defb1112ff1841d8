//! What the settings of a debate say of a model, over what is listed of it.

use std::time::Duration;

use dialectic_base::money::Price;
use dialectic_llm::Timeouts;
use dialectic_llm::models::{ModelFacts, built_in_price, facts, with_cache_writes};
use dialectic_record::debate::{AgentSettings, DebateSettings, ModelLimits, Settings};

/// What an agent's model costs: as configured, else as listed. A list price is the provider's own: at another
/// address of the user's the price is unknown. The terms of the run beat both.
pub fn price_of(agent: &AgentSettings, settings: &Settings) -> Option<Price> {
    let listed = || {
        let is_own = !settings.elsewhere.contains(&agent.provider);
        is_own.then(|| built_in_price(&agent.provider, &agent.model)).flatten()
    };
    let price = match settings.terms.prices.get(&(agent.provider.clone(), agent.model.clone())) {
        Some(price) => *price,
        None => settings.prices.get(&agent.model).copied().or_else(listed),
    };
    price.map(|price| with_cache_writes(price, &agent.provider, &agent.model))
}

/// What is listed of an agent's model, where its calls go to the provider itself.
pub fn facts_of(agent: &AgentSettings, settings: &Settings) -> Option<&'static ModelFacts> {
    if settings.elsewhere.contains(&agent.provider) { None } else { facts(&agent.provider, &agent.model) }
}

/// How much an agent's model reads and writes: as configured, else as listed.
pub fn limits_of(agent: &AgentSettings, settings: &Settings) -> ModelLimits {
    let configured = settings.models.get(&agent.model).copied().unwrap_or_default();
    let listed = facts_of(agent, settings);
    ModelLimits {
        context_window: configured.context_window.or_else(|| listed?.context_window),
        max_output: configured.max_output.or_else(|| listed?.max_output),
    }
}

/// How long the models of a debate may keep silent: the same for agents and judge.
pub fn timeouts_of(debate: &DebateSettings) -> Timeouts {
    Timeouts {
        first_token: Duration::from_millis(debate.call_timeout),
        idle: Duration::from_millis(debate.idle_timeout),
    }
}
