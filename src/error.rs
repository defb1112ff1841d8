//! Every way in which the program can end without success, and the one mapping to exit codes.

use std::path::PathBuf;

use crate::agent::PanelError;
use crate::config::{Blame, ConfigError, EndpointError, EnvError, EvaluatorsError, MissingKeys, NoKey, StrangerError};
use crate::debate::{DebateId, ForkError};
use crate::encoding::NotUtf8;
use crate::engine::{BudgetError, EngineError, ForecastError, WindowError};
use crate::evaluation::SubjectError;
use crate::llm::openai::{ClientError, HttpClientError};
use crate::protocol::Unfit;
use crate::runner::{RunnerError, ServicesError};
use crate::store::{JournalError, StateFileError, StoreError};
use crate::trace::TraceConfigError;

/// Why the program ends without success.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The problem cannot be read.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The environment file cannot be used.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// The configuration or an argument that overrides it cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Keys are missing.
    #[error(transparent)]
    Keys(#[from] MissingKeys),
    /// There is no key to ask any model with.
    #[error(transparent)]
    NoKey(#[from] NoKey),
    /// A provider cannot be called as configured.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A provider's client cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The cost limit cannot be kept.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// There is no forecast of a debate.
    #[error("cannot say what this debate would take")]
    Forecast(#[from] ForecastError),
    /// A prompt cannot fit into what its model reads.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// Traces cannot be sent as configured.
    #[error(transparent)]
    Trace(#[from] TraceConfigError),
    /// No HTTP client can be built.
    #[error(transparent)]
    Http(#[from] HttpClientError),
    /// The settings do not fit the protocol.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A role of the user's cannot be used.
    #[error(transparent)]
    Panel(#[from] PanelError),
    /// What was found in the directory would send or read what is not its own.
    #[error(transparent)]
    Stranger(#[from] StrangerError),
    /// A debate cannot be saved or loaded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run could not go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
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
    /// The evaluators cannot be used.
    #[error(transparent)]
    Evaluators(#[from] EvaluatorsError),
    /// A debate cannot be evaluated.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The file that scores are to be appended to holds something else.
    #[error("{path} is no file of evaluations: its first line is not the header that belongs there")]
    OtherTable {
        /// The file.
        path: PathBuf,
    },
    /// No evaluator gave an answer about these debates.
    #[error("no evaluator gave an evaluation of {}", debates.join(", "))]
    NotEvaluated {
        /// Their names.
        debates: Vec<String>,
    },
    /// The evaluation was interrupted.
    #[error("interrupted; nothing was written")]
    EvaluationInterrupted,
    /// A saved debate cannot be taken up.
    #[error("the debate {id} cannot be resumed: {reason}")]
    NotResumable {
        /// The debate.
        id: DebateId,
        /// Why.
        reason: &'static str,
    },
    /// There is nothing yet that a debate could be closed with.
    #[error("the debate {id} cannot be finished yet: nobody has made a proposal")]
    NothingToFinish {
        /// The debate.
        id: DebateId,
    },
    /// A debate cannot branch off another one as asked.
    #[error("cannot fork {id}: {reason}")]
    Fork {
        /// The other debate.
        id: DebateId,
        /// Why.
        reason: ForkError,
    },
    /// A saved debate has no journal.
    #[error("the debate {id} has no journal: older versions kept none")]
    NoJournal {
        /// The debate.
        id: DebateId,
    },
    /// A saved debate had a journal, which is not there any more.
    #[error("the journal of the debate {id} is missing: there is no {path}")]
    JournalGone {
        /// The debate.
        id: DebateId,
        /// Where it was.
        path: PathBuf,
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
    /// Whoever read our output has stopped; nothing is said.
    #[error("standard output was closed")]
    PipeClosed,
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
    /// Nothing is left of its cost limit for the judge: attempts that broke off have to count.
    #[error("the debate {id} failed: {reason}")]
    NoRoomToClose {
        /// The debate.
        id: DebateId,
        /// Why, as the state says it.
        reason: String,
        /// The last round that was begun, 0 for none.
        round: u32,
    },
    /// The debate did not end `full`, under `--strict`.
    #[error("the debate {id} did not end full")]
    NotFull {
        /// The debate.
        id: DebateId,
    },
    /// A replay was interrupted.
    #[error("interrupted; nothing was changed")]
    ReplayInterrupted,
    /// The debate had ended and was saved; the user did not wait until all of it was read.
    #[error("interrupted; the debate {id} has ended and is saved, not all of the output was read")]
    InterruptedAtEnd {
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

impl From<ServicesError> for Error {
    fn from(error: ServicesError) -> Self {
        match error {
            ServicesError::Keys(error) => error.into(),
            ServicesError::Environment(error) => error.into(),
            ServicesError::Endpoint(error) => error.into(),
            ServicesError::Client(error) => error.into(),
            ServicesError::Http(error) => error.into(),
            ServicesError::Budget(error) => error.into(),
            ServicesError::Panel(error) => error.into(),
            ServicesError::Stranger(error) => error.into(),
        }
    }
}

impl From<RunnerError> for Error {
    fn from(error: RunnerError) -> Self {
        match error {
            RunnerError::Services(error) => error.into(),
            RunnerError::Unfit(error) => error.into(),
            RunnerError::Store(error) => error.into(),
            RunnerError::Engine(error) => error.into(),
            RunnerError::Fork(reason) => Self::Fork { id: DebateId::new(String::new()), reason },
            RunnerError::IsFinished { id, .. } => Self::NotResumable { id, reason: "it is finished" },
            RunnerError::NotResumable { id, reason } => Self::NotResumable { id, reason },
            RunnerError::JournalGone { id, path } => Self::JournalGone { id, path },
        }
    }
}

/// Why there is no problem to debate.
#[derive(Debug, thiserror::Error)]
pub enum ProblemError {
    /// Neither a text nor a file.
    #[error("no problem is given")]
    Missing,
    /// A text and a file.
    #[error("the problem is given twice: as text and as a file")]
    Twice,
    /// It cannot be read.
    #[error("cannot read the problem from {from}")]
    Unreadable {
        /// The file, or standard input.
        from: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is a directory.
    #[error("the problem file {path} is a directory")]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// It is not text.
    #[error("the problem from {from} is not UTF-8 text")]
    NotUtf8 {
        /// The file, or standard input.
        from: String,
        /// What it is instead.
        fault: NotUtf8,
    },
    /// It says nothing.
    #[error("the problem from {from} is empty")]
    Empty {
        /// The file, standard input, or the command line.
        from: String,
    },
}

impl Error {
    /// The exit code: 1 general, 2 arguments or input files, 3 provider, 4 configuration, 5 degraded under
    /// `--strict`, 130 interrupted (`docs/commands.md`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Environment(EnvError::NotANumber { .. })
            | Self::Keys(_)
            | Self::NoKey(_)
            | Self::Endpoint(_)
            | Self::Client(_)
            | Self::Panel(_)
            | Self::Stranger(_)
            | Self::Budget(BudgetError::Unpriced { .. })
            | Self::Trace(_) => 4,
            Self::Problem(_)
            | Self::Unfit(_)
            | Self::Environment(_)
            | Self::NotResumable { .. }
            | Self::Budget(BudgetError::TooLow { .. })
            | Self::Window(_)
            | Self::OtherTable { .. }
            // Evaluators are named for one command: their file is one of its arguments.
            | Self::Evaluators(_)
            | Self::Subject(SubjectError::Lacks { .. })
            | Self::NothingToFinish { .. }
            | Self::Fork { .. }
            | Self::NoJournal { .. }
            | Self::JournalGone { .. }
            | Self::NotWhole { .. } => 2,
            Self::Config(error) => of_blame(error.blame()),
            Self::Store(error) => match error {
                StoreError::State(_)
                | StoreError::Unknown { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::Pattern { .. }
                | StoreError::NoMatch { .. }
                | StoreError::Search { .. } => 2,
                StoreError::Journal(error) if error.is_damage() || matches!(error, JournalError::Newer { .. }) => 2,
                StoreError::Directory { .. }
                | StoreError::List { .. }
                | StoreError::Write { .. }
                | StoreError::Journal(_)
                | StoreError::Fold { .. } => 1,
            },
            Self::Http(_)
            | Self::Engine(_)
            | Self::NotSaved { .. }
            | Self::Forecast(_)
            | Self::Output { .. }
            | Self::Exists { .. }
            | Self::Stdout(_)
            | Self::Stdin(_)
            | Self::EventsIncomplete
            | Self::PipeClosed
            | Self::Subject(SubjectError::Prompt(_))
            | Self::Runtime(_) => 1,
            Self::DebateFailed { .. } | Self::NoRoomToClose { .. } | Self::NotEvaluated { .. } => 3,
            Self::NotFull { .. } => 5,
            Self::Interrupted { .. }
            | Self::InterruptedAtEnd { .. }
            | Self::EvaluationInterrupted
            | Self::ReplayInterrupted => 130,
        }
    }

    /// What the user can do, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Problem(ProblemError::Missing) => Some(
                "write it behind the command in quotes, or name a file with --problemDescription, or `-` for standard input"
                    .to_owned(),
            ),
            Self::Problem(ProblemError::Twice) => Some("keep one of the two".to_owned()),
            Self::Problem(ProblemError::NotUtf8 { fault, .. }) | Self::Environment(EnvError::NotUtf8 { fault, .. }) => {
                Some(fault.hint())
            }
            Self::Problem(ProblemError::Empty { .. }) => Some("the problem is plain text of at least one word".to_owned()),
            Self::Config(error) => error.hint(),
            Self::Evaluators(error) => error.hint(),
            Self::Subject(_) => Some("only a debate that ended with a solution can be evaluated".to_owned()),
            Self::OtherTable { .. } => Some("name another file, or one that `dialectic eval` wrote".to_owned()),
            Self::Keys(error) => Some(error.hint()),
            Self::Unfit(error) => Some(error.hint.clone()),
            Self::Endpoint(error) => error.hint(),
            Self::Stranger(error) => Some(error.hint()),
            Self::NoKey(error) => Some(error.hint()),
            Self::Window(_) => Some(
                "take a model that reads more, or a shorter problem; where the figure is wrong, correct it with \
                 `models.<name>.contextWindow` in the configuration"
                    .to_owned(),
            ),
            Self::Trace(error) => Some(error.hint()),
            Self::Budget(BudgetError::Unpriced { .. }) => {
                Some("give each model a price under `prices` in the configuration (docs/configuration.md)".to_owned())
            }
            Self::Budget(BudgetError::TooLow { rounds, .. }) => {
                let to = if *rounds == 1 { "that" } else { "one of these" };
                Some(format!("raise the limit to {to}, take fewer agents, or cheaper models"))
            }
            Self::Store(StoreError::Unknown { .. }) => Some("`dialectic list` shows the saved debates".to_owned()),
            Self::Store(StoreError::Ambiguous { .. }) => Some("write more of the id".to_owned()),
            Self::Store(StoreError::State(StateFileError::Invalid { .. })) => {
                Some("a saved debate is the `.json` file that `dialectic debate` writes".to_owned())
            }
            Self::Store(
                StoreError::Journal(JournalError::Newer { .. }) | StoreError::State(StateFileError::Newer { .. }),
            ) => Some("take a version of the program that is at least as new as the one that wrote it".to_owned()),
            Self::Store(StoreError::Journal(JournalError::EndMissing { .. })) => {
                Some("put the whole journal back; or remove the state file to go on from what is left".to_owned())
            }
            Self::Store(StoreError::Journal(error)) if error.is_damage() => {
                Some("`dialectic verify` says what is whole; a damaged journal is not gone on with".to_owned())
            }
            Self::Store(StoreError::Journal(JournalError::Locked { .. })) => {
                Some("wait until it ends; `dialectic replay` shows what was said so far".to_owned())
            }
            Self::Store(StoreError::Directory { .. } | StoreError::List { .. } | StoreError::Journal(_)) => Some(
                "debates are kept in `debates` below the working directory: see that it is a directory that may be \
                 written and has room, or work in another one"
                    .to_owned(),
            ),
            Self::Output { .. } | Self::Store(StoreError::Write { .. }) => {
                Some("see that it may be written and has room, or name another file".to_owned())
            }
            Self::NotSaved { id, has_journal: false, .. } => {
                Some(format!("put the debate's files back where they were, then: dialectic resume {id}"))
            }
            Self::JournalGone { .. } => {
                Some("put it back; from the state file alone a debate can be reported and evaluated, no more".to_owned())
            }
            Self::NothingToFinish { id } => Some(format!("let it go on: dialectic resume {id}")),
            Self::Exists { .. } => Some("name another file, or remove this one first".to_owned()),
            Self::DebateFailed { id, .. } | Self::NotSaved { id, has_journal: true, .. } => {
                Some(format!("what was said is kept; once the cause is gone: dialectic resume {id}"))
            }
            Self::NotFull { id } => Some(format!("the reasons are in ./debates/{id}.json, under `outcome`")),
            Self::NoRoomToClose { id, round, .. } => {
                let at = if *round == 0 { "start".to_owned() } else { format!("{round}.synthesis") };
                Some(format!(
                    "with a higher limit: dialectic fork {id} --at {at} --set debate.budget.maxCostUsd=<dollars>"
                ))
            }
            Self::Interrupted { id } => Some(format!("go on with: dialectic resume {id}")),
            _ => None,
        }
    }
}

fn of_blame(blame: Blame) -> u8 {
    match blame {
        Blame::Arguments => 2,
        Blame::Configuration => 4,
    }
}
