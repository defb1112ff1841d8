//! What an error states besides its message: who caused it, and what can be done about it.

use std::error::Error;
use std::path::PathBuf;

/// Whom an error is laid to; the exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCategory {
    /// None of the others: a file cannot be written, or the program has a defect.
    General,
    /// The command line, or an input file.
    Arguments,
    /// A provider: the calls of models failed for good.
    Provider,
    /// The configuration, or the environment's keys and settings.
    Configuration,
    /// Nobody: something is in use at the moment, and the same will do later.
    Busy,
}

/// An error that may be the last word to the user.
pub trait Diagnostic: Error + Send + Sync + 'static {
    /// Whom it is laid to.
    fn blame(&self) -> ErrorCategory;

    /// What the user can do about it, if the message does not say.
    fn hint(&self) -> Option<String> {
        None
    }

    /// What can be done about it with means of the front end, which says how in its own words.
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}

/// Something that a front end lets its user do: the command line with an option or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Name this configuration.
    NameConfig(PathBuf),
    /// Name the configuration that a saved debate was begun with.
    NameConfigOfRecord,
    /// Name this environment file.
    NameEnvFile(PathBuf),
    /// Name this directory as context.
    NameContext(PathBuf),
    /// Take the offline provider.
    GoOffline,
    /// Give a cost limit for this one question.
    LimitQuestion,
    /// Give a limit of calls for this one question.
    LimitCallsOfQuestion,
    /// Ask the question again that is on record.
    AskAgain,
    /// Set this key of the configuration in another way.
    Set(&'static str),
    /// Resume this debate.
    Resume(String),
    /// List the saved debates.
    List,
    /// Verify the record.
    Verify,
    /// Replay what was said so far.
    Replay,
}

impl Error for Box<dyn Diagnostic> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}
