//! What a debate may cost that is started here: no more than the server's limits leave, whichever other program spends
//! from the same directory.

use dialectic_base::money::Usd;
use dialectic_engine::runner::{SpendingError, SpendingLock, spent_by, spent_today};
use dialectic_record::debate::Debate;
use dialectic_record::store::{Directory, Entry};

/// The limits of the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of a debate.
    pub(super) debate: Usd,
    /// Of a day (UTC), all debates of the directory together.
    pub(super) day: Usd,
}

/// Why nothing more may be spent.
#[derive(Debug, thiserror::Error)]
pub(super) enum LimitError {
    #[error("today's cost limit of {0} is used up")]
    Day(Usd),
    #[error("a debate may cost at most {most} here, and this one has cost {spent}")]
    Debate { most: Usd, spent: Usd },
    #[error("a debate may cost at most {0} here")]
    TooMuch(Usd),
    #[error("`maxCost` has to be an amount of dollars above 0")]
    NoAmount,
    #[error("it cannot be told what was spent today: {0}")]
    Unknown(#[from] SpendingError),
}

/// What may be spent. While it is held, nobody else who keeps to the limit of the day begins anything.
pub(super) struct Leave {
    pub(super) most: Usd,
    lock: SpendingLock,
}

impl Limits {
    fn left_today(&self, directory: &Directory) -> Result<Usd, LimitError> {
        let left = self.day.saturating_sub(spent_today(directory)?);
        if left == Usd::ZERO { Err(LimitError::Day(self.day)) } else { Ok(left) }
    }

    /// Leave for a new debate, or for a question about one. It takes until nobody else is beginning something: it is for a
    /// thread that may wait.
    pub(super) fn leave(&self, directory: &Directory, asked: Option<f64>) -> Result<Leave, LimitError> {
        let asked = asked.map(amount).transpose()?;
        if asked.is_some_and(|asked| asked > self.debate) {
            return Err(LimitError::TooMuch(self.debate));
        }
        let lock = SpendingLock::take(directory)?;
        let most = self.left_today(directory)?.min(asked.unwrap_or(self.debate));
        Ok(Leave { most, lock })
    }

    /// Leave for a debate to go on: what it may cost in all. It is noted where others see it who keep to the limit of the
    /// day.
    pub(super) fn leave_to_go_on(
        &self,
        directory: &Directory,
        entry: &Entry,
        debate: &Debate,
    ) -> Result<Leave, LimitError> {
        let lock = SpendingLock::take(directory)?;
        let spent = spent_by(entry);
        if spent >= self.debate {
            return Err(LimitError::Debate { most: self.debate, spent });
        }
        let own = debate.settings.as_ref().and_then(dialectic_record::debate::Settings::max_cost);
        let most = self.debate.min(spent + self.left_today(directory)?);
        let most = own.map_or(most, |own| own.min(most));
        lock.note_limit(&debate.id, Some(most))?;
        Ok(Leave { most, lock })
    }
}

impl Leave {
    /// The limit as an option says it.
    pub(super) fn option(&self) -> String {
        self.most.dollars().to_string()
    }

    /// Whoever was let wait goes on: what was begun counts by its record.
    pub(super) fn end(self) {
        drop(self.lock);
    }
}

fn amount(dollars: f64) -> Result<Usd, LimitError> {
    if dollars.is_finite() && dollars > 0.0 { Ok(Usd::from_dollars(dollars)) } else { Err(LimitError::NoAmount) }
}
