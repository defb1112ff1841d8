//! How a worker's debates ended.

use std::fmt;

use crate::error::{Diagnostic, ErrorCategory};
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;

use crate::error::in_full;

/// How a worker's part in a debate ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Finished {
        /// The known cost, if this worker finished it.
        cost: Option<Usd>,
        /// Whether a worker finished it earlier.
        before: bool,
    },
    /// It has no answer, now or from before. It is resumed on request only.
    Failed { reason: String },
    /// Another worker continues it.
    TakenOver,
    /// It cannot run as planned, or not on this machine.
    Refused {
        /// The reason, with its causes.
        reason: String,
        /// The category that determines the exit code.
        blame: ErrorCategory,
    },
    /// Try it again later.
    Later {
        /// The reason, as a clause.
        reason: String,
    },
}

impl Ended {
    /// It ended without an answer, with the error on record.
    pub(super) fn failed(error: Option<String>) -> Self {
        Self::Failed { reason: error.unwrap_or_else(|| "it has no answer".to_owned()) }
    }

    pub(super) fn of(error: &dyn Diagnostic) -> Self {
        let reason = in_full(error);
        match error.blame() {
            ErrorCategory::Busy => Self::Later { reason },
            blame @ (ErrorCategory::General
            | ErrorCategory::Arguments
            | ErrorCategory::Provider
            | ErrorCategory::Configuration) => Self::Refused { reason, blame },
        }
    }
}

impl<E: Diagnostic> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}

/// The number of a worker's debates by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    all: usize,
    finished: usize,
    before: usize,
    later: usize,
    failed: usize,
    taken_over: usize,
    refused: usize,
    /// The category of the first refused debate, which determines the exit code.
    blame: Option<ErrorCategory>,
    cost: Usd,
}

impl Tally {
    /// A tally for this many debates.
    pub fn of(all: usize) -> Self {
        Self { all, ..Self::default() }
    }

    /// Counts the end of a debate.
    pub fn count(&mut self, ended: &Ended) {
        match ended {
            Ended::Finished { cost, before } => {
                self.finished += 1;
                self.before += usize::from(*before);
                self.cost += cost.unwrap_or_default();
            }
            Ended::Failed { .. } => self.failed += 1,
            Ended::TakenOver => self.taken_over += 1,
            Ended::Later { .. } => self.later += 1,
            Ended::Refused { blame, .. } => {
                self.refused += 1;
                self.blame.get_or_insert(*blame);
            }
        }
    }

    /// The number of finished debates.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// Whether all are finished.
    pub fn is_complete(&self) -> bool {
        self.finished == self.all
    }

    /// The exit code for an engine. 75 requests another attempt, which does not repeat finished or failed debates.
    /// Never 75 for a debate that another worker continues: the two would take it from each other forever.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_complete() => 0,
            Self { taken_over: 1.., .. } => 1,
            Self { later: 1.., .. } => crate::status::TRY_AGAIN,
            Self { blame: Some(ErrorCategory::Arguments), .. } => 2,
            Self { blame: Some(ErrorCategory::Configuration), .. } => 4,
            Self { blame: Some(ErrorCategory::General), .. } => 1,
            _ => 3,
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self { taken_over: 1.., .. } => "run a debate in one process at a time",
            Self { later: 1.., .. } => "run the same command to continue; finished debates are not repeated",
            Self { refused: 1.., .. } => "when the cause is fixed, run the same command to continue",
            _ => "when the cause is fixed, `--retry-failed` resumes the failed debates",
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = counted(self.all as u64, "debate");
        write!(f, "{} of {all} finished", self.finished)?;
        let parts = [
            (self.before, "before"),
            (self.later, "to be tried again"),
            (self.failed, "failed"),
            (self.taken_over, "continued by another worker"),
            (self.refused, "refused"),
        ];
        for (count, what) in parts {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        if self.cost > Usd::ZERO { write!(f, "; {}", self.cost) } else { Ok(()) }
    }
}
