//! A group: a debate, then its arms. What an arm may spend follows from finished records, so every worker and every
//! reader derives the same.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use dialectic_base::money::Usd;
use dialectic_record::debate::{DebateId, Status};

use super::collect::{check_set, debate_of, events_of};
use super::plan::{PlannedArm, PlannedDebate, SavedPlan, Variant};
use super::segment::SegmentError;
use super::store::{AT_ONCE, Store};
use super::{Finished, Stored};
use crate::lift::{Allowance, Arm, Arms, Bill, Done, LeftOut, Meter};

/// A record that a worker runs: a debate or an arm.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// The debate; an arm is one of its own.
    pub(super) debate: PlannedDebate,
    /// What it may cost, if that is limited.
    pub(super) limit: Option<Usd>,
    /// The arm, with the meter that ends it when its money is spent.
    pub(super) arm: Option<(Arm, Option<Meter>)>,
}

impl Unit {
    /// A debate, without its arms.
    pub(super) fn of(debate: &PlannedDebate) -> Self {
        let limit = debate.variant.settings.max_cost();
        Self { debate: PlannedDebate { arms: Vec::new(), ..debate.clone() }, limit, arm: None }
    }

    /// An arm of a debate with the bill `debate`; `single` is the bill of the single answer.
    ///
    /// # Errors
    /// It is left out.
    pub(super) fn of_arm(
        group: &PlannedDebate,
        planned: &PlannedArm,
        debate: &Bill,
        single: &Bill,
    ) -> Result<Self, LeftOut> {
        let Variant { name, settings, prompts, .. } = &*group.variant;
        let arms = Arms { debate: settings, model: &settings.judge };
        let allowance = Allowance::of(debate, group.variant.is_rehearsal());
        let (own, meter) = arms.equal(planned.arm, allowance, single)?;
        let variant = Variant {
            name: name.clone(),
            settings: own,
            protocol: planned.arm.protocol(),
            prompts: prompts.clone(),
            against: Vec::new(),
        };
        let limit = arms.limit(planned.arm, allowance, group.bytes());
        let debate = PlannedDebate {
            id: planned.id.clone(),
            variant: Arc::new(variant),
            likely: planned.likely,
            most: planned.most,
            arms: Vec::new(),
            ..group.clone()
        };
        Ok(Self { debate, limit, arm: Some((planned.arm, meter)) })
    }
}

/// The records of a group.
#[derive(Debug)]
pub enum GroupState {
    /// All of them are finished.
    Finished {
        /// The debate.
        debate: Box<Done>,
        /// The arms; without a record, why one is left out.
        arms: Vec<(Arm, Result<Done, LeftOut>)>,
    },
    /// One has no answer, and the others are finished or depend on it.
    Failed,
    /// A worker can go on with it.
    Unfinished,
}

impl GroupState {
    /// Reads a group.
    ///
    /// # Errors
    /// The store cannot be read, or a record is damaged.
    pub async fn read(store: &dyn Store, group: &PlannedDebate) -> Result<Self, SegmentError> {
        let Some(debate) = finished(store, &group.id).await? else { return Self::open(store, &group.id).await };
        let mut arms: Vec<(Arm, Result<Done, LeftOut>)> = Vec::new();
        let mut open = None;
        for planned in &group.arms {
            let read = match finished(store, &planned.id).await? {
                Some(done) => Some(Ok(done)),
                None => left_out(group, planned, Some(&debate), single_of(&arms)).map(Err),
            };
            match read {
                Some(read) => arms.push((planned.arm, read)),
                None => match Self::open(store, &planned.id).await? {
                    // What follows a single answer cannot be begun without it.
                    Self::Failed if planned.arm == Arm::Single => return Ok(Self::Failed),
                    Self::Failed => open = open.or(Some(Self::Failed)),
                    Self::Finished { .. } | Self::Unfinished => open = Some(Self::Unfinished),
                },
            }
        }
        Ok(open.unwrap_or(Self::Finished { debate: Box::new(debate), arms }))
    }

    /// The state of a record that is not finished.
    async fn open(store: &dyn Store, id: &DebateId) -> Result<Self, SegmentError> {
        match Stored::read(store, id).await? {
            Stored::Begun(chain) if !chain.journal.is_empty() => {
                let is_failed = debate_of(store, id, &chain.journal)?.status == Status::Failed;
                Ok(if is_failed { Self::Failed } else { Self::Unfinished })
            }
            Stored::Nothing | Stored::Begun(_) | Stored::Finished(_) => Ok(Self::Unfinished),
        }
    }
}

/// Reads the groups of a plan, in this order.
///
/// # Errors
/// The store cannot be read, has another set, or a record is damaged.
pub async fn read_all(
    plan: &SavedPlan,
    store: &dyn Store,
    groups: &[&PlannedDebate],
) -> Result<Vec<GroupState>, SegmentError> {
    check_set(plan, store).await?;
    let read = |group: &&PlannedDebate| {
        let group = (*group).clone();
        async move { Box::pin(GroupState::read(store, &group)).await }
    };
    stream::iter(groups).map(read).buffered(AT_ONCE).try_collect().await
}

/// Reads a finished record; `None` if it is not finished.
///
/// # Errors
/// The store cannot be read, or the record is damaged.
pub async fn finished(store: &dyn Store, id: &DebateId) -> Result<Option<Done>, SegmentError> {
    match Stored::read(store, id).await? {
        Stored::Nothing | Stored::Begun(_) => Ok(None),
        Stored::Finished(Finished { journal, .. }) => {
            let (debate, events) = events_of(store, id, &journal)?;
            Ok(Some(Done { debate, bill: Bill::of(&events) }))
        }
    }
}

/// Why an arm without a record is left out; `None` if it is not, or if that is not known before the debate and the single
/// answer are finished.
pub(super) fn left_out(
    group: &PlannedDebate,
    arm: &PlannedArm,
    debate: Option<&Done>,
    single: Option<&Done>,
) -> Option<LeftOut> {
    let (debate, single) = debate.zip(single)?;
    Unit::of_arm(group, arm, &debate.bill, &single.bill).err()
}

/// The single answer among the finished arms.
fn single_of(arms: &[(Arm, Result<Done, LeftOut>)]) -> Option<&Done> {
    arms.iter().find(|(arm, _)| *arm == Arm::Single).and_then(|(_, done)| done.as_ref().ok())
}
