//! Errors of loading a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
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
    /// The value of a command-line option cannot be used without another one.
    #[error("{option} {message}")]
    Incomplete {
        /// The option, as typed.
        option: &'static str,
        message: String,
        remedy: Remedy,
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

impl Diagnostic for ConfigError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Argument { .. } | Self::Incomplete { .. } | Self::ContextDir { .. } => ErrorCategory::Arguments,
            Self::Unreadable { .. }
            | Self::Missing(_)
            | Self::Untrusted { .. }
            | Self::Unmet(_)
            | Self::Directory(_)
            | Self::NotUtf8 { .. }
            | Self::Syntax { .. }
            | Self::WrongType { .. }
            | Self::Invalid { .. } => ErrorCategory::Configuration,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Directory(_) => "give the path of a JSON file, e.g. `./debate-config.json`",
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Untrusted { path, .. } => {
                let path = path.display();
                return Some(format!(
                    "if you trust it, run `dialectic config trust {path}` once, or name it: --config {path}"
                ));
            }
            Self::Missing(_) => "check the path, or write a file with `dialectic config init <path>`",
            Self::Syntax { fault: SyntaxFault::Empty, .. } => "write a starter with `dialectic config init`",
            Self::Syntax { fault: SyntaxFault::Comment, .. } => {
                "JSON has no comments; keys named `$comment` or `//` are ignored and can contain remarks"
            }
            Self::WrongType { expected, found, .. } if found == "a string" && expected == "a number" => {
                "write the number without quotes"
            }
            Self::WrongType { expected, found, .. } if found == "a string" && expected == "true or false" => {
                "write true or false without quotes"
            }
            Self::WrongType { .. } | Self::Invalid { .. } => {
                "`dialectic config schema` prints every key with its type; `dialectic config check` checks a file"
            }
            Self::Unreadable { .. }
            | Self::Unmet(_)
            | Self::Syntax { .. }
            | Self::Argument { .. }
            | Self::Incomplete { .. }
            | Self::ContextDir { .. } => return None,
        };
        Some(hint.to_owned())
    }

    fn remedy(&self) -> Option<Remedy> {
        if let Self::Incomplete { remedy, .. } = self { Some(remedy.clone()) } else { None }
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
