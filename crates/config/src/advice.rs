//! Advice: warnings about the models in use before the first call, and what a misspelled name may mean.

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
            let provider = if is_program { "a program" } else { "the host" };
            warnings.push(format!("`{}` has tools, but its provider is {provider}, which supports none", agent.id));
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

/// Names below this score are not similar.
const SIMILAR: f64 = 0.6;

/// The candidate most similar to `name`, ignoring case and separators; `None` if none is close.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// `(did you mean …?)`, or the list of candidates.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(candidate) = nearest(name, candidates.clone()) {
        return format!("(did you mean `{candidate}`?)");
    }
    let known = list(candidates);
    if known.is_empty() { String::new() } else { format!("(known: {known})") }
}

/// The names in backquotes, separated by commas.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_letter_case_and_separator_are_recognised() {
        let keys = ["temperature", "toolCallLimit", "tools"];
        assert_eq!(nearest("temprature", keys), Some("temperature"));
        assert_eq!(nearest("tool_call_limit", keys), Some("toolCallLimit"));
        assert_eq!(nearest("TOOLS", keys), Some("tools"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(suggestion("banana", ["a", "b"]), "(known: `a`, `b`)");
    }
}
