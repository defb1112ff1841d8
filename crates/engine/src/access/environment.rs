//! Environment variables: what keys, addresses and options are read from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};

use super::stranger::Author;

/// The user's own keys, in the user's directory.
const KEYS_FILE: &str = "keys.env";

/// The token of programs that ask the server.
pub const TOKEN: &str = "DIALECTIC_TOKEN";

/// A variable of the environment that should hold a whole number.
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

/// Environment variables, captured once. All values are kept as secrets; none is ever shown.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, Variable>,
    file: Option<PathBuf>,
    warnings: Vec<String>,
    /// Where the user's own configuration lies.
    user_directory: Option<PathBuf>,
    home: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    /// The file that was found and has a token for the server in it, which is ignored.
    ignored_token: Option<PathBuf>,
}

#[derive(Clone)]
struct Variable {
    value: SecretString,
    author: Author,
}

impl Environment {
    /// Where the user's own configuration and keys lie, whether or not they are there.
    pub fn user_directory(&self) -> Option<&Path> {
        self.user_directory.as_deref()
    }

    /// The file of the user's own keys, whether or not it is there.
    pub fn keys_path(&self) -> Option<PathBuf> {
        Some(self.user_directory()?.join(KEYS_FILE))
    }

    /// Where the user is at home.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// An environment of just these variables.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut environment = Self::default();
        environment.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())), &Author::User);
        environment
    }

    /// Later pairs win over earlier ones, except that an empty value never hides another.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = (String, String)>, author: &Author) {
        for (name, value) in pairs {
            // Keys read with `$(cat file)` and the like often end in a line break, which no header can carry.
            let value = value.trim();
            if !value.is_empty() {
                self.variables.insert(name, Variable { value: SecretString::from(value), author: author.clone() });
            }
        }
    }

    /// The same, with places on this machine: the user's directory of configurations, the user's home, and the file of
    /// certificates that the process is told to trust.
    pub fn with_places(
        self,
        user_directory: Option<PathBuf>,
        home: Option<PathBuf>,
        certificate_file: Option<PathBuf>,
    ) -> Self {
        Self { user_directory, home, certificate_file, ..self }
    }

    /// Notes the environment file that variables come from: nobody is shown it.
    pub fn set_file(&mut self, path: &Path) {
        self.file = Some(path.to_owned());
    }

    /// Notes the file that was found and has a token for the server in it, which is left out.
    pub fn note_ignored_token(&mut self, path: &Path) {
        self.ignored_token = Some(path.to_owned());
    }

    /// Notes what was odd about the files that variables come from, without their contents.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.extend(warnings);
    }

    /// The environment file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Who set a variable.
    pub fn author(&self, name: &str) -> Option<&Author> {
        self.variables.get(name).map(|variable| &variable.author)
    }

    /// What was odd about the file, line by line, without its contents.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// `DIALECTIC_TOKEN`: the token of programs that ask the server, where the user set it.
    pub fn token(&self) -> Option<&str> {
        self.get(TOKEN)
    }

    /// What to tell who may count on a token that is ignored.
    pub fn token_warning(&self) -> Option<String> {
        let path = self.ignored_token.as_ref()?.display();
        let keys = self.keys_path().map(|keys| format!(", put it into {}", keys.display())).unwrap_or_default();
        Some(format!(
            "{TOKEN} in `{path}` is ignored, because the file was found and not named: set it in the environment{keys}, \
             or name the file: --env-file {path}"
        ))
    }

    /// The value of a variable that is no secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|variable| variable.value.expose_secret())
    }

    /// The file of certificates that the process is told to trust: what an environment file says of it does not count,
    /// since the TLS library reads its variable from the process.
    pub fn certificate_file(&self) -> Option<&Path> {
        self.certificate_file.as_deref()
    }

    /// The value of a variable that is a secret.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).map(|variable| variable.value.clone())
    }

    /// The value of a variable that the user has set.
    pub fn of_user(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|_| self.author(name) == Some(&Author::User))
    }

    /// What the user has set, without what was found.
    pub(super) fn users_own(&self) -> Self {
        let mut own = self.clone();
        own.variables.retain(|_, variable| variable.author == Author::User);
        own
    }

    /// The variables that the user has set, keys included.
    pub(super) fn all_of_user(&self) -> impl Iterator<Item = (&str, &SecretString)> {
        let of_user = self.variables.iter().filter(|(_, variable)| variable.author == Author::User);
        of_user.map(|(name, variable)| (name.as_str(), &variable.value))
    }

    /// Whether a variable has a value.
    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// `OFFLINE_SEED`: what the offline provider's choices follow from.
    ///
    /// # Errors
    /// It is set and not a whole number.
    pub fn offline_seed(&self) -> Result<Option<u64>, VariableError> {
        self.whole("OFFLINE_SEED", 0)
    }

    /// `OFFLINE_LATENCY_MS`: how long the offline provider takes for an answer.
    ///
    /// # Errors
    /// It is set and not a whole number.
    pub fn offline_latency(&self) -> Result<Option<Duration>, VariableError> {
        Ok(self.whole("OFFLINE_LATENCY_MS", 0)?.map(Duration::from_millis))
    }

    /// Has the offline provider take so long for an answer where `OFFLINE_LATENCY_MS` does not say.
    pub fn pace_offline(&mut self, latency: Duration) {
        if !self.has("OFFLINE_LATENCY_MS") {
            self.extend([("OFFLINE_LATENCY_MS".to_owned(), latency.as_millis().to_string())], &Author::User);
        }
    }

    /// `OFFLINE_FAIL_EVERY`: every how manieth call of the offline provider fails.
    ///
    /// # Errors
    /// It is set and not a whole number of at least 1.
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
