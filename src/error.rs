//! The program's errors and their exit codes.

use std::path::PathBuf;

use crate::status::TRY_AGAIN;

/// Each category's value is its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ErrorCategory {
    /// An error that no other category covers, such as a failed write or an internal error.
    General = 1,
    /// A bad command line or input file.
    Arguments = 2,
    /// Model calls failed permanently.
    Provider = 3,
    /// A bad configuration, or missing or bad environment variables.
    Configuration = 4,
    /// Something is temporarily unavailable; a later attempt may succeed.
    Busy = TRY_AGAIN,
}

/// Implemented in `advice` for the errors of all other modules and crates.
pub trait Diagnostic: std::error::Error + Send + Sync + 'static {
    /// The category, and what the user can do unless the message already says it.
    fn advice(&self) -> (ErrorCategory, Option<String>);

    fn blame(&self) -> ErrorCategory {
        self.advice().0
    }

    fn hint(&self) -> Option<String> {
        self.advice().1
    }
}

impl std::error::Error for Box<dyn Diagnostic> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}

/// The exit code that shells report after SIGINT: 128 + its number.
pub const INTERRUPTED: u8 = 130;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Diagnosed(Box<dyn Diagnostic>),
    #[error("interrupted; the debate {0} is saved as paused")]
    Interrupted(String),
    /// The user declined to start, which is not a failure.
    #[error("Nothing was started.")]
    Declined,
    /// An error with its own exit code, independent of the categories.
    #[error("{said}")]
    Coded { code: u8, said: String, hint: Option<String> },
    #[error("cannot write {path}")]
    Output { path: PathBuf, source: std::io::Error },
    #[error("{0} already exists")]
    Exists(PathBuf),
    #[error("cannot write to standard output")]
    Stdout(#[source] std::io::Error),
    #[error("cannot read the answers from standard input")]
    Stdin(#[source] std::io::Error),
    /// Not printed: it was already reported when the stream failed.
    #[error("the event stream is incomplete")]
    EventsIncomplete,
    /// Not printed: the reader, such as `head`, wants no more.
    #[error("standard output was closed")]
    PipeClosed,
    #[error("cannot detach the debate")]
    Detach(#[source] std::io::Error),
    /// Not printed: the child process has already reported its error.
    #[error("the debate did not start")]
    Said { code: u8 },
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
}

/// An error that is only reported: no code depends on its kind.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    blame: ErrorCategory,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl UserError {
    pub fn of(blame: ErrorCategory, message: impl Into<String>) -> Self {
        Self { blame, message: message.into(), hint: None, source: None }
    }

    pub fn input(message: impl Into<String>) -> Self {
        Self::of(ErrorCategory::Arguments, message)
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

impl Diagnostic for UserError {
    fn advice(&self) -> (ErrorCategory, Option<String>) {
        (self.blame, self.hint.clone())
    }
}

/// The error and its causes, separated by colons.
pub fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl<E: Diagnostic> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Diagnosed(Box::new(error))
    }
}

impl Error {
    pub fn stopped(said: impl Into<String>) -> Self {
        Self::Coded { code: INTERRUPTED, said: said.into(), hint: None }
    }

    /// The exit code: 1 general, 2 arguments or input files, 3 provider, 4 configuration, 5 the run of a review is
    /// incomplete or `--strict` is not met, 6 a review has a finding that `--fail-on` forbids, 7 the debate waits for
    /// answers or replies, 75 try again later (for example, because a server is unreachable or the debate is running in
    /// another process), 124 still running, 130 interrupted. `docs/automation.md` lists them too.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Diagnosed(error) => error.blame() as u8,
            Self::Declined => 0,
            Self::Said { code } | Self::Coded { code, .. } => *code,
            Self::Interrupted(_) => INTERRUPTED,
            Self::Output { .. }
            | Self::Exists(_)
            | Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Detach(_)
            | Self::Runtime(_) => ErrorCategory::General as u8,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Diagnosed(error) => return error.hint(),
            Self::Coded { hint, .. } => return hint.clone(),
            Self::Interrupted(id) => format!("continue with: dialectic resume {id}"),
            Self::Output { .. } => "check permissions and free space, or use another file".to_owned(),
            Self::Exists(_) => "use another file, or remove this one first".to_owned(),
            Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Runtime(_)
            | Self::Detach(_)
            | Self::Declined
            | Self::Said { .. } => return None,
        };
        Some(hint)
    }
}
