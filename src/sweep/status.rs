//! The progress and cost of a set of debates, and the tally of a worker.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use crate::error::{Diagnostic, ErrorCategory, in_full};
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_record::debate::Status;
use dialectic_record::event::{Event, Recorded};

use super::plan::{Plan, PlannedDebate, SavedPlan};
use super::segment::{SegmentError, Stored, check_set};
use super::store::{AT_ONCE, Store};

/// The progress of a whole set of debates, or of one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetProgress {
    pub debates: u64,
    pub finished: u64,
    /// Debates that were started but have not ended, whether or not a worker runs them now.
    pub running: u64,
    pub failed: u64,
    pub waiting: u64,
    /// The cost so far, without lost calls; `None` if a price is unknown.
    pub cost_usd: Option<Usd>,
    /// The cost of the ended debates, plus the likely cost of the others.
    pub expected_usd: Option<Usd>,
    pub lost: Lost,
}

/// Calls that were in flight when their worker stopped. They may have been billed, and were repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    pub calls: u32,
    /// The maximum cost of the lost calls, as far as prices are known.
    pub usd: Usd,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetStatus {
    #[serde(flatten)]
    pub all: SetProgress,
    /// The progress of each variant, by the variant's name.
    pub variants: BTreeMap<String, SetProgress>,
}

impl Lost {
    /// Counts the calls that had no result when the debate was resumed.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Self {
        let mut open: Vec<(u64, Usd)> = Vec::new();
        let mut lost = Self::default();
        for recorded in events {
            match &recorded.event {
                Event::CostReserved { usd, .. } => open.push((recorded.seq, *usd)),
                Event::Resumed(_) => {
                    lost.calls = lost.calls.saturating_add(u32::try_from(open.len()).unwrap_or(u32::MAX));
                    lost.usd += open.drain(..).map(|(_, usd)| usd).sum();
                }
                event => {
                    if let Some(number) = event.call().and_then(|call| call.reservation) {
                        open.retain(|(seq, _)| *seq != number);
                    }
                }
            }
        }
        lost
    }
}

impl Default for SetProgress {
    fn default() -> Self {
        let (cost_usd, expected_usd) = (Some(Usd::ZERO), Some(Usd::ZERO));
        let (debates, finished, running, failed, waiting) = (0, 0, 0, 0, 0);
        Self { debates, finished, running, failed, waiting, cost_usd, expected_usd, lost: Lost::default() }
    }
}

impl AddAssign<&Self> for SetProgress {
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

impl SetProgress {
    fn waiting(planned: &PlannedDebate) -> Self {
        Self { debates: 1, waiting: 1, expected_usd: planned.likely, ..Self::default() }
    }

    async fn read(planned: &PlannedDebate, store: &dyn Store) -> Result<Self, SegmentError> {
        let stored = Stored::read(store, &planned.id).await?;
        let Some((debate, events)) = stored.debate(store, &planned.id)? else { return Ok(Self::waiting(planned)) };
        let cost = debate.total_cost();
        let one = Self { debates: 1, cost_usd: cost, expected_usd: cost, lost: Lost::of(&events), ..Self::default() };
        Ok(match debate.status {
            Status::Completed => Self { finished: 1, ..one },
            Status::Failed => Self { failed: 1, ..one },
            Status::Pending | Status::Running | Status::Paused => {
                let expected = planned.likely.zip(cost).map(|(likely, cost)| likely.max(cost));
                Self { running: 1, expected_usd: expected, ..one }
            }
        })
    }
}

impl SetStatus {
    /// The status of a plan before any of its debates has started.
    pub fn of_nothing(plan: &Plan) -> Self {
        let mut status = Self::default();
        for planned in &plan.debates {
            status.count(planned, &SetProgress::waiting(planned));
        }
        status
    }

    fn count(&mut self, planned: &PlannedDebate, one: &SetProgress) {
        self.all += one;
        *self.variants.entry(planned.variant.name.clone()).or_default() += one;
    }

    /// Reads the status of a plan's debates without changing the store.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, belongs to another set, or is damaged.
    pub async fn read(plan: &SavedPlan, store: &dyn Store) -> Result<Self, SegmentError> {
        check_set(plan, store).await?;
        let read = async |planned| Ok::<_, SegmentError>((planned, SetProgress::read(planned, store).await?));
        let mut debates = Box::pin(stream::iter(&plan.plan.debates).map(read).buffered(AT_ONCE));
        let mut status = Self::default();
        while let Some((planned, progress)) = debates.try_next().await? {
            status.count(planned, &progress);
        }
        Ok(status)
    }
}

/// How a worker's part in a debate ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Finished {
        /// `None` if the debate was already finished or a price is unknown.
        cost: Option<Usd>,
        /// Whether the debate was already finished.
        before: bool,
    },
    /// The debate has ended without an answer, now or earlier. It is resumed only on request.
    Failed {
        reason: String,
    },
    TakenOver,
    /// The debate cannot run as planned, or cannot run on this machine.
    Refused {
        /// The error with its causes.
        reason: String,
        /// The category of the error, which determines the exit code.
        blame: ErrorCategory,
    },
    Later {
        reason: String,
    },
}

impl Ended {
    pub(super) fn failed(error: Option<String>) -> Self {
        Self::Failed { reason: error.unwrap_or_else(|| "it ended without an answer".to_owned()) }
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerTally {
    all: usize,
    pub finished: usize,
    before: usize,
    later: usize,
    failed: usize,
    taken_over: usize,
    refused: usize,
    /// The category of the first refused debate, which determines the exit code.
    blame: Option<ErrorCategory>,
    cost: Usd,
}

impl WorkerTally {
    pub fn of(all: usize) -> Self {
        Self { all, ..Self::default() }
    }

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

    pub fn is_complete(&self) -> bool {
        self.finished == self.all
    }

    /// The exit code for a scheduler. 75 asks for another attempt, which does not repeat finished or failed debates.
    /// Never 75 if another worker has taken over a debate; otherwise the two would keep taking it from each other.
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
            Self { taken_over: 1.., .. } => "run each debate in only one process at a time",
            Self { later: 1.., .. } => "run the same command to continue; finished debates are not repeated",
            Self { refused: 1.., .. } => "fix the cause, then run the same command to continue",
            _ => "fix the cause, then use `--retry-failed` to resume the failed debates",
        }
    }
}

impl fmt::Display for WorkerTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = counted(self.all as u64, "debate");
        write!(f, "{} of {all} finished", self.finished)?;
        let parts = [
            (self.before, "earlier"),
            (self.later, "to retry"),
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
