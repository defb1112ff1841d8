//! The environment: the process's variables over those of an environment file. The only place that reads either.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use secrecy::{ExposeSecret, SecretString};

use crate::diagnostic::{Blame, Diagnostic};
use crate::encoding::{NotUtf8, decode};
use crate::llm::openai::CERTIFICATE_FILE;

use super::dotenv::{Fault, parse};
use super::stranger::Author;

/// The file that is read when none is named.
const DEFAULT_FILE: &str = ".env";

/// The user's own keys, in the user's directory.
const KEYS_FILE: &str = "keys.env";

/// The token of programs that ask the server.
pub(super) const TOKEN: &str = "DIALECTIC_TOKEN";

/// Which environment file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFile {
    /// `.env` in the working directory, if there is one.
    Default,
    /// This one, which must be there.
    Named(PathBuf),
}

/// An environment that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The file is missing or cannot be read.
    #[error("cannot read the environment file `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not text.
    #[error("the environment file `{}` is not UTF-8 text", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        fault: NotUtf8,
    },
    /// A variable should hold a whole number.
    #[error("the environment variable {name} is not a whole number of at least {minimum}")]
    NotANumber {
        /// The variable.
        name: &'static str,
        /// The least that it may be.
        minimum: u64,
    },
}

impl Diagnostic for EnvError {
    fn blame(&self) -> Blame {
        match self {
            Self::Unreadable { .. } | Self::NotUtf8 { .. } => Blame::Arguments,
            Self::NotANumber { .. } => Blame::Configuration,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotUtf8 { fault, .. } => Some(fault.hint()),
            Self::Unreadable { .. } | Self::NotANumber { .. } => None,
        }
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
    /// Reads the process's variables, those of the environment file, and the user's own keys. The process wins, then
    /// the file; an empty variable counts as unset. The process's own environment is not changed.
    ///
    /// # Errors
    /// The file cannot be read: only a default one may be missing, or be a directory (as virtual environments of
    /// other tools are).
    pub fn capture(file: &EnvFile) -> Result<Self, EnvError> {
        let default = Path::new(DEFAULT_FILE);
        let mut file = match file {
            EnvFile::Named(path) => Self::from_file(path, &Author::User)?,
            EnvFile::Default if default.is_file() => Self::from_file(default, &Author::EnvFile(default.into()))?,
            EnvFile::Default => Self::default(),
        };
        let mut environment = Self::of_own_keys()?;
        environment.warnings.append(&mut file.warnings);
        // Whoever wrote a file that was found would be let in by a token of theirs.
        if file.author(TOKEN).is_some_and(|author| *author != Author::User) {
            file.variables.remove(TOKEN);
            environment.ignored_token = file.file.clone();
        }
        environment.variables.extend(file.variables);
        environment.file = file.file;
        environment.extend(process_variables(), &Author::User);
        Ok(environment)
    }

    /// The process's variables over the user's own keys, without the environment file of any directory.
    ///
    /// # Errors
    /// The file with the keys cannot be read.
    pub fn of_user() -> Result<Self, EnvError> {
        let mut environment = Self::of_own_keys()?;
        environment.extend(process_variables(), &Author::User);
        Ok(environment)
    }

    /// The user's own keys, below everything else.
    fn of_own_keys() -> Result<Self, EnvError> {
        let places = Self::default().with_user_places();
        let keys = places.keys_path().filter(|path| path.is_file());
        let Some(path) = keys else { return Ok(places) };
        let mut keys = Self::from_file(&path, &Author::User)?;
        if let Some(mode) = open_to_others(&path) {
            let path = path.display();
            keys.warnings.push(format!("others can read your keys in {path} (mode {mode:04o}): chmod 600 {path}"));
        }
        Ok(Self { variables: keys.variables, warnings: keys.warnings, ..places })
    }

    fn with_user_places(self) -> Self {
        let strategy = etcetera::choose_base_strategy().ok();
        Self {
            user_directory: strategy.as_ref().map(|strategy| strategy.config_dir().join("dialectic")),
            home: strategy.map(|strategy| strategy.home_dir().to_owned()),
            certificate_file: std::env::var_os(CERTIFICATE_FILE).filter(|path| !path.is_empty()).map(PathBuf::from),
            ..self
        }
    }

    /// Where the user's own configuration and keys lie, whether or not they are there.
    #[must_use]
    pub fn user_directory(&self) -> Option<&Path> {
        self.user_directory.as_deref()
    }

    /// The file of the user's own keys, whether or not it is there.
    #[must_use]
    pub fn keys_path(&self) -> Option<PathBuf> {
        Some(self.user_directory()?.join(KEYS_FILE))
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The process's variables alone, for what concerns the terminal.
    #[must_use]
    pub fn of_process() -> Self {
        let mut environment = Self::default().with_user_places();
        environment.extend(process_variables(), &Author::User);
        environment
    }

    /// An environment of just these variables.
    #[must_use]
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut environment = Self::default();
        environment.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())), &Author::User);
        environment
    }

    fn from_file(path: &Path, author: &Author) -> Result<Self, EnvError> {
        let bytes = std::fs::read(path).map_err(|source| EnvError::Unreadable { path: path.to_owned(), source })?;
        let text = decode(&bytes).map_err(|fault| EnvError::NotUtf8 { path: path.to_owned(), fault })?;
        Ok(Self::from_text(text, path, author))
    }

    /// Lines that are not `NAME=value` become warnings, not errors: the file may belong to other tools too.
    pub(super) fn from_text(text: &str, path: &Path, author: &Author) -> Self {
        let parsed = parse(text);
        let mut environment = Self { file: Some(path.to_owned()), ..Self::default() };
        environment.extend(parsed.pairs, author);
        // No line is quoted: it may hold a key.
        let warning = |(line, fault)| {
            let what = match fault {
                Fault::NoPair => "is not `NAME=value` and is ignored",
                Fault::OpenQuote => "has a quote that is closed nowhere; the value is taken as it is written",
            };
            format!("line {line} of the environment file `{}` {what}", path.display())
        };
        environment.warnings = parsed.faults.into_iter().map(warning).collect();
        environment
    }

    /// Later pairs win over earlier ones, except that an empty value never hides another.
    fn extend(&mut self, pairs: impl IntoIterator<Item = (String, String)>, author: &Author) {
        for (name, value) in pairs {
            // Keys read with `$(cat file)` and the like often end in a line break, which no header can carry.
            let value = value.trim();
            if !value.is_empty() {
                self.variables.insert(name, Variable { value: SecretString::from(value), author: author.clone() });
            }
        }
    }

    /// The environment file that was read.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Who set a variable.
    pub(super) fn author(&self, name: &str) -> Option<&Author> {
        self.variables.get(name).map(|variable| &variable.author)
    }

    /// What was odd about the file, line by line, without its contents.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// `DIALECTIC_TOKEN`: the token of programs that ask the server, where the user set it.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.get(TOKEN)
    }

    /// What to tell who may count on a token that is ignored.
    #[must_use]
    pub fn token_warning(&self) -> Option<String> {
        let path = self.ignored_token.as_ref()?.display();
        let keys = self.keys_path().map(|keys| format!(", put it into {}", keys.display())).unwrap_or_default();
        Some(format!(
            "{TOKEN} in `{path}` is ignored, because the file was found and not named: set it in the environment{keys}, \
             or name the file: --env-file {path}"
        ))
    }

    /// The value of a variable that is no secret.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|variable| variable.value.expose_secret())
    }

    /// The file of certificates that the process is told to trust: what an environment file says of it does not count,
    /// since the TLS library reads its variable from the process.
    #[must_use]
    pub fn certificate_file(&self) -> Option<&Path> {
        self.certificate_file.as_deref()
    }

    /// The value of a variable that is a secret.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).map(|variable| variable.value.clone())
    }

    /// Whether a variable has a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// `OFFLINE_SEED`: what the offline provider's choices follow from.
    ///
    /// # Errors
    /// It is set and not a whole number.
    pub fn offline_seed(&self) -> Result<Option<u64>, EnvError> {
        self.whole("OFFLINE_SEED", 0)
    }

    /// `OFFLINE_LATENCY_MS`: how long the offline provider takes for an answer.
    ///
    /// # Errors
    /// It is set and not a whole number.
    pub fn offline_latency(&self) -> Result<Option<Duration>, EnvError> {
        Ok(self.whole("OFFLINE_LATENCY_MS", 0)?.map(Duration::from_millis))
    }

    /// `OFFLINE_FAIL_EVERY`: every how manieth call of the offline provider fails.
    ///
    /// # Errors
    /// It is set and not a whole number of at least 1.
    pub fn offline_fail_every(&self) -> Result<Option<u64>, EnvError> {
        self.whole("OFFLINE_FAIL_EVERY", 1)
    }

    fn whole(&self, name: &'static str, minimum: u64) -> Result<Option<u64>, EnvError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.parse().ok().filter(|number| *number >= minimum);
        number.map(Some).ok_or(EnvError::NotANumber { name, minimum })
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}

/// The mode of a file that others than its owner can read.
#[cfg(unix)]
fn open_to_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<u32> {
    None
}

/// A variable that is not Unicode can be neither a name nor a value that we know.
fn process_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Environment {
        Environment::from_text(text, Path::new("my.env"), &Author::User)
    }

    #[test]
    fn the_file_is_read_as_other_tools_read_it() {
        let environment =
            from_text("\u{feff}# note\nA=1\nexport B=\"two words\"\r\nC='$A' # why\nA=3\nEMPTY=\nLAST=x  ");
        assert_eq!(environment.get("A"), Some("3"));
        assert_eq!(environment.get("B"), Some("two words"));
        assert_eq!(environment.get("C"), Some("$A"));
        assert_eq!(environment.get("LAST"), Some("x"));
        assert!(!environment.has("EMPTY"));
        assert!(environment.warnings().is_empty());
    }

    #[test]
    fn bad_lines_are_named_by_number_and_never_quoted() {
        let environment = from_text("A=1\nsk-secret-key\nB=2\nsk-secret-key\n");
        assert_eq!(environment.get("B"), Some("2"));
        assert_eq!(
            environment.warnings(),
            [
                "line 2 of the environment file `my.env` is not `NAME=value` and is ignored",
                "line 4 of the environment file `my.env` is not `NAME=value` and is ignored"
            ]
        );
        let open = from_text("A=1\nB='open\nC=3\n");
        assert_eq!((open.get("B"), open.get("C")), (Some("'open"), Some("3")));
        assert_eq!(
            open.warnings(),
            [
                "line 2 of the environment file `my.env` has a quote that is closed nowhere; the value is taken as it is written"
            ]
        );
    }

    #[test]
    fn empty_is_unset_and_line_breaks_at_the_end_are_dropped() {
        let environment = Environment::from_pairs([("A", ""), ("B", " \n"), ("KEY", "sk-1\r\n")]);
        assert!(!environment.has("A") && !environment.has("B"));
        assert_eq!(environment.secret("KEY").unwrap().expose_secret(), "sk-1");
    }

    #[test]
    fn the_process_wins_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("named.env");
        std::fs::write(&path, "PATH=from-the-file\nDIALECTIC_TEST_ONLY_IN_FILE=yes\n").unwrap();
        let environment = Environment::capture(&EnvFile::Named(path)).unwrap();
        assert_eq!(environment.get("PATH"), std::env::var("PATH").ok().as_deref());
        assert_eq!(environment.get("DIALECTIC_TEST_ONLY_IN_FILE"), Some("yes"));
        assert!(std::env::var("DIALECTIC_TEST_ONLY_IN_FILE").is_err(), "the process is left alone");
    }

    #[test]
    fn a_named_file_must_be_readable_text() {
        let directory = tempfile::tempdir().unwrap();
        let missing = EnvFile::Named(directory.path().join("no.env"));
        assert!(matches!(Environment::capture(&missing), Err(EnvError::Unreadable { .. })));
        let folder = EnvFile::Named(directory.path().to_owned());
        assert!(matches!(Environment::capture(&folder), Err(EnvError::Unreadable { .. })));
        let binary = directory.path().join("binary.env");
        std::fs::write(&binary, [b'A', b'=', 0xff]).unwrap();
        assert!(matches!(Environment::capture(&EnvFile::Named(binary)), Err(EnvError::NotUtf8 { .. })));
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
