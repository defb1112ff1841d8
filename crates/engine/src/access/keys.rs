//! Checks that the environment holds the keys of the providers in use, before anything is paid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use dialectic_base::provider::PRESETS;
use dialectic_base::secrets::KnownKeys;
use dialectic_record::debate::{ProviderSettings, Settings};

use super::endpoint::Outline;
use super::environment::{Environment, TOKEN};
use super::headers;
use super::program::is_program;

/// Variables with credentials for trace exporters.
const OF_TRACES: [&str; 4] =
    ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// Required environment variables that are not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentence(missing))]
pub struct MissingKeys {
    /// The missing variables, at least one.
    pub missing: Vec<MissingKey>,
    /// A file that has one of them, but is not trusted.
    pub untrusted: Option<PathBuf>,
}

/// A required environment variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    /// The provider that needs it.
    pub provider: String,
    pub variable: String,
    /// The ids of the agents that use the provider, and the judge's.
    pub agents: Vec<String>,
}

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, variable, agents } = self;
        write!(f, "{variable} (provider `{provider}`, needed by {})", agents.join(", "))
    }
}

fn sentence(missing: &[MissingKey]) -> String {
    if let [key] = missing {
        return format!("missing environment variable {key}");
    }
    let keys: Vec<String> = missing.iter().map(ToString::to_string).collect();
    format!("missing environment variables:\n  {}", keys.join("\n  "))
}

/// Checks that every provider in use has its key and the variables of its headers.
///
/// # Errors
/// Everything that is missing.
pub fn missing_keys(settings: &Settings, environment: &Environment) -> Result<(), MissingKeys> {
    let everybody = settings.everybody();
    let users = everybody.map(|agent| (agent.id.as_str(), agent.provider.as_str()));
    missing_keys_of(users, &settings.providers, environment)
}

/// The variable with a provider's key; `None` if it needs none.
pub fn key_variable<'a>(provider: &str, providers: &'a BTreeMap<String, ProviderSettings>) -> Option<&'a str> {
    Outline::of(provider, providers)?.api_key_env()
}

/// Variables withheld from the user's programs: keys of providers, values of their headers, and credentials of trace
/// exporters.
pub fn secret_variables(providers: &BTreeMap<String, ProviderSettings>) -> BTreeSet<String> {
    let presets = PRESETS.iter().filter_map(|preset| preset.api_key_env).map(str::to_owned);
    let configured = providers.values().flat_map(|provider| {
        let in_headers = provider.headers.values().flat_map(|value| headers::variables(value)).map(str::to_owned);
        provider.api_key_env.clone().into_iter().chain(in_headers)
    });
    presets.chain(configured).chain(OF_TRACES.map(str::to_owned)).collect()
}

/// The values that no text may contain: those of [`secret_variables`], and the server's token.
pub fn known_keys(configured: &BTreeMap<String, ProviderSettings>, environment: &Environment) -> KnownKeys {
    let variables = secret_variables(configured).into_iter().chain([TOKEN.to_owned()]);
    KnownKeys::new(variables.flat_map(|variable| {
        let values: Vec<_> = environment.values(&variable).collect();
        values.into_iter().map(move |value| (variable.clone(), value))
    }))
}

/// [`missing_keys`] for any users of providers: pairs of an id and its provider.
///
/// # Errors
/// Everything that is missing.
pub fn missing_keys_of<'a>(
    users: impl IntoIterator<Item = (&'a str, &'a str)>,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Result<(), MissingKeys> {
    let mut by_provider: Vec<(&str, Vec<String>)> = Vec::new();
    for (id, provider) in users {
        match by_provider.iter_mut().find(|(name, _)| *name == provider) {
            Some((_, ids)) => ids.push(id.to_owned()),
            None => by_provider.push((provider, vec![id.to_owned()])),
        }
    }
    let mut missing: Vec<MissingKey> = Vec::new();
    for (provider, agents) in by_provider {
        // A program has a login of its own.
        let server = Outline::of(provider, providers).filter(|_| !is_program(provider, providers));
        let Some(outline) = server else { continue };
        let headers = outline.headers();
        let of_headers = headers.iter().flat_map(|(_, value)| headers::variables(value));
        let unset = of_headers.filter(|variable| !environment.has(variable));
        let key = outline.api_key_env().filter(|_| outline.key(environment).is_none());
        for variable in key.into_iter().chain(unset) {
            if !missing.iter().any(|key| key.variable == variable && key.provider == provider) {
                let (provider, variable) = (provider.to_owned(), variable.to_owned());
                missing.push(MissingKey { provider, variable, agents: agents.clone() });
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let untrusted = missing.iter().find_map(|key| environment.untrusted_file_of(&key.variable)).map(Path::to_owned);
    Err(MissingKeys { missing, untrusted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::default_settings;

    #[test]
    fn all_missing_keys_are_named_with_those_who_need_them() {
        let mut settings = default_settings();
        settings.agents[1].provider = "anthropic".to_owned();
        let error = missing_keys(&settings, &Environment::default()).unwrap_err();
        insta::assert_snapshot!(error, @r"
        missing environment variables:
          OPENAI_API_KEY (provider `openai`, needed by agent-architect, agent-kiss, judge-main)
          ANTHROPIC_API_KEY (provider `anthropic`, needed by agent-performance)
        ");
        let one = Environment::from_pairs([("OPENAI_API_KEY", "sk-1")]);
        let error = missing_keys(&settings, &one).unwrap_err();
        insta::assert_snapshot!(error, @"missing environment variable ANTHROPIC_API_KEY (provider `anthropic`, needed by agent-performance)");
    }

    #[test]
    fn a_key_that_is_set_to_nothing_is_missing() {
        let empty = Environment::from_pairs([("OPENAI_API_KEY", "\n")]);
        assert_eq!(missing_keys(&default_settings(), &empty).unwrap_err().missing.len(), 1);
    }

    #[test]
    fn providers_without_a_key_need_none_and_unused_ones_are_not_asked() {
        let mut settings = default_settings();
        for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
            agent.provider = "ollama".to_owned();
        }
        settings.judge.provider = "offline".to_owned();
        let unused = ProviderSettings { api_key_env: Some("UNUSED_KEY".to_owned()), ..Default::default() };
        settings.providers.insert("unused".to_owned(), unused);
        assert_eq!(missing_keys(&settings, &Environment::default()), Ok(()));
    }

    #[test]
    fn the_variables_of_headers_are_needed_too() {
        let mut settings = default_settings();
        let headers = BTreeMap::from([("X-Team".to_owned(), "${TEAM}".to_owned())]);
        settings.providers.insert("openai".to_owned(), ProviderSettings { headers, ..Default::default() });
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "sk-1")]);
        let error = missing_keys(&settings, &environment).unwrap_err();
        assert_eq!(error.missing[0].variable, "TEAM");
    }

    #[test]
    fn no_text_shows_a_key_what_a_header_carries_or_the_servers_token() {
        let headers = BTreeMap::from([("X-Team".to_owned(), "${TEAM}".to_owned())]);
        let providers = BTreeMap::from([("openai".to_owned(), ProviderSettings { headers, ..Default::default() })]);
        let environment = Environment::from_pairs(
            ["OPENAI_API_KEY", "TEAM", TOKEN, "EDITOR"].map(|name| (name, format!("the-secret-value-of-{name}"))),
        );
        let known = known_keys(&providers, &environment);
        for (name, is_secret) in [("OPENAI_API_KEY", true), ("TEAM", true), (TOKEN, true), ("EDITOR", false)] {
            assert_eq!(known.find(&format!("the-secret-value-of-{name}")), is_secret.then_some(name));
        }
    }
}
