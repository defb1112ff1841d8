//! The progress and cost of a set.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use dialectic_base::money::Usd;
use dialectic_record::debate::Status;

use super::budget::{self, Sums};
use super::collect::{check_set, events_of};
use super::group::left_out;
use super::plan::{Plan, PlannedDebate, PlannedRecord, SavedPlan};
use super::segment::SegmentError;
use super::store::{AT_ONCE, SharedStore, Store};
use super::{Finished, Lost, Stored};
use crate::error::Error;
use crate::lift::{Arm, Bill, Done};

/// The progress of a set or a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The planned debates and arms.
    pub debates: u64,
    /// The finished debates.
    pub finished: u64,
    /// The started debates that have not ended: a worker runs them, or another resumes them.
    pub running: u64,
    /// The debates without an answer.
    pub failed: u64,
    /// The debates that were not started.
    pub waiting: u64,
    /// The cost so far, without lost calls; absent if a price is unknown.
    pub cost_usd: Option<Usd>,
    /// The expected cost of all debates: the cost of the ended ones, plus the likely cost of the others.
    pub expected_usd: Option<Usd>,
    /// Calls in flight when their worker was lost: they may have been paid for, and were repeated.
    pub lost: Lost,
}

/// The state of a set.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetStatus {
    /// The whole set.
    #[serde(flatten)]
    pub all: Progress,
    /// The debates of each variant, by its name, and their arms, by both names.
    pub variants: BTreeMap<String, Progress>,
    /// The set's budget, if a worker has opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetStatus>,
}

/// The state of a set's budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetStatus {
    /// The budget.
    pub budget_usd: Usd,
    /// The amount that running debates may still spend.
    pub held_usd: Usd,
    /// The amount that can still be granted.
    pub left_usd: Usd,
}

impl Default for Progress {
    fn default() -> Self {
        let (cost_usd, expected_usd) = (Some(Usd::ZERO), Some(Usd::ZERO));
        let (debates, finished, running, failed, waiting) = (0, 0, 0, 0, 0);
        Self { debates, finished, running, failed, waiting, cost_usd, expected_usd, lost: Lost::default() }
    }
}

impl AddAssign<&Self> for Progress {
    fn add_assign(&mut self, other: &Self) {
        let sum = |one: Option<Usd>, other: Option<Usd>| one.zip(other).map(|(one, other)| one + other);
        self.debates += other.debates;
        self.finished += other.finished;
        self.running += other.running;
        self.failed += other.failed;
        self.waiting += other.waiting;
        self.cost_usd = sum(self.cost_usd, other.cost_usd);
        self.expected_usd = sum(self.expected_usd, other.expected_usd);
        self.lost.calls = self.lost.calls.saturating_add(other.lost.calls);
        self.lost.usd += other.lost.usd;
    }
}

impl Progress {
    /// The state of each record of a group, with the name of its row.
    async fn read(planned: &PlannedDebate, store: &dyn Store) -> Result<Vec<(String, Self)>, SegmentError> {
        let mut all: Vec<(String, Self)> = Vec::new();
        let (mut debate, mut single) = (None, None);
        for record in planned.records() {
            let (mut one, done) = Self::read_one(&record, store).await?;
            match record.arm {
                None => debate = done,
                Some(arm) if arm.arm == Arm::Single => single = done,
                Some(arm) if one.waiting > 0 => {
                    if left_out(planned, arm, debate.as_ref(), single.as_ref()).is_some() {
                        one = Self { debates: 1, finished: 1, ..Self::default() };
                    }
                }
                Some(_) => {}
            }
            all.push((record.label(&planned.variant.name), one));
        }
        Ok(all)
    }

    /// The state of a record; with the record if it is finished.
    async fn read_one(planned: &PlannedRecord<'_>, store: &dyn Store) -> Result<(Self, Option<Done>), SegmentError> {
        let one = Self { debates: 1, ..Self::default() };
        let id = planned.id;
        let mut done = None;
        let read = match Stored::read(store, id).await? {
            Stored::Nothing => Self { waiting: 1, expected_usd: planned.likely, ..one },
            Stored::Finished(Finished { header, journal }) => {
                let (debate, events) = events_of(store, id, &journal)?;
                let cost = debate.total_cost();
                done = Some(Done { debate, bill: Bill::of(&events) });
                Self { finished: 1, cost_usd: cost, expected_usd: cost, lost: header.lost, ..one }
            }
            // A worker took it and has recorded nothing yet.
            Stored::Begun(chain) if chain.journal.is_empty() => {
                Self { running: 1, expected_usd: planned.likely, ..one }
            }
            Stored::Begun(chain) => {
                let (debate, events) = events_of(store, id, &chain.journal)?;
                let lost = Lost::of(&events);
                let cost = debate.total_cost();
                let begun = Self { cost_usd: cost, lost, ..one };
                if debate.status == Status::Failed {
                    Self { failed: 1, expected_usd: cost, ..begun }
                } else {
                    let expected = planned.likely.zip(cost).map(|(likely, cost)| likely.max(cost));
                    Self { running: 1, expected_usd: expected, ..begun }
                }
            }
        };
        Ok((read, done))
    }
}

impl SetStatus {
    /// The state of a plan's debates without a store.
    pub fn of_nothing(plan: &Plan) -> Self {
        let mut status = Self::default();
        for planned in &plan.debates {
            for record in planned.records() {
                let one = Progress { debates: 1, waiting: 1, expected_usd: record.likely, ..Progress::default() };
                status.count(record.label(&planned.variant.name), &one);
            }
        }
        status
    }

    fn count(&mut self, name: String, one: &Progress) {
        self.all += one;
        *self.variants.entry(name).or_default() += one;
    }

    /// Reads the state of a plan's debates. Changes nothing.
    ///
    /// # Errors
    /// The store cannot be read, belongs to another set, or is damaged.
    pub async fn read(plan: &SavedPlan, store: &SharedStore) -> Result<Self, Error> {
        check_set(plan, &**store).await?;
        let read = |planned: &'_ PlannedDebate| {
            let (planned, store) = (planned.clone(), Arc::clone(store));
            async move { Progress::read(&planned, &*store).await }
        };
        let mut debates = stream::iter(&plan.plan.debates).map(read).buffered(AT_ONCE);
        let mut status = Self::default();
        while let Some(records) = debates.try_next().await? {
            for (name, progress) in records {
                status.count(name, &progress);
            }
        }
        if let Some(budget) = plan.plan.budget {
            let sums = budget::Chain::read_sums(Arc::clone(store), budget).await?;
            status.budget = sums.map(|Sums { balance, held }| BudgetStatus {
                budget_usd: budget,
                held_usd: held,
                left_usd: balance,
            });
        }
        Ok(status)
    }
}
