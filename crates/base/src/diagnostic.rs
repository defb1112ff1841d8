//! Facts about an error besides its message: who caused it and what the user can do.

use std::error::Error;

/// The cause of an error; it determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCategory {
    /// Everything else, such as a file that cannot be written, or an internal error.
    General,
    /// The command line, or an input file.
    Arguments,
    /// A provider: model calls failed permanently.
    Provider,
    /// The configuration, or the environment's keys and settings.
    Configuration,
    /// Temporary: something is in use, and a later attempt will succeed.
    Busy,
}

/// An error that may end the program.
pub trait Diagnostic: Error + Send + Sync + 'static {
    /// The category that determines the exit code.
    fn blame(&self) -> ErrorCategory;

    /// What the user can do, if the message does not say so.
    fn hint(&self) -> Option<String> {
        None
    }

    /// A remedy that the front end offers and puts into its own words.
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}

/// An action that a front end offers: the command line as an option or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Name the provider of a model.
    NameProvider,
    /// Set up a provider, or use one without a key.
    SetUp,
    GoOffline,
    /// Set a cost limit for this question.
    LimitQuestion,
    /// Set a limit of calls for this question.
    LimitCallsOfQuestion,
    /// Change this key of the configuration.
    Set(&'static str),
    Resume(String),
    List,
    Verify,
    /// Show the debate so far.
    Show,
}

impl Error for Box<dyn Diagnostic> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}
