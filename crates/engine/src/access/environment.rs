//! Environment variables, which provide keys, addresses and options.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use dialectic_base::provider::PRESETS;
use reqwest::Url;

const KEYS_FILE: &str = "keys.env";

pub const TOKEN: &str = "DIALECTIC_TOKEN";

#[derive(Debug, thiserror::Error)]
#[error("the environment variable {name} must be a whole number of at least {minimum}")]
pub struct VariableError {
    name: &'static str,
    minimum: u64,
}

/// Environment variables, captured once. Their values are treated as secrets and never shown.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, SecretString>,
    /// Variables from an untrusted file, each with the URLs to which it may be sent.
    found: BTreeMap<String, (SecretString, Vec<&'static str>)>,
    file: Option<PathBuf>,
    warnings: Vec<String>,
    user_directory: Option<PathBuf>,
    home: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
}

/// The URLs of Langfuse's cloud. The first is the default of Langfuse's SDKs.
pub const LANGFUSE: [&str; 3] =
    ["https://cloud.langfuse.com", "https://us.cloud.langfuse.com", "https://hipaa.cloud.langfuse.com"];

/// The vendor's URLs to which a key from an untrusted file may be sent. Empty if `variable` is not a vendor's key.
fn vendors_urls(variable: &str) -> Vec<&'static str> {
    if matches!(variable, "LANGFUSE_PUBLIC_KEY" | "LANGFUSE_SECRET_KEY") {
        return LANGFUSE.to_vec();
    }
    let named = PRESETS.iter().filter(|preset| {
        let account = preset.account_headers.iter().map(|(_, variable)| *variable);
        preset.api_key_env.into_iter().chain(account).any(|named| named == variable)
    });
    named.map(|preset| preset.base_url).collect()
}

/// Whether the variable may change what this program does, so that ignoring it deserves a warning.
fn has_an_effect(variable: &str) -> bool {
    ["DIALECTIC_", "LANGFUSE_", "OFFLINE_", "OTEL_"].iter().any(|start| variable.starts_with(start))
        || PRESETS.iter().any(|preset| preset.base_url_env == Some(variable))
}

impl Environment {
    /// The directory may not exist.
    pub fn user_directory(&self) -> Option<&Path> {
        self.user_directory.as_deref()
    }

    /// The file may not exist.
    pub fn keys_path(&self) -> Option<PathBuf> {
        Some(self.user_directory()?.join(KEYS_FILE))
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut environment = Self::default();
        environment.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())));
        environment
    }

    /// Adds variables that the user set. Later values override earlier ones; empty values are ignored.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in pairs {
            // Keys read with `$(cat file)` often end in a line break, which headers cannot contain.
            let value = value.trim();
            if !value.is_empty() {
                self.found.remove(&name);
                self.variables.insert(name, SecretString::from(value));
            }
        }
    }

    /// Adds the variables of an untrusted file. Only API keys take effect, each for its vendor's own host; the other
    /// variables that this program reads cause a warning.
    pub fn add_untrusted(&mut self, pairs: impl IntoIterator<Item = (String, String)>, path: &Path) {
        let pairs = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty());
        let pairs = pairs.map(|(name, value)| {
            let urls = vendors_urls(&name);
            (name, (SecretString::from(value.trim()), urls))
        });
        self.found.extend(pairs);
        let ignored = self.found.iter().filter(|(name, (_, urls))| urls.is_empty() && has_an_effect(name));
        let ignored: Vec<&str> = ignored.map(|(name, _)| name.as_str()).collect();
        if !ignored.is_empty() {
            let (path, ignored) = (path.display(), ignored.join(", "));
            self.warnings.push(format!(
                "`{path}` is not trusted, so only its API keys are used, not {ignored}; if you trust it: dialectic \
                 config trust {path}"
            ));
        }
    }

    /// Returns the path of the untrusted file if the file sets this variable.
    pub(super) fn untrusted_file_of(&self, name: &str) -> Option<&Path> {
        self.file().filter(|_| self.found.contains_key(name))
    }

    pub fn with_places(
        self,
        user_directory: Option<PathBuf>,
        home: Option<PathBuf>,
        certificate_file: Option<PathBuf>,
    ) -> Self {
        Self { user_directory, home, certificate_file, ..self }
    }

    /// Sets the path of the environment file, which is never shown to a model.
    pub fn set_file(&mut self, path: &Path) {
        self.file = Some(path.to_owned());
    }

    /// Adds warnings. They must not quote the environment files.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.extend(warnings);
    }

    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn token(&self) -> Option<&str> {
        self.get(TOKEN)
    }

    /// Ignores variables of an untrusted file.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(ExposeSecret::expose_secret)
    }

    /// The certificate file that the process trusts. Environment files cannot set it, because the TLS library reads the
    /// process's own variable.
    pub fn certificate_file(&self) -> Option<&Path> {
        self.certificate_file.as_deref()
    }

    /// Ignores variables of an untrusted file.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).cloned()
    }

    /// The key for requests to `url`. A key from an untrusted file is only sent to its vendor's host.
    pub fn key_for(&self, name: &str, url: &str) -> Option<SecretString> {
        let origin = |url: &str| Url::parse(url.trim()).ok().map(|url| url.origin());
        let found = self.found.get(name).filter(|(_, urls)| urls.iter().any(|known| origin(known) == origin(url)));
        found.map(|(value, _)| value.clone()).or_else(|| self.secret(name))
    }

    /// The user's value of the variable and the value from an untrusted file, if they are set.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = SecretString> {
        self.secret(name).into_iter().chain(self.found.get(name).map(|(value, _)| value.clone()))
    }

    /// Omits variables of an untrusted file.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &SecretString)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// `OFFLINE_SEED`: the seed of the offline provider.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a whole number.
    pub fn offline_seed(&self) -> Result<Option<u64>, VariableError> {
        self.whole("OFFLINE_SEED", 0)
    }

    /// `OFFLINE_LATENCY_MS`: how long the offline provider takes to answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a whole number.
    pub fn offline_latency(&self) -> Result<Option<Duration>, VariableError> {
        Ok(self.whole("OFFLINE_LATENCY_MS", 0)?.map(Duration::from_millis))
    }

    /// Sets the latency of the offline provider, unless `OFFLINE_LATENCY_MS` is already set.
    pub fn pace_offline(&mut self, latency: Duration) {
        if !self.has("OFFLINE_LATENCY_MS") {
            self.extend([("OFFLINE_LATENCY_MS".to_owned(), latency.as_millis().to_string())]);
        }
    }

    /// `OFFLINE_FAIL_EVERY`: makes every nth call of the offline provider fail.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a whole number of at least 1.
    pub fn offline_fail_every(&self) -> Result<Option<u64>, VariableError> {
        self.whole("OFFLINE_FAIL_EVERY", 1)
    }

    fn whole(&self, name: &'static str, minimum: u64) -> Result<Option<u64>, VariableError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.parse().ok().filter(|number| *number >= minimum);
        number.map(Some).ok_or(VariableError { name, minimum })
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_unset_and_line_breaks_at_the_end_are_dropped() {
        let environment = Environment::from_pairs([("A", ""), ("B", " \n"), ("KEY", "sk-1\r\n")]);
        assert!(!environment.has("A") && !environment.has("B"));
        assert_eq!(environment.secret("KEY").unwrap().expose_secret(), "sk-1");
    }

    #[test]
    fn offline_options_are_numbers_or_errors_that_name_the_variable() {
        let set =
            Environment::from_pairs([("OFFLINE_SEED", "7"), ("OFFLINE_LATENCY_MS", "20"), ("OFFLINE_FAIL_EVERY", "0")]);
        assert_eq!(set.offline_seed().unwrap(), Some(7));
        assert_eq!(set.offline_latency().unwrap(), Some(Duration::from_millis(20)));
        let error = set.offline_fail_every().unwrap_err().to_string();
        assert_eq!(error, "the environment variable OFFLINE_FAIL_EVERY must be a whole number of at least 1");
        assert_eq!(Environment::default().offline_seed().unwrap(), None);
        assert!(Environment::from_pairs([("OFFLINE_SEED", "-1")]).offline_seed().is_err());
    }

    #[test]
    fn debug_shows_no_value() {
        let shown = format!("{:?}", Environment::from_pairs([("OPENAI_API_KEY", "sk-secret")]));
        assert!(!shown.contains("sk-secret") && shown.contains('1'), "{shown}");
    }
}
