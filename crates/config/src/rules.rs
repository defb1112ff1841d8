//! Checks what the schema cannot, resolves providers that are programs, and warns about models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use dialectic_base::figures::backquoted;
use dialectic_base::key_path::KeyPath;
use dialectic_base::price::Price;
use dialectic_base::provider::{HOST, OFFLINE, calls_models, preset};
use dialectic_engine::access::{header_fault, is_program, is_variable_name, url_fault};
use dialectic_engine::agent::{SUMMARIZATION_METHODS, facts_of, limits_of};
use dialectic_llm::command::program_preset;
use dialectic_llm::models::{current_near, family};
use dialectic_record::ids::ResultKind;
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{
    AgentSettings, ArenaSettings, DebateSettings, ModelLimits, ProviderSettings, Settings, SynthesisMethod,
};

use super::choice::{OwnProviders, with_provider};
use super::error::Diagnostics;
use super::layers::laid_over;
use super::schema::COMMAND;

pub(super) fn debate(tree: &Value, findings: &mut Diagnostics) -> DebateSettings {
    let mut tree = tree.clone();
    switch_on_summarization(&mut tree);
    laid_over(&DebateSettings::default(), &tree, &KeyPath::root().key("debate"), findings)
}

/// Enables summarization if `enabled` is missing but other keys of the section are set.
pub(super) fn switch_on_summarization(of: &mut Value) {
    let section = of.get_mut("summarization").and_then(Value::as_object_mut);
    if let Some(section) = section.filter(|section| section.values().any(|value| !value.is_null())) {
        let enabled = section.entry("enabled").or_insert(Value::Null);
        if enabled.is_null() {
            *enabled = true.into();
        }
    }
}

pub(super) fn check_debate(tree: &Value, findings: &mut Diagnostics) {
    let path = KeyPath::root().key("debate");
    findings.check_name(path.key("protocol"), tree["protocol"].as_str(), "protocol", &Protocol::names());
    check_summarization(tree, &path, findings);
}

pub(super) fn check_summarization(of: &Value, path: &KeyPath, findings: &mut Diagnostics) {
    let method = of["summarization"]["method"].as_str();
    let path = path.key("summarization").key("method");
    findings.check_name(path, method, "summarization method", SUMMARIZATION_METHODS);
}

pub(super) fn warn_of_idle_keys(debate: &DebateSettings, protocol: &Protocol, findings: &mut Diagnostics) {
    let has = |wanted| protocol.stages.iter().any(|stage| stage.info.yields == Some(wanted));
    let name = protocol.name;
    if debate.synthesis_method != SynthesisMethod::Judge {
        let method = debate.synthesis_method.name();
        findings
            .warn(format!("`{method}` in `debate.synthesisMethod` works like `judge`: the judge writes the solution"));
    }
    if debate.memory && !has(ResultKind::Material) {
        findings.warn(format!("`debate.memory` has no effect: the protocol `{name}` does not use past debates"));
    }
    if debate.arena != ArenaSettings::default() && !has(ResultKind::Agreement) {
        findings.warn(format!("`debate.arena` has no effect under the protocol `{name}`"));
    }
}

fn entries<'a>(section: &'a Value, path: &KeyPath) -> impl Iterator<Item = (&'a String, &'a Value, KeyPath)> {
    let path = path.clone();
    section.as_object().into_iter().flatten().map(move |(name, entry)| (name, entry, path.key(name)))
}

pub(super) fn providers(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, ProviderSettings> {
    let mut providers = BTreeMap::new();
    for (name, entry, path) in entries(section, &KeyPath::root().key("providers")) {
        if name.trim().is_empty() {
            findings.problem(path.clone(), "must have a name");
        }
        if let Some(program) = program(name, entry, &path, findings) {
            providers.insert(name.clone(), program);
            continue;
        }
        let preset = preset(name);
        let api = preset.map(|preset| preset.api).unwrap_or_default();
        let provider = laid_over(&ProviderSettings { api, ..ProviderSettings::default() }, entry, &path, findings);
        if !calls_models(name) {
            findings.warn(format!("`{path}` has no effect: the provider `{name}` does not call a server"));
        }
        match &provider.base_url {
            Some(url) => {
                if let Some(fault) = url_fault(url) {
                    findings.problem(path.key("baseUrl"), fault);
                }
            }
            None if preset.is_none() => {
                findings.problem(path.key("baseUrl"), "is missing: only built-in providers have a default");
            }
            None => {}
        }
        // Do not quote the value: some people put the key itself here.
        if provider.api_key_env.as_deref().is_some_and(|variable| !is_variable_name(variable)) {
            findings.problem(path.key("apiKeyEnv"), "must be the name of an environment variable, not the key itself");
        }
        for (header, value) in &provider.headers {
            if let Some(fault) = header_fault(header, value) {
                findings.problem(path.key("headers").key(header), fault);
            }
        }
        providers.insert(name.clone(), provider);
    }
    providers
}

pub(super) fn models(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, ModelLimits> {
    let limits = |(name, entry, path): (&String, &Value, KeyPath)| {
        (name.clone(), laid_over(&ModelLimits::default(), entry, &path, findings))
    };
    entries(section, &KeyPath::root().key("models")).map(limits).collect()
}

pub(super) fn prices(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, Price> {
    let mut prices = BTreeMap::new();
    for (model, entry, path) in entries(section, &KeyPath::root().key("prices")) {
        let price = laid_over(&Price::FREE, entry, &path, findings);
        // The cost limit assumes that cached input costs no more than other input.
        if price.cached_input_per_m_tok.is_some_and(|cached| cached > price.input_per_m_tok) {
            findings.problem(path.key("cachedInputPerMTok"), "must not exceed `inputPerMTok`");
        }
        prices.insert(model.clone(), price);
    }
    prices
}

/// Whether an entry of `providers` is a program: its `type` says so, or it has the name of a built-in program and no
/// `baseUrl`. Older configurations may use these names for servers.
fn describes_program(name: &str, entry: &Value) -> bool {
    entry["type"] == COMMAND || program_preset(name).is_some() && entry["baseUrl"].is_null()
}

pub(super) fn own_providers(tree: &Value) -> OwnProviders {
    let entries = tree["providers"].as_object().into_iter().flatten();
    entries.map(|(name, entry)| (name.clone(), entry["type"] == COMMAND)).collect()
}

/// Splits model names into provider and model for agents and judges that have a model but no provider.
pub(super) fn named_by_models(mut tree: Value, own: &OwnProviders) -> Value {
    let name = |entry: &mut Value| {
        let meant = entry["model"].as_str().and_then(|model| with_provider(model, own));
        if let Some(served) = meant.filter(|_| entry["provider"].is_null()) {
            (entry["provider"], entry["model"]) = (served.provider.into(), served.model.into());
        }
    };
    let agents = tree.get_mut("agents").and_then(Value::as_array_mut);
    agents.into_iter().flatten().filter(|entry| entry.is_object()).for_each(name);
    tree.get_mut("judge").into_iter().filter(|entry| entry.is_object()).for_each(name);
    tree
}

/// The settings of a provider that is a program; `None` if the provider is a server.
fn program(name: &str, entry: &Value, path: &KeyPath, findings: &mut Diagnostics) -> Option<ProviderSettings> {
    if !describes_program(name, entry) {
        if entry.get("argv").is_some() {
            findings.problem(
                path.key("argv"),
                "only applies to command providers; add `\"type\": \"command\"` to make this one",
            );
        }
        return None;
    }
    if preset(name).is_some() {
        findings.problem(path.key("type"), format!("cannot be `command`: `{name}` is a built-in server"));
    }
    let keys = entry.as_object().into_iter().flat_map(Map::keys);
    for key in keys.filter(|key| *key != "type" && *key != "argv") {
        findings.problem(path.key(key), "does not apply to command providers");
    }
    let argv = entry["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let argv: Arc<[String]> = argv.map(str::to_owned).collect();
    if program_preset(name).is_none() && argv.is_empty() {
        findings.problem(path.key("argv"), "is missing; it must list the program and its arguments");
    }
    Some(ProviderSettings { program: Some(argv), ..ProviderSettings::default() })
}

pub(super) fn with_programs(settings: &Settings) -> Value {
    let mut all = serde_json::to_value(settings).unwrap_or_default();
    // These keys are not serialized if they have their defaults.
    all["debate"]["memory"] = settings.debate.memory.into();
    all["debate"]["budget"]["maxCalls"] = settings.debate.budget.max_calls.into();
    for (name, entry) in &settings.providers {
        if let Some(argv) = entry.program.as_deref() {
            all["providers"][name] = json!({ "type": COMMAND });
            if !argv.is_empty() {
                all["providers"][name]["argv"] = argv.into();
            }
        }
    }
    all
}

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
            warnings.push(format!(
                "`{}` has tools, but its provider is {provider}, which does not support tools",
                agent.id
            ));
        }
        if let Some((asked, most)) = agent.max_tokens.zip(limits_of(agent, settings).max_output)
            && asked > most
        {
            let AgentSettings { id, model, .. } = agent;
            warnings.push(format!("`{id}` sets `maxTokens` to {asked}, but `{model}` supports at most {most} tokens"));
        }
    }
    for ((provider, model), (since, users)) in retired {
        let near = backquoted(current_near(provider, model, day));
        let instead = if near.is_empty() { String::new() } else { format!("; similar current models: {near}") };
        let users = users.join(", ");
        warnings.push(format!(
            "{provider} retired `{model}` on {since}, so calls to it will fail (used by {users}){instead}"
        ));
    }
    warnings
}

/// Advice to mix models if all agents and the judge use models of one family. `None` if they do not, if a family is
/// unknown, or if no model is called.
pub fn one_family(settings: &Settings) -> Option<String> {
    let called = settings.everybody().filter(|agent| agent.provider != OFFLINE);
    let families: Option<BTreeSet<&str>> = called.map(|agent| family(&agent.model)).collect();
    let families: Vec<&str> = families?.into_iter().collect();
    let [family] = families.as_slice() else { return None };
    Some(format!(
        "All agents and the judge use models from one family ({family}). Mixing families improves debates: \
             give one agent, or the judge, a `provider` and `model` from another family."
    ))
}
