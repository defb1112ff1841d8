//! Errors of loading a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use dialectic_base::encoding::NotUtf8;
use dialectic_base::key_path::KeyPath;

use super::locate::{Location, ProblemSubject};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It exists but cannot be read.
    #[error("cannot read the configuration `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the configuration `{}` is a directory", .0.display())]
    Directory(PathBuf),
    /// It is not UTF-8.
    #[error("the configuration `{}` is not UTF-8 text ({location})", path.display())]
    NotUtf8 {
        path: PathBuf,
        /// The first invalid byte.
        location: Location,
        fault: NotUtf8,
    },
    #[error("the configuration `{}` is not JSON ({location}): {fault}", path.display())]
    Syntax {
        path: PathBuf,
        /// Where the parser stopped.
        location: Location,
        fault: SyntaxFault,
    },
    /// A value has the wrong type.
    #[error("the configuration `{}` has a wrong value at {key} ({location}): expected {expected}, found {found}", path.display())]
    WrongType {
        path: PathBuf,
        /// Where the value begins.
        location: Location,
        key: KeyPath,
        expected: String,
        /// The type found. Never the value, which may be a misplaced secret.
        found: String,
    },
    /// All values that cannot be used.
    #[error("the configuration `{}` cannot be used{}", path.display(), ProblemList(problems))]
    Invalid {
        path: PathBuf,
        /// The problems, at least one.
        problems: Vec<ConfigProblem>,
    },
    /// The named file does not exist.
    #[error("there is no configuration `{}`", .0.display())]
    Missing(PathBuf),
    /// An untrusted file sets what only the user may set.
    #[error("`{}` is not trusted, so {fault}", path.display())]
    Untrusted {
        path: PathBuf,
        /// What the file may not do.
        fault: String,
    },
    /// A requirement of the request is missing.
    #[error("{0}")]
    Unmet(String),
    /// The value of a command-line option cannot be used.
    #[error("{option} {message}")]
    Argument {
        /// The option, as typed.
        option: &'static str,
        message: String,
    },
    /// Several or no providers may serve the model in a command-line option.
    #[error("{option} {message}")]
    NeedsProvider {
        /// The option, as typed.
        option: &'static str,
        message: String,
    },
    /// The directory for context cannot be opened.
    #[error("cannot use the context directory `{}`", path.display())]
    ContextDir { path: PathBuf, source: io::Error },
}

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxFault {
    Empty,
    /// It contains a comment, which JSON does not allow.
    Comment,
    /// The parser's message.
    Other(String),
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the file is empty",
            Self::Comment => "there is a comment",
            Self::Other(message) => message,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    pub subject: ProblemSubject,
    /// Continues a sentence that begins with the subject. Never contains a secret.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

/// One problem on the same line, several on a line each.
struct ProblemList<'a>(&'a [ConfigProblem]);

impl fmt::Display for ProblemList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0 {
            return write!(f, ": {problem}");
        }
        write!(f, ", {} problems:", self.0.len())?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}
