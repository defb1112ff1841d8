//! What became of the debates that a worker was to run.

use std::fmt;

use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;

use super::Ended;

/// How many debates of a worker ended in each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    all: usize,
    finished: usize,
    before: usize,
    later: usize,
    failed: usize,
    spent: usize,
    refused: usize,
    /// Who has to act on the first refused one.
    blame: Option<ErrorCategory>,
    cost: Usd,
}

impl Tally {
    /// So many debates are to be run.
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

    /// How many are finished.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// Whether all are finished.
    pub fn is_complete(&self) -> bool {
        self.finished == self.all
    }

    /// The code of a set's budget that is spent.
    const SPENT: u8 = 8;

    /// What an engine is told: 75 while another attempt can help, since what is finished and what cannot be is not paid
    /// for again; otherwise what has to be mended first.
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

    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self.exit_code() {
            Self::SPENT => "plan the rest with another budget",
            crate::status::TRY_AGAIN => "the same command goes on from here, and repeats nothing that is finished",
            _ => "when the cause is fixed, the same command goes on from here",
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
