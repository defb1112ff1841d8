//! The results of a worker's debates.

use std::fmt;

use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;

use super::Ended;

/// The number of a worker's debates by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    all: usize,
    finished: usize,
    before: usize,
    later: usize,
    failed: usize,
    spent: usize,
    refused: usize,
    /// The category of the first refused one, which determines who has to act.
    blame: Option<ErrorCategory>,
    cost: Usd,
}

impl Tally {
    /// A tally for this many debates.
    pub fn of(all: usize) -> Self {
        Self { all, ..Self::default() }
    }

    /// Counts the end of one.
    pub fn count(&mut self, ended: &Ended) {
        match ended {
            Ended::Finished { cost, before } => {
                self.finished += 1;
                self.before += usize::from(*before);
                self.cost += cost.unwrap_or_default();
            }
            Ended::Failed { .. } => self.failed += 1,
            Ended::Spent { .. } => self.spent += 1,
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

    /// The code of a set's budget that is spent.
    const SPENT: u8 = 8;

    /// The exit code for an engine: 75 while another attempt can help, since finished and failed debates are not paid for
    /// again; otherwise the code of the first problem to fix.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_complete() => 0,
            Self { later: 1.., .. } => crate::status::TRY_AGAIN,
            Self { refused: 1.., blame: Some(ErrorCategory::Arguments), .. } => 2,
            Self { refused: 1.., blame: Some(ErrorCategory::Configuration), .. } => 4,
            Self { refused: 1.., blame: Some(ErrorCategory::General), .. } => 1,
            Self { refused: 1.., .. } | Self { failed: 1.., .. } => 3,
            Self { spent: 1.., .. } => Self::SPENT,
            // A debate that was not heard of.
            _ => crate::status::TRY_AGAIN,
        }
    }

    /// The advice.
    pub fn hint(&self) -> &'static str {
        match self.exit_code() {
            Self::SPENT => "plan the rest with another budget",
            crate::status::TRY_AGAIN => "run the same command to continue; finished debates are not repeated",
            _ if self.refused == 0 => "when the cause is fixed, `--retry-failed` resumes the failed debates",
            _ => "when the cause is fixed, run the same command to continue",
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
            (self.refused, "refused"),
            (self.spent, "beyond the budget"),
        ];
        for (count, what) in parts {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        if self.cost > Usd::ZERO { write!(f, "; {}", self.cost) } else { Ok(()) }
    }
}
