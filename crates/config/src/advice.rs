//! Warnings about the models in use, given before the first call.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use dialectic_base::provider::{HOST, OFFLINE};
use dialectic_engine::access::is_program;
use dialectic_engine::agent::{facts_of, limits_of};
use dialectic_llm::models::{current_near, family, named};
use dialectic_record::debate::{AgentSettings, Settings};

/// Warns of models that are retired on `day`, and of output limits above a model's maximum.
pub fn model_warnings(settings: &Settings, day: NaiveDate) -> Vec<String> {
    let mut retired: BTreeMap<(&str, &str), (NaiveDate, Vec<&str>)> = BTreeMap::new();
    let mut warnings = Vec::new();
    for agent in settings.everybody() {
        let since = facts_of(agent, settings).and_then(|facts| facts.retires).filter(|since| *since <= day);
        if let Some(since) = since {
            let of_model = retired.entry((&agent.provider, &agent.model)).or_insert((since, Vec::new()));
            of_model.1.push(agent.id.as_str());
        }
        let is_program = is_program(&agent.provider, &settings.providers);
        if !agent.tools.is_empty() && (is_program || agent.provider == HOST) {
            let provider = if is_program { "a program, which" } else { "the host, which" };
            warnings.push(format!("`{}` has tools, but its provider is {provider} supports none", agent.id));
        }
        if let Some((asked, most)) = agent.max_tokens.zip(limits_of(agent, settings).max_output)
            && asked > most
        {
            let AgentSettings { id, model, .. } = agent;
            warnings
                .push(format!("`{id}` may write {asked} tokens (`maxTokens`), but `{model}` writes at most {most}"));
        }
    }
    for ((provider, model), (since, users)) in retired {
        let near = named(&current_near(provider, model, day));
        let instead = if near.is_empty() { String::new() } else { format!("; similar current models: {near}") };
        let users = users.join(", ");
        warnings.push(format!(
            "`{model}` was retired by {provider} on {since}: its calls will fail (used by {users}){instead}"
        ));
    }
    warnings
}

/// A warning if all agents and the judge belong to one family of models, with advice. `None` if they do not, if their
/// family is unknown, or if no model is called.
pub fn one_family(settings: &Settings) -> Option<String> {
    let called = settings.everybody().filter(|agent| agent.provider != OFFLINE);
    let families: Option<BTreeSet<&str>> = called.map(|agent| family(&agent.model)).collect();
    let families: Vec<&str> = families?.into_iter().collect();
    let [family] = families.as_slice() else { return None };
    Some(format!(
        "All agents and the judge belong to one family of models ({family}). Mixed panels debate better: \
             give one agent, or the judge, a `provider` and `model` of another family."
    ))
}
