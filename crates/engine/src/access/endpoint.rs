//! The address and headers of a provider's calls, from preset, configured entry and environment.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;

use dialectic_base::provider::{ApiKind, OPENROUTER, PRESETS, Preset, preset};
use dialectic_llm::command::{PROGRAMS, ProgramFault, program_preset};
use dialectic_llm::openai::Endpoint;
use dialectic_record::debate::{ProviderSettings, Settings};

use super::environment::Environment;
use super::headers;

/// A provider that cannot be called as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderAccessError {
    /// Neither built in nor configured.
    #[error("unknown provider `{0}`")]
    Unknown(String),
    /// The base URL is missing or unusable.
    #[error("the base URL of the provider `{name}` {fault}")]
    BaseUrl { name: String, fault: &'static str },
    /// A header needs an environment variable that is not set.
    #[error("the header `{header}` of the provider `{name}` needs the environment variable {variable}")]
    UnsetVariable { name: String, header: String, variable: String },
    /// The program cannot be called.
    #[error("the provider `{name}` cannot be called: {fault}")]
    Program { name: String, fault: ProgramFault },
}

/// A provider before the environment's values are filled in.
#[derive(Debug, Clone)]
pub struct Outline<'a> {
    pub preset: Option<&'static Preset>,
    /// The configured entry.
    pub entry: Option<&'a ProviderSettings>,
}

impl<'a> Outline<'a> {
    /// The provider with that name; `None` if it is neither built in nor configured.
    pub fn of(name: &str, providers: &'a BTreeMap<String, ProviderSettings>) -> Option<Self> {
        let outline = Self { preset: preset(name), entry: providers.get(name) };
        (outline.preset.is_some() || outline.entry.is_some()).then_some(outline)
    }

    /// The variable that holds its key.
    pub fn api_key_env(&self) -> Option<&'a str> {
        let configured = self.entry.and_then(|entry| entry.api_key_env.as_deref());
        configured.or(self.preset.and_then(|preset| preset.api_key_env))
    }

    /// The base URL: from the environment, otherwise the file, otherwise the preset.
    pub fn base_url(&self, environment: &'a Environment) -> Option<&'a str> {
        let configured = self.entry.and_then(|entry| entry.base_url.as_deref());
        self.moved_by()
            .and_then(|name| environment.get(name))
            .or(configured)
            .or(self.preset.map(|preset| preset.base_url))
    }

    /// Its key, if the environment has one that may go to its base URL.
    pub fn key(&self, environment: &Environment) -> Option<SecretString> {
        environment.key_for(self.api_key_env()?, self.base_url(environment)?)
    }

    /// The environment variable that overrides the base URL.
    pub fn moved_by(&self) -> Option<&'static str> {
        self.preset.and_then(|preset| preset.base_url_env)
    }

    /// The API that the provider speaks.
    pub fn api(&self) -> ApiKind {
        self.entry.map(|entry| entry.api).or(self.preset.map(|preset| preset.api)).unwrap_or_default()
    }

    /// The headers of the file, and the preset's that it does not replace.
    pub fn headers(&self) -> Vec<(&'a str, &'a str)> {
        let own: Vec<(&str, &str)> = self
            .entry
            .iter()
            .flat_map(|entry| &entry.headers)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let preset = self.preset.map_or(&[][..], |preset| preset.headers).iter().copied();
        let inherited = preset.filter(|(name, _)| !own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        inherited.chain(own.iter().copied()).collect()
    }

    /// The preset's headers that name the account, with their environment variables.
    pub fn account_headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.preset.map_or(&[][..], |preset| preset.account_headers).iter().copied()
    }
}

/// The built-in providers in `settings` whose calls go to a host other than their own. Known prices, limits and
/// retirement dates do not apply to other servers.
pub fn elsewhere(settings: &Settings, environment: &Environment) -> BTreeSet<String> {
    let everybody = settings.everybody();
    let used = everybody
        .map(|agent| agent.provider.as_str())
        .filter(|provider| is_elsewhere(provider, &settings.providers, environment));
    used.map(str::to_owned).collect()
}

/// Whether the calls of a built-in provider go to a host other than its own.
pub fn is_elsewhere(
    provider: &str,
    configured: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> bool {
    let Some(outline) = Outline::of(provider, configured) else { return false };
    let Some(own) = outline.preset.map(|preset| preset.base_url).filter(|url| !url.is_empty()) else { return false };
    let host = |url: &str| Some(reqwest::Url::parse(url.trim()).ok()?.host_str()?.to_owned());
    outline.base_url(environment).and_then(host) != host(own)
}

/// The providers in use whose prices may differ from the list: routers, and servers that are not the vendor's own.
pub fn routed_providers(settings: &Settings, environment: &Environment) -> BTreeSet<String> {
    let used = settings.everybody().map(|agent| agent.provider.as_str());
    let routed = used.filter(|provider| {
        *provider == OPENROUTER
            || preset(provider).is_none()
            || is_elsewhere(provider, &settings.providers, environment)
    });
    routed.map(str::to_owned).collect()
}

/// The address and headers of `provider`.
///
/// # Errors
/// The provider is unknown, its base URL cannot be used, or a header's variable is unset.
pub fn endpoint(
    provider: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Result<Endpoint, ProviderAccessError> {
    let name = provider.to_owned();
    let Some(outline) = Outline::of(provider, providers) else { return Err(ProviderAccessError::Unknown(name)) };
    let base_url = outline.base_url(environment).unwrap_or_default().trim().trim_end_matches('/').to_owned();
    let calls_a_server = outline.preset.is_none_or(|preset| !preset.base_url.is_empty());
    if let Some(fault) = url_fault(&base_url).filter(|_| calls_a_server) {
        return Err(ProviderAccessError::BaseUrl { name, fault });
    }
    let mut headers = Vec::new();
    for (header, value) in outline.headers() {
        let value = headers::expand(value, environment).map_err(|variable| ProviderAccessError::UnsetVariable {
            name: name.clone(),
            header: header.to_owned(),
            variable,
        })?;
        headers.push((header.to_owned(), value));
    }
    let unnamed = outline.account_headers().filter(|(header, _)| !has(&headers, header));
    let of_account: Vec<_> = unnamed
        .filter_map(|(header, variable)| Some((header.to_owned(), environment.key_for(variable, &base_url)?)))
        .collect();
    headers.extend(of_account);
    let api_key = outline.key(environment);
    let streams = outline.entry.and_then(|entry| entry.stream).unwrap_or(true);
    let takes_schemas = outline.entry.and_then(|entry| entry.schemas).unwrap_or(true);
    let name = name.into();
    Ok(Endpoint { name, base_url, api_key, headers, api: outline.api(), streams, takes_schemas })
}

fn has(headers: &[(String, SecretString)], name: &str) -> bool {
    headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
}

/// Why a text cannot be a base URL. Does not quote the text, which may contain a password.
pub fn url_fault(text: &str) -> Option<&'static str> {
    let Ok(url) = reqwest::Url::parse(text.trim()) else {
        return Some("is not a URL, e.g. `http://127.0.0.1:8000/v1`");
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Some("must be an http or https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("contains a user name or password: use `apiKeyEnv`, or a header with `${NAME}`");
    }
    (url.query().is_some() || url.fragment().is_some()).then_some("must end with its path, without `?` or `#`")
}

/// All names that an agent's `provider` may have, the built-in ones first.
pub fn provider_names(configured: &BTreeMap<String, ProviderSettings>) -> Vec<&str> {
    let built_in = PRESETS.iter().map(|preset| preset.name);
    let programs = PROGRAMS.iter().map(|program| program.name);
    let is_own = |name: &&str| preset(name).is_none() && program_preset(name).is_none();
    let own = configured.keys().map(String::as_str).filter(is_own);
    built_in.chain(programs).chain(own).collect()
}

/// Whether the URL's server is on this machine.
pub fn is_on_this_machine(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn providers(name: &str, settings: ProviderSettings) -> BTreeMap<String, ProviderSettings> {
        BTreeMap::from([(name.to_owned(), settings)])
    }

    #[test]
    fn a_preset_needs_only_its_key() {
        let environment = Environment::from_pairs([("OPENROUTER_API_KEY", "or-1")]);
        let endpoint = endpoint("openrouter", &BTreeMap::new(), &environment).unwrap();
        assert_eq!(endpoint.base_url, "https://openrouter.ai/api/v1");
        assert_eq!(endpoint.api_key.as_ref().unwrap().expose_secret(), "or-1");
        assert_eq!(endpoint.headers.len(), 2);
        assert!(!format!("{endpoint:?}").contains("or-1"));
    }

    #[test]
    fn the_environment_moves_an_endpoint_over_the_file() {
        let entry = ProviderSettings { base_url: Some("https://file.example/v1".to_owned()), ..Default::default() };
        let providers = providers("openai", entry);
        let moved = Environment::from_pairs([("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")]);
        assert_eq!(endpoint("openai", &providers, &moved).unwrap().base_url, "http://127.0.0.1:9/v1");
        let unmoved = Environment::default();
        assert_eq!(endpoint("openai", &providers, &unmoved).unwrap().base_url, "https://file.example/v1");
    }

    #[test]
    fn an_entry_of_a_preset_changes_only_what_it_names() {
        let headers = BTreeMap::from([("x-title".to_owned(), "team ${TEAM}".to_owned())]);
        let entry = ProviderSettings { headers, api: ApiKind::Chat, ..Default::default() };
        let providers = providers("openrouter", entry);
        let environment = Environment::from_pairs([("TEAM", "blue"), ("OPENROUTER_API_KEY", "k")]);
        let endpoint = endpoint("openrouter", &providers, &environment).unwrap();
        let headers: Vec<_> =
            endpoint.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(headers[0].0, "HTTP-Referer");
        assert_eq!(headers[1], ("x-title", "team blue"));
        assert_eq!(headers.len(), 2);
        assert_eq!(endpoint.api, ApiKind::Chat);
        assert!(endpoint.api_key.is_some() && endpoint.streams && endpoint.takes_schemas);
    }

    #[test]
    fn who_uses_a_key_is_said_to_openai_alone() {
        let environment = Environment::from_pairs([("OPENAI_ORG_ID", "org-1"), ("OPENAI_PROJECT_ID", "")]);
        let said = |provider: &str, entry: Option<ProviderSettings>| {
            let providers = entry.map(|entry| providers(provider, entry)).unwrap_or_default();
            let endpoint = endpoint(provider, &providers, &environment).unwrap();
            let headers = endpoint.headers.iter().map(|(name, value)| format!("{name}: {}", value.expose_secret()));
            headers.collect::<Vec<_>>()
        };
        let at = |url: &str| Some(ProviderSettings { base_url: Some(url.to_owned()), ..Default::default() });
        let own = "OpenAI-Organization: org-1";
        assert_eq!(said("openai", None), [own]);
        assert_eq!(said("openai", at("https://gateway.example/v1")), [own]);
        for provider in ["mistral", "ollama", "offline"] {
            assert_eq!(said(provider, None), [""; 0], "{provider}");
        }
        assert_eq!(said("mine", at("https://api.openai.com/v1")), [""; 0]);
        // The file's header takes precedence.
        let headers = BTreeMap::from([("openai-organization".to_owned(), "other".to_owned())]);
        let entry = ProviderSettings { headers, ..Default::default() };
        assert_eq!(said("openai", Some(entry)), ["openai-organization: other"]);
    }

    #[test]
    fn what_cannot_be_called_is_an_error() {
        let nothing = Environment::default();
        assert!(matches!(endpoint("nobody", &BTreeMap::new(), &nothing), Err(ProviderAccessError::Unknown(_))));
        let bad = Environment::from_pairs([("OPENAI_BASE_URL", "localhost:8000")]);
        assert!(matches!(endpoint("openai", &BTreeMap::new(), &bad), Err(ProviderAccessError::BaseUrl { .. })));
        let headers = BTreeMap::from([("X-A".to_owned(), "${GONE}".to_owned())]);
        let providers = providers("ollama", ProviderSettings { headers, ..Default::default() });
        let error = endpoint("ollama", &providers, &nothing).unwrap_err();
        assert_eq!(error.to_string(), "the header `X-A` of the provider `ollama` needs the environment variable GONE");
        assert!(endpoint("offline", &BTreeMap::new(), &nothing).unwrap().base_url.is_empty());
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for (url, expected) in [
            ("http://localhost:1/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://127.0.0.1", true),
            ("http://127.1:1", true),
            ("http://[::1]:1", true),
            ("http://0.0.0.0:1", false),
            ("http://10.0.0.1", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://127.0.0.1.example", false),
        ] {
            assert_eq!(is_on_this_machine(url), expected, "{url}");
        }
    }
}
