//! Errors and findings from loading a configuration, and suggestions for misspelled names.

use std::path::PathBuf;
use std::{fmt, io};

use dialectic_base::encoding::NotUtf8;
use dialectic_base::figures::backquoted;
use dialectic_base::key_path::KeyPath;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the configuration `{}` is a directory", .0.display())]
    Directory(PathBuf),
    #[error("the configuration `{}` is not UTF-8 text ({location})", path.display())]
    NotUtf8 {
        path: PathBuf,
        /// The position of the first invalid byte.
        location: Location,
        fault: NotUtf8,
    },
    #[error("the configuration `{}` is not valid JSON ({location}): {fault}", path.display())]
    Syntax { path: PathBuf, location: Location, fault: SyntaxFault },
    #[error("the configuration `{}` has an invalid value at {key} ({location}): expected {expected}, found {found}", path.display())]
    WrongType {
        path: PathBuf,
        location: Location,
        key: KeyPath,
        expected: String,
        /// The type that was found. Never the value, which may be a misplaced secret.
        found: String,
    },
    #[error("the configuration `{}` cannot be used{}", path.display(), listed(problems))]
    Invalid {
        path: PathBuf,
        /// Never empty.
        problems: Vec<ConfigProblem>,
    },
    #[error("configuration file `{}` not found", .0.display())]
    Missing(PathBuf),
    /// An untrusted file sets something that only the user may set.
    #[error("`{}` is not trusted, so {fault}", path.display())]
    Untrusted {
        path: PathBuf,
        /// A clause such as `it may not set hooks`.
        fault: String,
    },
    /// The request cannot be met, for example `--mixed` with the key of only one provider.
    #[error("{0}")]
    Unmet(String),
    #[error("no API key is set, and no model is configured")]
    NoKey,
    #[error("{option} {message}")]
    Argument { option: &'static str, message: String },
    /// It is unclear which provider should serve the model in a command-line option.
    #[error("{option} {message}")]
    NeedsProvider { option: &'static str, message: String },
    #[error("cannot use the context directory `{}`", path.display())]
    ContextDir { path: PathBuf, source: io::Error },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxFault {
    Empty,
    Comment,
    Other(String),
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the file is empty",
            Self::Comment => "it contains a comment",
            Self::Other(message) => message,
        })
    }
}

/// A position in a text. Lines and columns count from 1; columns are in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: usize,
    pub column: usize,
}

impl Location {
    pub(super) fn after(text: &str) -> Self {
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self { line: text.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A problem with a configuration file or an environment variable. Its message never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigProblem {
    Key {
        path: KeyPath,
        /// The position of the value, or of the nearest existing parent.
        location: Option<Location>,
        message: String,
    },
    Variable {
        name: String,
        message: String,
    },
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { path, location: Some(location), message } => write!(f, "{path} ({location}): {message}"),
            Self::Key { path, location: None, message } => write!(f, "{path}: {message}"),
            Self::Variable { name, message } => write!(f, "environment variable {name}: {message}"),
        }
    }
}

fn listed(problems: &[ConfigProblem]) -> String {
    if let [problem] = problems {
        return format!(": {problem}");
    }
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!(", {} problems:\n  {}", problems.len(), lines.join("\n  "))
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    /// Whether naming the provider as well would solve the problem.
    pub(super) needs_provider: bool,
}

impl Fault {
    pub(super) fn of(self, option: &'static str) -> ConfigError {
        let Self { message, needs_provider } = self;
        if needs_provider {
            ConfigError::NeedsProvider { option, message }
        } else {
            ConfigError::Argument { option, message }
        }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, needs_provider: false }
    }
}

#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) warnings: Vec<String>,
    /// The first error that concerns an option or the request rather than a file.
    pub(super) refusal: Option<ConfigError>,
}

impl Diagnostics {
    pub(super) fn problem(&mut self, path: KeyPath, message: impl Into<String>) {
        self.problems.push(ConfigProblem::Key { path, location: None, message: message.into() });
    }

    pub(super) fn variable_problem(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push(ConfigProblem::Variable { name: name.to_owned(), message: message.into() });
    }

    pub(super) fn argument(&mut self, option: &'static str, fault: impl Into<Fault>) {
        self.refusal.get_or_insert(fault.into().of(option));
    }

    pub(super) fn unmet(&mut self, message: String) {
        self.refusal.get_or_insert(ConfigError::Unmet(message));
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Returns the problems in file order, adding the position of each one that concerns a key.
    pub(super) fn located(mut self, find: impl Fn(&KeyPath) -> Option<Location>) -> Vec<ConfigProblem> {
        for problem in &mut self.problems {
            if let ConfigProblem::Key { path, location, .. } = problem {
                *location = find(path);
            }
        }
        self.problems.sort_by_key(|problem| match problem {
            ConfigProblem::Key { location, .. } => *location,
            ConfigProblem::Variable { .. } => None,
        });
        self.problems
    }

    /// `what` is the kind of name, such as `provider`.
    pub(super) fn check_name(&mut self, path: KeyPath, name: Option<&str>, what: &str, known: &[&str]) {
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            self.problem(path, unknown(what, name, known));
        }
    }
}

pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let all = backquoted(known.iter().copied());
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{name}` (did you mean `{near}`?); known: {all}"),
        None => format!("unknown {what} `{name}` (known: {all})"),
    }
}

/// The minimum similarity, from 0 to 1, at which a name is suggested.
const SIMILAR: f64 = 0.6;

/// The candidate most similar to `name`, ignoring case and separators; `None` if none is similar enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// `(did you mean …?)`, or a list of the candidates; empty if there are none.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(candidate) = nearest(name, candidates.clone()) {
        return format!("(did you mean `{candidate}`?)");
    }
    let known = backquoted(candidates);
    if known.is_empty() { String::new() } else { format!("(known: {known})") }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_letter_case_and_separator_are_recognised() {
        let keys = ["temperature", "toolCallLimit", "tools"];
        assert_eq!(nearest("temprature", keys), Some("temperature"));
        assert_eq!(nearest("tool_call_limit", keys), Some("toolCallLimit"));
        assert_eq!(nearest("TOOLS", keys), Some("tools"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(suggestion("banana", ["a", "b"]), "(known: `a`, `b`)");
    }
}
