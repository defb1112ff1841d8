//! The `providers` of the file.

use std::collections::BTreeMap;

use dialectic_base::key_path::KeyPath;
use dialectic_base::provider::OFFLINE;
use dialectic_engine::access::{headers, url_fault};
use dialectic_llm::presets::preset;
use dialectic_record::debate::ProviderSettings;

use super::file::ProviderEntry;
use super::findings::Diagnostics;
use super::shapes::{Named, Object};

/// Checks and completes the configured providers.
pub(super) fn resolve(
    entries: Option<Named<Object<ProviderEntry>>>,
    findings: &mut Diagnostics,
) -> BTreeMap<String, ProviderSettings> {
    let path = KeyPath::root().key("providers");
    let entries = entries.unwrap_or_default().0;
    entries
        .into_iter()
        .map(|(name, Object(entry))| {
            let settings = provider(&name, entry, &path.key(&name), findings);
            (name, settings)
        })
        .collect()
}

fn provider(name: &str, entry: ProviderEntry, path: &KeyPath, findings: &mut Diagnostics) -> ProviderSettings {
    let preset = preset(name);
    if name.trim().is_empty() {
        findings.problem(path.clone(), "a provider needs a name");
    }
    if name == OFFLINE {
        findings.warn(format!("`{path}` has no effect: the provider `{OFFLINE}` calls no server"));
    }
    match &entry.base_url {
        Some(url) => {
            if let Some(fault) = url_fault(url) {
                findings.problem(path.key("baseUrl"), fault);
            }
        }
        None if preset.is_none() => {
            findings.problem(path.key("baseUrl"), "is missing: only built-in providers have one already");
        }
        None => {}
    }
    // Not quoted: people put the key itself here.
    if entry.api_key_env.as_deref().is_some_and(|variable| !headers::is_variable_name(variable)) {
        findings.problem(
            path.key("apiKeyEnv"),
            "must be the name of the environment variable that holds the key, not the key",
        );
    }
    let headers = entry.headers.unwrap_or_default().0;
    for (header, value) in &headers {
        if let Some(fault) = headers::fault(header, value) {
            findings.problem(path.key("headers").key(header), fault);
        }
    }
    ProviderSettings {
        base_url: entry.base_url,
        api_key_env: entry.api_key_env,
        api: entry.api.or(preset.map(|preset| preset.api)).unwrap_or_default(),
        stream: entry.stream,
        schemas: entry.schemas,
        headers,
    }
}
