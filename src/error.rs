//! Every way in which the program can end without success, and the one mapping to exit codes.

use std::path::PathBuf;

use crate::remedy;
use crate::status::{ASKS, STILL_RUNS, TRY_AGAIN};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{DebateId, ForkPoint};
use dialectic_record::store::StoreError;

/// Why the program ends without success.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What another module says for itself.
    #[error(transparent)]
    Diagnosed(Box<dyn Diagnostic>),
    /// A debate that was run could not be saved any more.
    #[error("the debate {id} cannot be saved")]
    NotSaved {
        /// The debate.
        id: DebateId,
        /// Whether its journal is where it belongs.
        has_journal: bool,
        /// Why.
        source: StoreError,
    },
    /// The file that scores are to be appended to holds something else.
    #[error("{path} is not a file of evaluations: its first line is another header")]
    OtherTable {
        /// The file.
        path: PathBuf,
    },
    /// No evaluator gave an answer about these debates.
    #[error("no evaluator could evaluate {}", debates.join(", "))]
    NotEvaluated {
        /// Their names.
        debates: Vec<String>,
    },
    /// The evaluation was interrupted.
    #[error("interrupted; nothing was written")]
    EvaluationInterrupted,
    /// The comparison of debates and arms was interrupted.
    #[error("interrupted; everything that was paid for is kept")]
    LiftInterrupted,
    /// Some problems could not be compared.
    #[error("{missing} of {all} comparisons are missing")]
    NotCompared {
        /// How many.
        missing: usize,
        /// Of how many.
        all: usize,
    },
    /// There is nothing yet that a debate could be closed with.
    #[error("the debate {id} cannot be finished yet: it has no proposal")]
    NothingToFinish {
        /// The debate.
        id: DebateId,
    },
    /// A record is not what it was.
    #[error("the record of {id} is not whole")]
    NotWhole {
        /// The debate, by the name of its file.
        id: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is there already.
    #[error("{path} exists already")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Stdout(#[source] std::io::Error),
    /// Answers cannot be read.
    #[error("cannot read the answers from standard input")]
    Stdin(#[source] std::io::Error),
    /// The event stream is incomplete; it has been said already.
    #[error("the event stream is incomplete")]
    EventsIncomplete,
    /// The reader of our output has stopped; nothing is said.
    #[error("standard output was closed")]
    PipeClosed,
    /// A run of its own cannot be started.
    #[error("the debate cannot be detached")]
    Detach(#[source] std::io::Error),
    /// The process that was to run a debate has said itself why it does not.
    #[error("the debate was not begun")]
    Said {
        /// What it ended with.
        code: u8,
    },
    /// The runtime cannot be started.
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    /// The debate ended without an answer.
    #[error("the debate {id} failed: {reason}")]
    DebateFailed {
        /// The debate.
        id: DebateId,
        /// Why.
        reason: String,
    },
    /// The debate ended without an answer, and without any.
    #[error("all calls failed: {what}{}{}", check_of(check.as_deref()), others_of(*others))]
    AllCallsFailed {
        /// The debate.
        id: DebateId,
        /// What one of them ended with.
        what: String,
        /// The variable with the key that was refused.
        check: Option<String>,
        /// How many ended with something else.
        others: usize,
        /// What the server said to the key.
        #[source]
        said: Option<ForeignMessage>,
        /// Whether the debate is on record.
        is_kept: bool,
    },
    /// Nothing is left of its cost limit for the judge: attempts that broke off have to count.
    #[error("the debate {id} failed: {reason}")]
    NoRoomToClose {
        /// The debate.
        id: DebateId,
        /// Why, as the state says it.
        reason: String,
        /// Where a fork with a higher limit could begin.
        at: ForkPoint,
    },
    /// The debate did not end `full`, under `--strict`.
    #[error("the outcome of the debate {id} is not full")]
    NotFull {
        /// The debate.
        id: DebateId,
    },
    /// The demo was interrupted.
    #[error("interrupted; the recorded debate is there to be read")]
    DemoInterrupted {
        /// Its state file, as it is typed in a shell.
        state: String,
    },
    /// A replay was interrupted.
    #[error("interrupted; nothing was changed")]
    ReplayInterrupted,
    /// The debate had ended and was saved; the user did not wait until all of it was read.
    #[error("interrupted; the debate {id} ended and is saved, but some output was not read")]
    InterruptedAtEnd {
        /// The debate.
        id: DebateId,
    },
    /// The server was stopped.
    #[error("stopped; running debates are saved")]
    Stopped,
    /// A question about a debate was interrupted.
    #[error("interrupted; the question about {id} is saved without an answer")]
    QuestionInterrupted {
        /// The debate.
        id: DebateId,
    },
    /// A server that the debate needs is gone; the debate is saved.
    #[error("server unreachable; the debate {id} is saved as paused")]
    ServerGone {
        /// The debate.
        id: DebateId,
    },
    /// What a subscription allows is used up; the debate is saved.
    #[error("out of usage; the debate {id} is saved as paused")]
    LimitReached {
        /// The debate.
        id: DebateId,
    },
    /// Nobody runs it any more, and nobody saved it as paused.
    #[error("interrupted: nobody runs the debate {id} any more")]
    Killed {
        /// The debate.
        id: DebateId,
    },
    /// It is saved as paused.
    #[error("the debate {id} is paused")]
    Paused {
        /// The debate.
        id: DebateId,
    },
    /// It waits for answers that nobody is there to give.
    #[error("the debate {id} asks something")]
    Asks {
        /// The debate.
        id: DebateId,
    },
    /// It was not waited for any longer.
    #[error("the debate {id} still runs")]
    StillRunning {
        /// The debate.
        id: DebateId,
    },
    /// The debate was interrupted and saved.
    #[error("interrupted; the debate {id} is saved as paused")]
    Interrupted {
        /// The debate.
        id: DebateId,
    },
}

/// What somebody else said.
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
    /// The exit code: 1 general, 2 arguments or input files, 3 provider, 4 configuration, 5 degraded under
    /// `--strict`, 7 the debate asks something, 75 try again later (a server is gone, another process runs the debate, or nobody does), 124 it
    /// still runs, 130 interrupted
    /// (`docs/commands.md`).
    pub fn exit_code(&self) -> u8 {
        let blame = match self {
            Self::Diagnosed(error) => error.blame(),
            Self::OtherTable { .. } | Self::NothingToFinish { .. } | Self::NotWhole { .. } => ErrorCategory::Arguments,
            Self::NotSaved { .. }
            | Self::Output { .. }
            | Self::Exists { .. }
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
            Self::NotFull { .. } => return 5,
            Self::Said { code } => return *code,
            Self::Asks { .. } => return ASKS,
            Self::StillRunning { .. } => return STILL_RUNS,
            Self::ServerGone { .. } | Self::LimitReached { .. } | Self::Killed { .. } | Self::Paused { .. } => {
                return TRY_AGAIN;
            }
            Self::Interrupted { .. }
            | Self::InterruptedAtEnd { .. }
            | Self::QuestionInterrupted { .. }
            | Self::EvaluationInterrupted
            | Self::LiftInterrupted
            | Self::Stopped
            | Self::DemoInterrupted { .. }
            | Self::ReplayInterrupted => return 130,
        };
        match blame {
            ErrorCategory::General => 1,
            ErrorCategory::Arguments => 2,
            ErrorCategory::Provider => 3,
            ErrorCategory::Configuration => 4,
            ErrorCategory::Busy => TRY_AGAIN,
        }
    }

    /// What the user can do, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Diagnosed(error) => return remedy::hint(error.hint(), error.remedy().as_ref()),
            Self::LiftInterrupted | Self::NotCompared { .. } => {
                "the same command goes on from here, and repeats nothing that is there".to_owned()
            }
            Self::OtherTable { .. } => "name another file, or one that `dialectic eval` wrote".to_owned(),
            Self::Output { .. } => "check permissions and free space, or name another file".to_owned(),
            Self::NotSaved { id, has_journal: false, .. } => {
                format!("put the debate's files back, then: dialectic resume {id}")
            }
            Self::NothingToFinish { id } => format!("continue it: dialectic resume {id}"),
            Self::Exists { .. } => "name another file, or remove this one first".to_owned(),
            Self::DebateFailed { id, .. }
            | Self::AllCallsFailed { id, is_kept: true, .. }
            | Self::NotSaved { id, has_journal: true, .. } => {
                format!("everything said is saved; when the cause is fixed: dialectic resume {id}")
            }
            Self::NotFull { id } => format!("`dialectic show {id}` says why"),
            Self::NoRoomToClose { id, at, .. } => {
                format!("with a higher limit: dialectic fork {id} --at {at} --set debate.budget.maxCostUsd=<dollars>")
            }
            Self::LimitReached { id } => format!("when there is more: dialectic resume {id}"),
            Self::ServerGone { id } => format!("when the server is back: dialectic resume {id}"),
            Self::DemoInterrupted { state } => {
                format!("read it with `dialectic report {state} --open`, or see it again with `dialectic demo`")
            }
            Self::Interrupted { id } | Self::Killed { id } | Self::Paused { id } => {
                format!("continue with: dialectic resume {id}")
            }
            Self::Asks { id } => format!("answer, and it goes on: dialectic answer {id} q1=\"...\""),
            Self::StillRunning { id } => format!("wait on: dialectic wait {id}"),
            Self::QuestionInterrupted { id } => format!("to ask it again: dialectic ask {id}"),
            Self::AllCallsFailed { is_kept: false, .. }
            | Self::NotEvaluated { .. }
            | Self::EvaluationInterrupted
            | Self::Stopped
            | Self::NotWhole { .. }
            | Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Runtime(_)
            | Self::Detach(_)
            | Self::Said { .. }
            | Self::ReplayInterrupted
            | Self::InterruptedAtEnd { .. } => return None,
        };
        Some(hint)
    }
}
