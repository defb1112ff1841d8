//! Rules for values beyond the types and bounds of the schema.

use std::collections::BTreeMap;

use serde_json::Value;

use dialectic_base::key_path::KeyPath;
use dialectic_base::money::Price;
use dialectic_base::provider::{calls_models, preset};
use dialectic_engine::access::{headers, url_fault};
use dialectic_engine::agent::SUMMARIZATION_METHODS;
use dialectic_record::debate::{
    ArenaSettings, DebateSettings, ModelLimits, ProviderSettings, ResultKind, SynthesisMethod,
};
use dialectic_record::protocol::Protocol;

use super::error::Diagnostics;
use super::layers::laid_over;
use super::programs;

/// The `debate` section over the defaults.
pub(super) fn debate(tree: &Value, findings: &mut Diagnostics) -> DebateSettings {
    let mut tree = tree.clone();
    switch_on_summarization(&mut tree);
    laid_over(&DebateSettings::default(), &tree, &KeyPath::root().key("debate"), findings)
}

/// Enables a `summarization` that has settings but no `enabled`; without the section nothing is summarized.
pub(super) fn switch_on_summarization(of: &mut Value) {
    let section = of.get_mut("summarization").and_then(Value::as_object_mut);
    if let Some(section) = section.filter(|section| section.values().any(|value| !value.is_null())) {
        let enabled = section.entry("enabled").or_insert(Value::Null);
        if enabled.is_null() {
            *enabled = true.into();
        }
    }
}

/// Checks the names in `debate`.
pub(super) fn check_debate(tree: &Value, findings: &mut Diagnostics) {
    let path = KeyPath::root().key("debate");
    findings.check_name(path.key("protocol"), tree["protocol"].as_str(), "protocol", &Protocol::names());
    check_summarization(tree, &path, findings);
}

/// Checks the names in the `summarization` of the debate or of an agent.
pub(super) fn check_summarization(of: &Value, path: &KeyPath, findings: &mut Diagnostics) {
    let method = of["summarization"]["method"].as_str();
    let path = path.key("summarization").key("method");
    findings.check_name(path, method, "summarization method", SUMMARIZATION_METHODS);
}

/// Warns of settings that the protocol ignores.
pub(super) fn warn_of_idle_keys(debate: &DebateSettings, protocol: &Protocol, findings: &mut Diagnostics) {
    let has = |wanted| protocol.stages.iter().any(|stage| stage.info.yields == Some(wanted));
    let name = protocol.name;
    if debate.synthesis_method != SynthesisMethod::Judge {
        let method = debate.synthesis_method.name();
        findings.warn(format!("`debate.synthesisMethod`: `{method}` means `judge`: the judge writes the solution"));
    }
    if debate.memory && !has(ResultKind::Material) {
        findings.warn(format!("`debate.memory` has no effect: the protocol `{name}` does not use past debates"));
    }
    if debate.arena != ArenaSettings::default() && !has(ResultKind::Agreement) {
        findings.warn(format!("`debate.arena` has no effect: the protocol is `{name}`"));
    }
}

/// The entries of a section by name.
fn entries<'a>(section: &'a Value, path: &KeyPath) -> impl Iterator<Item = (&'a String, &'a Value, KeyPath)> {
    let path = path.clone();
    section.as_object().into_iter().flatten().map(move |(name, entry)| (name, entry, path.key(name)))
}

/// Checks and completes the configured providers.
pub(super) fn providers(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, ProviderSettings> {
    let mut providers = BTreeMap::new();
    for (name, entry, path) in entries(section, &KeyPath::root().key("providers")) {
        if name.trim().is_empty() {
            findings.problem(path.clone(), "a provider needs a name");
        }
        if let Some(program) = programs::program(name, entry, &path, findings) {
            providers.insert(name.clone(), program);
            continue;
        }
        let preset = preset(name);
        let api = preset.map(|preset| preset.api).unwrap_or_default();
        let provider = laid_over(&ProviderSettings { api, ..ProviderSettings::default() }, entry, &path, findings);
        if !calls_models(name) {
            findings.warn(format!("`{path}` has no effect: the provider `{name}` calls no server"));
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
        // Not quoted: people sometimes put the key itself here.
        if provider.api_key_env.as_deref().is_some_and(|variable| !headers::is_variable_name(variable)) {
            findings.problem(
                path.key("apiKeyEnv"),
                "must be the name of the environment variable that holds the key, not the key",
            );
        }
        for (header, value) in &provider.headers {
            if let Some(fault) = headers::fault(header, value) {
                findings.problem(path.key("headers").key(header), fault);
            }
        }
        providers.insert(name.clone(), provider);
    }
    providers
}

/// Checks and returns the configured limits of models.
pub(super) fn models(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, ModelLimits> {
    let limits = |(name, entry, path): (&String, &Value, KeyPath)| {
        (name.clone(), laid_over(&ModelLimits::default(), entry, &path, findings))
    };
    entries(section, &KeyPath::root().key("models")).map(limits).collect()
}

/// Checks and returns the configured prices.
pub(super) fn prices(section: &Value, findings: &mut Diagnostics) -> BTreeMap<String, Price> {
    let mut prices = BTreeMap::new();
    for (model, entry, path) in entries(section, &KeyPath::root().key("prices")) {
        let price = laid_over(&Price::flat(0.0, None, 0.0), entry, &path, findings);
        // A cost limit treats the price of input as the maximum.
        if price.cached_input_per_m_tok.is_some_and(|cached| cached > price.input_per_m_tok) {
            findings.problem(path.key("cachedInputPerMTok"), "must not be above `inputPerMTok`");
        }
        prices.insert(model.clone(), price);
    }
    prices
}
