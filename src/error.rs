//! All errors of the program, and their exit codes.

use std::path::PathBuf;

use crate::remedy;
use crate::status::{ASKS, STILL_RUNS, TRY_AGAIN};
use crate::sweep::worker::Tally;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{DebateId, ForkPoint};
use dialectic_record::store::StoreError;

/// Why the program fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of another module.
    #[error(transparent)]
    Diagnosed(Box<dyn Diagnostic>),
    /// A debate could not be saved.
    #[error("the debate {id} cannot be saved")]
    NotSaved {
        /// The debate.
        id: DebateId,
        /// Whether its journal is intact.
        has_journal: bool,
        /// The reason.
        source: StoreError,
    },
    /// No evaluator answered for these debates.
    #[error("no evaluator could evaluate {}", debates.join(", "))]
    NotEvaluated {
        /// The names of the debates.
        debates: Vec<String>,
    },
    /// The comparison of debates and arms was interrupted.
    #[error("interrupted; everything that was paid for is kept")]
    LiftInterrupted,
    /// The user interrupted something else.
    #[error("{said}")]
    UserStopped {
        /// What became of it.
        said: String,
        /// The advice for the user.
        hint: Option<String>,
    },
    /// Some problems could not be compared.
    #[error("{missing} of {all} comparisons are missing")]
    NotCompared {
        /// The number of missing comparisons.
        missing: usize,
        /// The total number.
        all: usize,
    },
    /// Debates of a set are not finished.
    #[error("the set is not finished: {_0}")]
    SetUnfinished(Box<Tally>),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file already exists.
    #[error("{0} already exists")]
    Exists(PathBuf),
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Stdout(#[source] std::io::Error),
    /// Answers cannot be read.
    #[error("cannot read the answers from standard input")]
    Stdin(#[source] std::io::Error),
    /// The event stream is incomplete, which was already reported.
    #[error("the event stream is incomplete")]
    EventsIncomplete,
    /// The reader of standard output is gone; nothing is reported.
    #[error("standard output was closed")]
    PipeClosed,
    /// A detached run cannot be started.
    #[error("the debate cannot be detached")]
    Detach(#[source] std::io::Error),
    /// The child process has already reported its error.
    #[error("the debate did not start")]
    Said {
        /// The exit code.
        code: u8,
    },
    /// The runtime cannot be started.
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    /// The debate ended without a solution.
    #[error("the debate {id} failed: {reason}")]
    DebateFailed {
        /// The debate.
        id: DebateId,
        /// The reason.
        reason: String,
    },
    /// All calls failed.
    #[error("all calls failed: {what}{}{}", check_of(check.as_deref()), others_of(*others))]
    AllCallsFailed {
        /// The debate.
        id: DebateId,
        /// The error of one of them.
        what: String,
        /// The variable with the refused key.
        check: Option<String>,
        /// The number of other errors.
        others: usize,
        /// The server's message about the key.
        #[source]
        said: Option<ForeignMessage>,
        /// Whether the debate is recorded.
        is_kept: bool,
    },
    /// The cost limit has no room for the judge: interrupted attempts count.
    #[error("the debate {id} failed: {reason}")]
    NoRoomToClose {
        /// The debate.
        id: DebateId,
        /// The reason in the state.
        reason: String,
        /// The point for a fork with a higher limit.
        at: ForkPoint,
    },
    /// The outcome is not `full`, under `--strict`.
    #[error("the outcome of the debate {id} is not full")]
    NotFull {
        /// The debate.
        id: DebateId,
    },
    /// A review found something at least as severe as `--fail-on` allows.
    #[error("the review {id} has {findings}")]
    Findings {
        /// The debate.
        id: DebateId,
        /// The number of findings, as text.
        findings: String,
    },
    /// A required server is unreachable; the debate is saved.
    #[error("server unreachable; the debate {id} is saved as paused")]
    ServerGone {
        /// The debate.
        id: DebateId,
    },
    /// A subscription's limit is reached; the debate is saved.
    #[error("usage limit reached; the debate {id} was saved as paused")]
    LimitReached {
        /// The debate.
        id: DebateId,
    },
    /// The process was killed.
    #[error("interrupted: no process runs the debate {0} any more")]
    Killed(DebateId),
    /// The debate is saved as paused.
    #[error("the debate {id} is paused")]
    Paused {
        /// The debate.
        id: DebateId,
    },
    /// The debate waits for answers.
    #[error("the debate {0} has questions for you")]
    Asks(DebateId),
    /// The time limit for waiting was reached.
    #[error("the debate {0} is still running")]
    StillRunning(DebateId),
    /// The debate was interrupted and saved.
    #[error("interrupted; the debate {0} is saved as paused")]
    Interrupted(DebateId),
}

/// An error that only its reader tells from others: all of it is said where it occurs.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Complaint {
    blame: ErrorCategory,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Complaint {
    /// An error of this category.
    pub fn of(blame: ErrorCategory, message: impl Into<String>) -> Self {
        Self { blame, message: message.into(), hint: None, source: None }
    }

    /// An error of the command line or of an input file.
    pub fn input(message: impl Into<String>) -> Self {
        Self::of(ErrorCategory::Arguments, message)
    }

    /// With advice for the user.
    pub fn advising(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// With the reason.
    pub fn because(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

impl Diagnostic for Complaint {
    fn blame(&self) -> ErrorCategory {
        self.blame
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// A foreign message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ForeignMessage(pub String);

fn check_of(variable: Option<&str>) -> String {
    variable.map(|variable| format!(": check {variable}")).unwrap_or_default()
}

fn others_of(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} for other reasons)") }
}

impl<E: Diagnostic> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Diagnosed(Box::new(error))
    }
}

impl Error {
    /// The user interrupted something, which had this end.
    pub fn stopped(said: impl Into<String>) -> Self {
        Self::UserStopped { said: said.into(), hint: None }
    }

    /// The exit code: 1 general, 2 arguments or input files, 3 provider, 4 configuration, 5 degraded under
    /// `--strict` or in a review, 6 a review has findings under `--fail-on`, 7 the debate has questions, 8 the
    /// budget of a set is spent, 75 try again
    /// later (a server is unreachable, or another process or none runs the debate), 124 still running, 130 interrupted
    /// (`docs/commands.md`).
    pub fn exit_code(&self) -> u8 {
        let blame = match self {
            Self::Diagnosed(error) => error.blame(),
            Self::NotSaved { .. }
            | Self::Output { .. }
            | Self::Exists(_)
            | Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Detach(_)
            | Self::Runtime(_) => ErrorCategory::General,
            Self::DebateFailed { .. }
            | Self::AllCallsFailed { .. }
            | Self::NoRoomToClose { .. }
            | Self::NotEvaluated { .. }
            | Self::NotCompared { .. } => ErrorCategory::Provider,
            Self::SetUnfinished(tally) => return tally.exit_code(),
            Self::NotFull { .. } => return 5,
            Self::Findings { .. } => return 6,
            Self::Said { code } => return *code,
            Self::Asks(_) => return ASKS,
            Self::StillRunning(_) => return STILL_RUNS,
            Self::ServerGone { .. } | Self::LimitReached { .. } | Self::Killed(_) | Self::Paused { .. } => {
                return TRY_AGAIN;
            }
            Self::Interrupted(_) | Self::UserStopped { .. } | Self::LiftInterrupted => return 130,
        };
        match blame {
            ErrorCategory::General => 1,
            ErrorCategory::Arguments => 2,
            ErrorCategory::Provider => 3,
            ErrorCategory::Configuration => 4,
            ErrorCategory::Busy => TRY_AGAIN,
        }
    }

    /// The advice for the user, if any.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Diagnosed(error) => return remedy::hint(error.hint(), error.remedy().as_ref()),
            Self::UserStopped { hint, .. } => return hint.clone(),
            Self::LiftInterrupted | Self::NotCompared { .. } => {
                "run the same command to continue; finished work is not repeated".to_owned()
            }
            Self::SetUnfinished(tally) => tally.hint().to_owned(),
            Self::Output { .. } => "check permissions and free space, or name another file".to_owned(),
            Self::NotSaved { id, has_journal: false, .. } => {
                format!("restore the debate's files, then: dialectic resume {id}")
            }
            Self::Exists(_) => "name another file, or remove this one first".to_owned(),
            Self::DebateFailed { id, .. }
            | Self::AllCallsFailed { id, is_kept: true, .. }
            | Self::NotSaved { id, has_journal: true, .. } => {
                format!("all texts are saved; when the cause is fixed: dialectic resume {id}")
            }
            Self::NotFull { id } => format!("`dialectic show {id}` shows why"),
            Self::Findings { id, .. } => format!("`dialectic show {id}` shows them again"),
            Self::NoRoomToClose { id, at, .. } => {
                format!("with a higher limit: dialectic fork {id} --at {at} --set debate.budget.maxCostUsd=<dollars>")
            }
            Self::LimitReached { id } => format!("when your usage limit resets: dialectic resume {id}"),
            Self::ServerGone { id } => format!("when the server is back: dialectic resume {id}"),
            Self::Interrupted(id) | Self::Killed(id) | Self::Paused { id } => {
                format!("continue with: dialectic resume {id}")
            }
            Self::Asks(id) => format!("answer to continue: dialectic answer {id} q1=\"...\""),
            Self::StillRunning(id) => format!("keep waiting: dialectic wait {id}"),
            Self::AllCallsFailed { is_kept: false, .. }
            | Self::NotEvaluated { .. }
            | Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Runtime(_)
            | Self::Detach(_)
            | Self::Said { .. } => return None,
        };
        Some(hint)
    }
}
