//! The budget of a set of debates: a chain of entries, each with the balance after it.
//!
//! `budget/00000001` opens the chain, and every further entry is created once, by one of the workers that race for it.
//! An entry grants a debate its own cost limit, or returns the rest of a grant at the debate's end. A grant belongs to
//! the debate: a worker that takes the debate over also takes over its grant.
//!
//! A worker may die between any two actions. So it first writes a [`Claim`] into a segment of the debate's journal: the
//! entry that it is about to create, and its number. It creates the entry afterwards. The next worker
//! [settles](Chain::grant) the last claim that it finds. All workers create an entry with the same bytes, so a second
//! attempt is acknowledged; a taken name shows that the claim failed. Two things make this safe: the chain has no gaps,
//! so a claim whose entry is missing can only be for the next entry; and a claim is in the journal only if its writer
//! owned the debate then.

use std::time::Duration;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::money::{Usd, exact};
use dialectic_record::debate::DebateId;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::store::{Creation, SharedStore, StoreFault};

/// The prefix of the chain's entries.
pub const PREFIX: &str = "budget";

/// The entry that a worker is about to create in the chain. It is saved in the header of a segment; the last one
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Claim {
    /// The debate asks for its cost limit.
    Asks {
        /// The number of the entry.
        entry: u64,
        /// The cost limit.
        #[serde(with = "exact")]
        amount: Usd,
    },
    /// The debate has ended and returns the rest of its grant.
    Returns {
        /// The number of the entry.
        entry: u64,
        /// The granted amount.
        #[serde(with = "exact")]
        granted: Usd,
        /// The unspent part of it.
        #[serde(with = "exact")]
        left: Usd,
    },
}

/// Writes a debate's claims into its next segment.
pub trait Claims: Send {
    /// Writes the claim, and waits until the segment is acknowledged. After an error this worker may no longer own the
    /// debate, and stops working on it.
    fn note<'a>(&'a mut self, claim: &'a Claim) -> BoxFuture<'a, Result<(), Box<dyn Diagnostic>>>;
}

/// The result of a debate's demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// The debate may spend its cost limit.
    Granted,
    /// It does not fit now, but will if unfinished debates return enough: try again later.
    Later(Sums),
    /// It will never fit: the budget is spent.
    Spent(Sums),
}

/// The sums after an entry. Together with the cost of finished debates they make up the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sums {
    /// The amount that can still be granted.
    #[serde(with = "exact")]
    pub balance: Usd,
    /// The cost limits of debates that have a grant and have not ended.
    #[serde(with = "exact")]
    pub held: Usd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    event: Event,
    after: Sums,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Event {
    Opens,
    Grants {
        debate: DebateId,
        #[serde(with = "exact")]
        amount: Usd,
    },
    Returns {
        debate: DebateId,
        #[serde(with = "exact")]
        granted: Usd,
        #[serde(with = "exact")]
        left: Usd,
    },
}

/// The last known entry of the chain.
#[derive(Debug, Clone, Copy)]
struct Tip {
    entry: u64,
    after: Sums,
}

/// The chain of a set's budget, as one process sees it.
#[derive(Debug)]
pub struct Chain {
    store: SharedStore,
    budget: Usd,
    /// Debates of one process take turns instead of racing each other.
    tip: Mutex<Tip>,
}

impl Chain {
    /// Opens the chain; the first worker of a set creates it.
    ///
    /// # Errors
    /// The store cannot be used, or the chain began with another budget.
    pub async fn open(store: SharedStore, budget: Usd) -> Result<Self, BudgetError> {
        let after = Sums { balance: budget, held: Usd::ZERO };
        let first = Entry { event: Event::Opens, after };
        match store.create(&name(1), &first.bytes()).await? {
            Creation::Acknowledged => Ok(Self { store, budget, tip: Mutex::new(Tip { entry: 1, after }) }),
            Creation::Taken => Err(BudgetError::OtherBudget { place: store.place() }),
        }
    }

    /// Reads the sums of a set's budget, and creates nothing. `None` if no worker has started the chain.
    ///
    /// # Errors
    /// The store cannot be used, an entry is damaged, or the chain began with another budget.
    pub async fn read_sums(store: SharedStore, budget: Usd) -> Result<Option<Sums>, BudgetError> {
        let after = Sums { balance: budget, held: Usd::ZERO };
        let chain = Self { store, budget, tip: Mutex::new(Tip { entry: 1, after }) };
        match chain.read(1).await? {
            None => Ok(None),
            Some(first) if first == (Entry { event: Event::Opens, after }) => chain.sums().await.map(Some),
            Some(_) => Err(BudgetError::OtherBudget { place: chain.store.place() }),
        }
    }

    /// Grants a debate its cost limit. `last` is the last claim in its segments: it leads to a grant that an earlier
    /// worker got or was about to get. After a claim to return money, the grant is a new one.
    ///
    /// # Errors
    /// The store cannot be used, an entry is damaged, or the claim could not be written.
    pub async fn grant(
        &self,
        debate: &DebateId,
        amount: Usd,
        last: Option<Claim>,
        claims: &mut dyn Claims,
    ) -> Result<Grant, BudgetError> {
        let mut tip = self.tip.lock().await;
        match last {
            Some(claim @ Claim::Asks { .. }) if self.settle(&mut tip, debate, &claim).await? => {
                return Ok(Grant::Granted);
            }
            // It ended without an answer and continues: its earlier grant is returned first.
            Some(claim @ Claim::Returns { .. }) => self.put_back(&mut tip, debate, claim, true, claims).await?,
            Some(Claim::Asks { .. }) | None => {}
        }
        for attempt in 0.. {
            self.advance(&mut tip).await?;
            let after = tip.after;
            if amount > after.balance {
                let fits_later = amount <= after.balance + after.held;
                return Ok(if fits_later { Grant::Later(after) } else { Grant::Spent(after) });
            }
            let claim = Claim::Asks { entry: tip.entry + 1, amount };
            claims.note(&claim).await.map_err(BudgetError::NotNoted)?;
            if self.settle(&mut tip, debate, &claim).await? {
                return Ok(Grant::Granted);
            }
            make_way(attempt).await;
        }
        unreachable!("the loop above has no end")
    }

    /// Returns the rest of a debate's grant, once; a rest of zero too, so that the grant is no longer held. `last` is
    /// the last claim in its segments, by any worker; if it already returns the grant, its amounts count.
    ///
    /// # Errors
    /// The store cannot be used, an entry is damaged, or the claim could not be written.
    pub async fn give_back(
        &self,
        debate: &DebateId,
        granted: Usd,
        left: Usd,
        last: Option<Claim>,
        claims: &mut dyn Claims,
    ) -> Result<(), BudgetError> {
        let mut tip = self.tip.lock().await;
        let (claim, is_noted) = match last {
            Some(claim @ Claim::Returns { .. }) => (claim, true),
            Some(Claim::Asks { .. }) | None => (Claim::Returns { entry: 0, granted, left: left.min(granted) }, false),
        };
        self.put_back(&mut tip, debate, claim, is_noted, claims).await
    }

    /// Creates an entry that returns the amount of a claim: the entry that it names if the claim is stored, else
    /// another.
    async fn put_back(
        &self,
        tip: &mut Tip,
        debate: &DebateId,
        mut claim: Claim,
        is_noted: bool,
        claims: &mut dyn Claims,
    ) -> Result<(), BudgetError> {
        if is_noted && self.settle(tip, debate, &claim).await? {
            return Ok(());
        }
        for attempt in 0.. {
            self.advance(tip).await?;
            claim = claim.at(tip.entry + 1);
            claims.note(&claim).await.map_err(BudgetError::NotNoted)?;
            if self.settle(tip, debate, &claim).await? {
                return Ok(());
            }
            make_way(attempt).await;
        }
        unreachable!("the loop above has no end")
    }

    /// The sums after the last entry.
    ///
    /// # Errors
    /// The store cannot be used, or an entry is damaged.
    pub async fn sums(&self) -> Result<Sums, BudgetError> {
        let mut tip = self.tip.lock().await;
        self.advance(&mut tip).await?;
        Ok(tip.after)
    }

    /// Creates the claimed entry. Returns whether the chain contains it.
    async fn settle(&self, tip: &mut Tip, debate: &DebateId, claim: &Claim) -> Result<bool, BudgetError> {
        let (number, event) = match *claim {
            Claim::Asks { entry, amount } => (entry, Event::Grants { debate: debate.clone(), amount }),
            Claim::Returns { entry, granted, left } => {
                (entry, Event::Returns { debate: debate.clone(), granted, left })
            }
        };
        let before = if number == tip.entry + 1 { tip.after } else { self.before(number).await? };
        let Some(after) = before.after(&event) else {
            return Err(BudgetError::Damaged { entry: number, place: self.store.place() });
        };
        match self.store.create(&name(number), &Entry { event, after }.bytes()).await? {
            Creation::Acknowledged => {
                if number > tip.entry {
                    *tip = Tip { entry: number, after };
                }
                Ok(true)
            }
            Creation::Taken => Ok(false),
        }
    }

    /// The sums before an entry.
    async fn before(&self, number: u64) -> Result<Sums, BudgetError> {
        let before = number.saturating_sub(1);
        match self.read(before).await? {
            Some(entry) => Ok(entry.after),
            None => Err(BudgetError::Damaged { entry: before, place: self.store.place() }),
        }
    }

    /// Finds the last entry. The chain has no gaps, so doubling the step finds a range that contains the end, and
    /// bisection finds the end.
    async fn advance(&self, tip: &mut Tip) -> Result<(), BudgetError> {
        let mut stride = 1;
        while let Some(entry) = self.read(tip.entry + stride).await? {
            *tip = Tip { entry: tip.entry + stride, after: entry.after };
            stride *= 2;
        }
        while stride > 1 {
            stride /= 2;
            if let Some(entry) = self.read(tip.entry + stride).await? {
                *tip = Tip { entry: tip.entry + stride, after: entry.after };
            }
        }
        Ok(())
    }

    async fn read(&self, number: u64) -> Result<Option<Entry>, BudgetError> {
        let Some(bytes) = self.store.get(&name(number)).await? else { return Ok(None) };
        // The first entry states the budget.
        let is_sound = |entry: &Entry| number == 1 || entry.after.are_within(self.budget);
        let entry = serde_json::from_slice(&bytes).ok().filter(is_sound);
        entry.map(Some).ok_or_else(|| BudgetError::Damaged { entry: number, place: self.store.place() })
    }
}

impl Claim {
    /// The same claim for another entry.
    fn at(self, entry: u64) -> Self {
        match self {
            Self::Asks { amount, .. } => Self::Asks { entry, amount },
            Self::Returns { granted, left, .. } => Self::Returns { entry, granted, left },
        }
    }
}

impl Sums {
    /// Whether they can be the sums of this budget: finished debates have spent the rest.
    fn are_within(self, budget: Usd) -> bool {
        self.balance + self.held <= budget
    }

    /// The sums after an event; `None` if it cannot happen here.
    fn after(self, event: &Event) -> Option<Self> {
        let Self { balance, held } = self;
        match *event {
            Event::Opens => None,
            Event::Grants { amount, .. } => {
                (amount <= balance).then(|| Self { balance: balance.saturating_sub(amount), held: held + amount })
            }
            Event::Returns { granted, left, .. } => (left <= granted && granted <= held)
                .then(|| Self { balance: balance + left, held: held.saturating_sub(granted) }),
        }
    }
}

impl Entry {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("numbers and strings are JSON");
        bytes.push(b'\n');
        bytes
    }
}

fn name(entry: u64) -> String {
    format!("{PREFIX}/{entry:08}")
}

/// Waits after a lost race so that other workers can proceed: a random time that grows with each attempt, at most two
/// seconds.
async fn make_way(attempt: u32) {
    let most = 25 << attempt.min(6);
    tokio::time::sleep(Duration::from_millis(rand::random_range(0..=most))).await;
}

/// Why the budget of a set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// The store.
    #[error("the budget of the set cannot be used")]
    Store(#[from] StoreFault),
    /// The chain began with another budget.
    #[error("the set in {place} was started with another budget")]
    OtherBudget {
        /// The store.
        place: String,
    },
    /// An entry is missing or unreadable, exceeds the budget, or cannot follow the one before it.
    #[error("entry {entry} of the budget in {place} is damaged")]
    Damaged {
        /// The number.
        entry: u64,
        /// The store.
        place: String,
    },
    /// The claim could not be written: the worker has lost the debate or cannot reach the store.
    #[error("the debate's claim on the budget cannot be written")]
    NotNoted(#[source] Box<dyn Diagnostic>),
}

impl Diagnostic for BudgetError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Store(error) => error.blame(),
            Self::OtherBudget { .. } => ErrorCategory::Arguments,
            Self::Damaged { .. } => ErrorCategory::General,
            Self::NotNoted(error) => error.blame(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::OtherBudget { .. } => Some("use the plan that started the set, or another store".to_owned()),
            Self::Store(error) => error.hint(),
            Self::Damaged { .. } => None,
            Self::NotNoted(error) => error.hint(),
        }
    }
}

#[cfg(test)]
mod tests;
