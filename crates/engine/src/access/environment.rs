//! Environment variables: the source of keys, addresses and options.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};

use super::stranger::Author;

/// The file of the user's own keys, in the user's directory.
const KEYS_FILE: &str = "keys.env";

/// The variable with the token for API clients of the server.
pub const TOKEN: &str = "DIALECTIC_TOKEN";

/// An environment variable that should be a whole number and is not.
#[derive(Debug, thiserror::Error)]
#[error("the environment variable {name} is not a whole number of at least {minimum}")]
pub struct VariableError {
    name: &'static str,
    minimum: u64,
}

impl Diagnostic for VariableError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Configuration
    }
}

/// Environment variables, captured once. All values are secrets and never shown.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, Variable>,
    file: Option<PathBuf>,
    warnings: Vec<String>,
    /// The directory of the user's own configuration.
    user_directory: Option<PathBuf>,
    home: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    /// A found file whose token for the server is ignored.
    ignored_token: Option<PathBuf>,
}

#[derive(Clone)]
struct Variable {
    value: SecretString,
    author: Author,
}

impl Environment {
    /// The directory of the user's own configuration and keys, which may not exist.
    pub fn user_directory(&self) -> Option<&Path> {
        self.user_directory.as_deref()
    }

    /// The file of the user's own keys, which may not exist.
    pub fn keys_path(&self) -> Option<PathBuf> {
        Some(self.user_directory()?.join(KEYS_FILE))
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// An environment with only these variables.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut environment = Self::default();
        environment.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())), &Author::User);
        environment
    }

    /// Adds pairs; later ones override earlier ones, but empty values override nothing.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = (String, String)>, author: &Author) {
        for (name, value) in pairs {
            // Keys read with `$(cat file)` often end in a line break, which headers cannot contain.
            let value = value.trim();
            if !value.is_empty() {
                self.variables.insert(name, Variable { value: SecretString::from(value), author: author.clone() });
            }
        }
    }

    /// Sets the places on this machine: the user's configuration directory, home directory, and the certificate file
    /// that the process trusts.
    pub fn with_places(
        self,
        user_directory: Option<PathBuf>,
        home: Option<PathBuf>,
        certificate_file: Option<PathBuf>,
    ) -> Self {
        Self { user_directory, home, certificate_file, ..self }
    }

    /// Records the environment file; it is never shown to a model.
    pub fn set_file(&mut self, path: &Path) {
        self.file = Some(path.to_owned());
    }

    /// Records a found file whose token for the server is ignored.
    pub fn note_ignored_token(&mut self, path: &Path) {
        self.ignored_token = Some(path.to_owned());
    }

    /// Adds warnings about the files, without their contents.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.extend(warnings);
    }

    /// The environment file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The author of a variable.
    pub fn author(&self, name: &str) -> Option<&Author> {
        self.variables.get(name).map(|variable| &variable.author)
    }

    /// Warnings about the file, line by line, without its contents.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// `DIALECTIC_TOKEN`, if the user set it: the token for API clients of the server.
    pub fn token(&self) -> Option<&str> {
        self.get(TOKEN)
    }

    /// A warning about an ignored token, with the file to name so that the token counts.
    pub fn token_warning(&self) -> Option<(String, Remedy)> {
        let path = self.ignored_token.as_ref()?;
        let keys = self.keys_path().map(|keys| format!(", put it into {}", keys.display())).unwrap_or_default();
        let warning = format!(
            "{TOKEN} in `{}` is ignored, because the file was found and not named: set it in the environment{keys}, or \
             name the file",
            path.display()
        );
        Some((warning, Remedy::NameEnvFile(path.clone())))
    }

    /// The value of a variable that is not secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|variable| variable.value.expose_secret())
    }

    /// The certificate file that the process trusts. Environment files cannot set it, since the TLS library reads the
    /// process's variable.
    pub fn certificate_file(&self) -> Option<&Path> {
        self.certificate_file.as_deref()
    }

    /// The value of a secret variable.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).map(|variable| variable.value.clone())
    }

    /// The value of a variable that the user set.
    pub fn of_user(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|_| self.author(name) == Some(&Author::User))
    }

    /// The variables that the user set, without those of found files.
    pub(super) fn users_own(&self) -> Self {
        let mut own = self.clone();
        own.variables.retain(|_, variable| variable.author == Author::User);
        own
    }

    /// The variables that the user set, keys included.
    pub(super) fn all_of_user(&self) -> impl Iterator<Item = (&str, &SecretString)> {
        let of_user = self.variables.iter().filter(|(_, variable)| variable.author == Author::User);
        of_user.map(|(name, variable)| (name.as_str(), &variable.value))
    }

    /// Whether a variable has a value.
    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// `OFFLINE_SEED`: the seed of the offline provider.
    ///
    /// # Errors
    /// It is not a whole number.
    pub fn offline_seed(&self) -> Result<Option<u64>, VariableError> {
        self.whole("OFFLINE_SEED", 0)
    }

    /// `OFFLINE_LATENCY_MS`: the time that the offline provider takes for an answer.
    ///
    /// # Errors
    /// It is not a whole number.
    pub fn offline_latency(&self) -> Result<Option<Duration>, VariableError> {
        Ok(self.whole("OFFLINE_LATENCY_MS", 0)?.map(Duration::from_millis))
    }

    /// Sets the offline provider's latency unless `OFFLINE_LATENCY_MS` does.
    pub fn pace_offline(&mut self, latency: Duration) {
        if !self.has("OFFLINE_LATENCY_MS") {
            self.extend([("OFFLINE_LATENCY_MS".to_owned(), latency.as_millis().to_string())], &Author::User);
        }
    }

    /// `OFFLINE_FAIL_EVERY`: makes every nth call of the offline provider fail.
    ///
    /// # Errors
    /// It is not a whole number of at least 1.
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
        assert_eq!(error, "the environment variable OFFLINE_FAIL_EVERY is not a whole number of at least 1");
        assert_eq!(Environment::default().offline_seed().unwrap(), None);
        assert!(Environment::from_pairs([("OFFLINE_SEED", "-1")]).offline_seed().is_err());
    }

    #[test]
    fn debug_shows_no_value() {
        let shown = format!("{:?}", Environment::from_pairs([("OPENAI_API_KEY", "sk-secret")]));
        assert!(!shown.contains("sk-secret") && shown.contains('1'), "{shown}");
    }
}
