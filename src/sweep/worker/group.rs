//! A worker's way through a group: the debate, then its arms.

use dialectic_base::money::Usd;

use super::super::group::{Unit, finished};
use super::super::plan::PlannedDebate;
use super::super::segment::SegmentError;
use super::super::store::Store;
use super::super::takeover::Watch;
use super::Ended;
use crate::lift::{Arm, Bill};

/// A debate with its arms that this worker has not ended yet.
pub(super) struct Candidate {
    pub(super) group: PlannedDebate,
    /// The record that is next.
    pub(super) unit: Unit,
    pub(super) watch: Watch,
    /// Whether records that have failed are resumed.
    pub(super) retry_failed: bool,
    /// The number of arms before the next record and with it.
    arms: usize,
    /// The bills of the debate and of the single answer.
    bills: Vec<Bill>,
    /// The known cost of what this worker finished.
    cost: Option<Usd>,
    is_before: bool,
    /// Why an arm has no answer.
    failed: Option<String>,
}

impl Candidate {
    pub(super) fn of(group: PlannedDebate, retry_failed: bool) -> Self {
        let watch = Watch::of(group.id.clone());
        let unit = Unit::of(&group);
        let (bills, cost, failed) = (Vec::new(), None, None);
        Self { group, unit, watch, retry_failed, arms: 0, bills, cost, is_before: true, failed }
    }

    /// Goes on to the next record after the end of one. Returns how the group ended, if it did.
    ///
    /// # Errors
    /// The store cannot be read, or a record is damaged.
    pub(super) async fn advance(&mut self, store: &dyn Store, ended: Ended) -> Result<Option<Ended>, SegmentError> {
        match (ended, &self.unit.arm) {
            (Ended::Finished { cost, before }, _) => {
                self.cost = [self.cost, cost].into_iter().flatten().reduce(std::ops::Add::add);
                self.is_before &= before;
            }
            // The next arms need a single answer, but not this one.
            (Ended::Failed { reason }, Some((Arm::SelfRefine | Arm::BestOfN, _))) => {
                self.failed.get_or_insert(reason);
            }
            (ended, _) => return Ok(Some(ended)),
        }
        if self.bills.len() < 2 && !self.group.arms.is_empty() {
            let id = &self.unit.debate.id;
            let gone = || SegmentError::damaged(store, id, "`finished` is gone");
            self.bills.push(finished(store, id).await?.ok_or_else(gone)?.bill);
        }
        while let Some(planned) = self.group.arms.get(self.arms) {
            self.arms += 1;
            let none = Bill::default();
            let [debate, single] = [0, 1].map(|index| self.bills.get(index).unwrap_or(&none));
            // One that is left out has a row of its own in the results.
            if let Ok(unit) = Unit::of_arm(&self.group, planned, debate, single) {
                self.watch = Watch::of(unit.debate.id.clone());
                self.unit = unit;
                return Ok(None);
            }
        }
        Ok(Some(match self.failed.take() {
            Some(reason) => Ended::Failed { reason },
            None => Ended::Finished { cost: self.cost, before: self.is_before },
        }))
    }
}
