//! Determines the address, headers and key of a provider from its preset, the configuration and the environment, so
//! that a missing key is found before a debate spends anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;

use dialectic_base::provider::{ApiKind, OPENROUTER, PRESETS, Preset, preset};
use dialectic_base::secrets::KnownKeys;
use dialectic_llm::command::{PROGRAMS, ProgramFault, program_preset};
use dialectic_llm::openai::Endpoint;
use dialectic_record::settings::{ProviderSettings, Settings};

use super::environment::{Environment, TOKEN};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderAccessError {
    #[error("unknown provider `{0}`")]
    Unknown(String),
    #[error("the base URL of the provider `{name}` {fault}")]
    BaseUrl { name: String, fault: &'static str },
    #[error("the environment variable {variable} is not set; the provider `{name}` needs it for the header `{header}`")]
    UnsetVariable { name: String, header: String, variable: String },
    #[error("cannot call the provider `{name}`: {fault}")]
    Program { name: String, fault: ProgramFault },
}

/// A provider's preset and configuration, in which variables are not expanded yet.
#[derive(Debug, Clone)]
pub struct Outline<'a> {
    pub preset: Option<&'static Preset>,
    pub entry: Option<&'a ProviderSettings>,
}

impl<'a> Outline<'a> {
    /// `None` if the provider is neither built in nor configured.
    pub fn of(name: &str, providers: &'a BTreeMap<String, ProviderSettings>) -> Option<Self> {
        let outline = Self { preset: preset(name), entry: providers.get(name) };
        (outline.preset.is_some() || outline.entry.is_some()).then_some(outline)
    }

    /// The configuration takes precedence over the preset.
    pub fn api_key_env(&self) -> Option<&'a str> {
        let configured = self.entry.and_then(|entry| entry.api_key_env.as_deref());
        configured.or(self.preset.and_then(|preset| preset.api_key_env))
    }

    /// The environment takes precedence over the configuration, and the configuration over the preset.
    pub fn base_url(&self, environment: &'a Environment) -> Option<&'a str> {
        let configured = self.entry.and_then(|entry| entry.base_url.as_deref());
        self.moved_by()
            .and_then(|name| environment.get(name))
            .or(configured)
            .or(self.preset.map(|preset| preset.base_url))
    }

    /// Returns `None` if there is no key, or if the key must not be sent to the base URL.
    pub fn key(&self, environment: &Environment) -> Option<SecretString> {
        environment.key_for(self.api_key_env()?, self.base_url(environment)?)
    }

    /// The environment variable that overrides the base URL.
    pub fn moved_by(&self) -> Option<&'static str> {
        self.preset.and_then(|preset| preset.base_url_env)
    }

    pub fn api(&self) -> ApiKind {
        self.entry.map(|entry| entry.api).or(self.preset.map(|preset| preset.api)).unwrap_or_default()
    }

    /// The configured headers, and those from the preset that the configuration does not replace.
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

    /// The headers that identify the account, each with the environment variable of its value.
    pub fn account_headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.preset.map_or(&[][..], |preset| preset.account_headers).iter().copied()
    }
}

/// The built-in providers in `settings` whose calls do not go to the vendor's host. Known prices, limits and retirement
/// dates do not apply to them.
pub fn elsewhere(settings: &Settings, environment: &Environment) -> BTreeSet<String> {
    let everybody = settings.everybody();
    let used = everybody
        .map(|agent| agent.provider.as_str())
        .filter(|provider| is_elsewhere(provider, &settings.providers, environment));
    used.map(str::to_owned).collect()
}

/// Whether a built-in provider's calls do not go to the vendor's host. False for providers that are not built in.
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

/// The providers in use whose prices may differ from list prices: `OpenRouter`, providers without a preset, and servers
/// other than the vendor's.
pub fn routed_providers(settings: &Settings, environment: &Environment) -> BTreeSet<String> {
    let used = settings.everybody().map(|agent| agent.provider.as_str());
    let routed = used.filter(|provider| {
        *provider == OPENROUTER
            || preset(provider).is_none()
            || is_elsewhere(provider, &settings.providers, environment)
    });
    routed.map(str::to_owned).collect()
}

/// Determines the address, headers and key of a provider. Expands the variables in headers.
///
/// # Errors
///
/// Returns an error if the provider is unknown, its base URL is invalid, or a variable used in a header is not set.
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
        let value = expand(value, environment).map_err(|variable| ProviderAccessError::UnsetVariable {
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

/// Why `text` is not a valid base URL. Never quotes the text, which may contain a password.
pub fn url_fault(text: &str) -> Option<&'static str> {
    let Ok(url) = reqwest::Url::parse(text.trim()) else {
        return Some("is not a URL such as `http://127.0.0.1:8000/v1`");
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Some("must be an http or https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("contains a user name or password; use `apiKeyEnv`, or a header with `${NAME}`");
    }
    (url.query().is_some() || url.fragment().is_some()).then_some("must not contain a query (`?`) or a fragment (`#`)")
}

/// The names of all providers, beginning with the built-in ones.
pub fn provider_names(configured: &BTreeMap<String, ProviderSettings>) -> Vec<&str> {
    let built_in = PRESETS.iter().map(|preset| preset.name);
    let programs = PROGRAMS.iter().map(|program| program.name);
    let is_own = |name: &&str| preset(name).is_none() && program_preset(name).is_none();
    let own = configured.keys().map(String::as_str).filter(is_own);
    built_in.chain(programs).chain(own).collect()
}

pub fn is_on_this_machine(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Why the header is not allowed; `None` if it is allowed. Never quotes the value, which may be a secret.
pub fn header_fault(name: &str, value: &str) -> Option<String> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Some("is not a valid header name".to_owned());
    }
    let Some(pieces) = pieces(value) else {
        return Some("contains an incomplete `${NAME}`".to_owned());
    };
    let has_variable = pieces.iter().any(|(_, variable)| variable.is_some());
    if !has_variable && (names_a_secret(name) || looks_like_a_secret(value)) {
        return Some(
            "appears to contain a secret; put it in an environment variable and write `${NAME}` here".to_owned(),
        );
    }
    HeaderValue::from_str(value).is_err().then(|| "contains characters that are not allowed in a header".to_owned())
}

fn variables(value: &str) -> Vec<&str> {
    pieces(value).into_iter().flatten().filter_map(|(_, variable)| variable).collect()
}

/// Replaces each `${NAME}` with the value of the variable. The error is the name of the first variable that is not set.
fn expand(value: &str, environment: &Environment) -> Result<SecretString, String> {
    let Some(pieces) = pieces(value) else { return Ok(SecretString::from(value)) };
    let mut expanded = String::new();
    for (text, variable) in pieces {
        expanded.push_str(text);
        if let Some(name) = variable {
            expanded.push_str(environment.get(name).ok_or_else(|| name.to_owned())?);
        }
    }
    Ok(SecretString::from(expanded))
}

pub fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits a value into literals, each with the `${NAME}` variable that follows it. `None` if a `${` is not followed by
/// a name and `}`.
fn pieces(value: &str) -> Option<Vec<(&str, Option<&str>)>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, following) = after.split_once('}')?;
        if !is_variable_name(name) {
            return None;
        }
        pieces.push((before, Some(name)));
        rest = following;
    }
    pieces.push((rest, None));
    Some(pieces)
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    ["authorization", "api-key", "apikey", "token", "cookie", "secret", "password", "credential"]
        .iter()
        .any(|part| name.contains(part))
}

fn looks_like_a_secret(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    ["bearer ", "basic ", "sk-"].iter().any(|start| value.starts_with(start))
}

/// Variables with the credentials of trace exporters.
const OF_TRACES: [&str; 4] =
    ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentence(missing))]
pub struct MissingKeys {
    /// Never empty.
    pub missing: Vec<MissingKey>,
    /// An untrusted file that sets one of the variables.
    pub untrusted: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    pub provider: String,
    pub variable: String,
    /// The ids of the agents and the judge that use the provider.
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

/// Checks that the key and the header variables of every provider in use are set.
///
/// # Errors
///
/// Returns an error that lists everything missing.
pub fn missing_keys(settings: &Settings, environment: &Environment) -> Result<(), MissingKeys> {
    let everybody = settings.everybody();
    let users = everybody.map(|agent| (agent.id.as_str(), agent.provider.as_str()));
    missing_keys_of(users, &settings.providers, environment)
}

/// The variable for a provider's key; `None` if the provider needs no key.
pub fn key_variable<'a>(provider: &str, providers: &'a BTreeMap<String, ProviderSettings>) -> Option<&'a str> {
    Outline::of(provider, providers)?.api_key_env()
}

/// Whether a provider is a program: either configured as one, or built in and not configured as a server.
pub fn is_program(name: &str, providers: &BTreeMap<String, ProviderSettings>) -> bool {
    match providers.get(name) {
        Some(entry) => entry.program.is_some(),
        None => program_preset(name).is_some(),
    }
}

/// Variables withheld from the user's programs: keys of providers, variables in their headers, and credentials of trace
/// exporters.
pub fn secret_variables(providers: &BTreeMap<String, ProviderSettings>) -> BTreeSet<String> {
    let presets = PRESETS.iter().filter_map(|preset| preset.api_key_env).map(str::to_owned);
    let configured = providers.values().flat_map(|provider| {
        let in_headers = provider.headers.values().flat_map(|value| variables(value)).map(str::to_owned);
        provider.api_key_env.clone().into_iter().chain(in_headers)
    });
    presets.chain(configured).chain(OF_TRACES.map(str::to_owned)).collect()
}

/// The values that must not appear in any text: the values of [`secret_variables`], and the server's token.
pub fn known_keys(configured: &BTreeMap<String, ProviderSettings>, environment: &Environment) -> KnownKeys {
    let variables = secret_variables(configured).into_iter().chain([TOKEN.to_owned()]);
    KnownKeys::new(variables.flat_map(|variable| {
        let values: Vec<_> = environment.values(&variable).collect();
        values.into_iter().map(move |value| (variable.clone(), value))
    }))
}

/// Like [`missing_keys`], for pairs of an agent's id and a provider.
///
/// # Errors
///
/// Returns an error that lists everything missing.
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
        // A program uses its own login instead of a key.
        let server = Outline::of(provider, providers).filter(|_| !is_program(provider, providers));
        let Some(outline) = server else { continue };
        let headers = outline.headers();
        let of_headers = headers.iter().flat_map(|(_, value)| variables(value));
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
    use dialectic_record::settings::default_settings;
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
        assert_eq!(
            error.to_string(),
            "the environment variable GONE is not set; the provider `ollama` needs it for the header `X-A`"
        );
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

    #[test]
    fn variables_are_found_and_expanded() {
        let environment = Environment::from_pairs([("A", "1"), ("B_2", "two")]);
        assert_eq!(variables("x ${A} y ${B_2}"), ["A", "B_2"]);
        assert_eq!(expand("x ${A} y ${B_2}$", &environment).unwrap().expose_secret(), "x 1 y two$");
        assert_eq!(expand("${NO}", &environment).unwrap_err(), "NO");
    }

    #[test]
    fn an_expanded_value_is_not_expanded_again() {
        let environment = Environment::from_pairs([("A", "${B}"), ("B", "no")]);
        assert_eq!(expand("${A}", &environment).unwrap().expose_secret(), "${B}");
    }

    #[test]
    fn literal_secrets_are_refused_without_being_quoted() {
        for (name, value) in [
            ("Authorization", "abc123"),
            ("X-API-Key", "abc123"),
            ("x_auth_token", "abc123"),
            ("Cookie", "abc123"),
            ("X-Plain", "Bearer abc123"),
            ("X-Plain", "sk-abc123"),
        ] {
            let fault = header_fault(name, value).unwrap();
            assert!(fault.contains("${NAME}") && !fault.contains("abc123"), "{name}: {fault}");
        }
        assert_eq!(header_fault("Authorization", "Bearer ${KEY}"), None);
        assert_eq!(header_fault("X-Title", "my team"), None);
    }

    #[test]
    fn malformed_headers_are_refused() {
        for (name, value) in [("X Y", "a"), ("", "a"), ("X", "${"), ("X", "${1}"), ("X", "${A"), ("X", "a\nb")] {
            assert!(header_fault(name, value).is_some(), "{name:?}: {value:?}");
        }
    }

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
        assert_eq!(missing_keys(&settings, &environment).unwrap_err().missing[0].variable, "TEAM");
    }

    #[test]
    fn no_text_shows_a_key_what_a_header_carries_or_the_servers_token() {
        let headers = BTreeMap::from([("X-Team".to_owned(), "${TEAM}".to_owned())]);
        let providers = BTreeMap::from([("openai".to_owned(), ProviderSettings { headers, ..Default::default() })]);
        let environment = Environment::from_pairs(
            ["OPENAI_API_KEY", "TEAM", TOKEN, "LANGFUSE_SECRET_KEY", "EDITOR"]
                .map(|name| (name, format!("the-secret-value-of-{name}"))),
        );
        let known = known_keys(&providers, &environment);
        let secret = ["OPENAI_API_KEY", "TEAM", TOKEN, "LANGFUSE_SECRET_KEY"].map(|name| (name, true));
        for (name, is_secret) in secret.into_iter().chain([("EDITOR", false)]) {
            assert_eq!(known.find(&format!("the-secret-value-of-{name}")), is_secret.then_some(name));
        }
    }
}
