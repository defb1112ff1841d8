//! A worker: runs debates of a plan, several at once, and continues abandoned ones.

mod group;
mod queue;
mod tally;
mod turn;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::money::Usd;
use dialectic_engine::runner::{Runner, Services};
use dialectic_record::debate::DebateId;
use dialectic_record::store::Directory;

use super::budget;
use super::lease::Times;
use super::plan::{Machine, PlannedDebate, SavedPlan};
use super::segment::SegmentError;
use super::store::{Creation, SharedStore};
use super::takeover::is_finished;
use crate::error::{Error, UserError, in_full};

pub use queue::RunOptions;
pub use tally::Tally;

/// The time for calls in flight after a worker is told to stop. Engines send SIGKILL 30 seconds after SIGTERM.
const TO_ANSWER: Duration = Duration::from_secs(25);

/// Why a debate does not continue.
const STOPPED: &str = "the worker was told to stop";

/// The object that identifies a store's set.
const SET: &str = "set";

/// A worker of a set.
#[derive(Clone)]
pub struct Worker(Arc<Inner>);

struct Inner {
    store: SharedStore,
    budget: Option<budget::Chain>,
    machine: Machine,
    services: Services,
    times: Times,
    /// The name in the store, unique to this process.
    name: Arc<str>,
    /// The directory of running debates' journals.
    directory: Directory,
    stop: Stop,
    news: UnboundedSender<News>,
}

/// Tells a worker to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// No more requests are sent.
    pub begun: CancellationToken,
    /// Calls in flight are abandoned.
    pub now: CancellationToken,
}

/// A change of a worker's debates.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A debate runs.
    Running(DebateId),
    /// A debate stopped running.
    Left(DebateId),
    /// This worker is done with a debate, whether it ran here or not.
    Ended(DebateId, Ended),
}

/// How a worker's part in a debate ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// It is finished.
    Finished {
        /// The known cost, if this worker finished it.
        cost: Option<Usd>,
        /// Whether another worker finished it earlier.
        before: bool,
    },
    /// It has no answer, now or from before. It is resumed on request only.
    Failed {
        /// The reason.
        reason: String,
    },
    /// The budget of the set has no room for it.
    Spent {
        /// The cost limit.
        limit: Usd,
        /// The rest of the budget.
        left: Usd,
    },
    /// It cannot run as planned, or not on this machine.
    Refused {
        /// The reason, with its causes.
        reason: String,
        /// The category that determines the exit code.
        blame: ErrorCategory,
    },
    /// It should be tried again.
    Later {
        /// The reason, as a clause.
        reason: String,
    },
}

/// The identity of a store's set.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Set {
    /// The SHA-256 of the plan.
    plan: String,
    /// The times of its workers.
    times: Times,
}

impl Worker {
    /// A worker for the plan's debates. `directory` holds its own files; `news` receives changes of the debates.
    ///
    /// # Errors
    /// The store cannot be used, or belongs to another set.
    pub async fn begin(
        plan: &SavedPlan,
        store: SharedStore,
        machine: Machine,
        times: Times,
        directory: &Path,
        stop: Stop,
        news: UnboundedSender<News>,
    ) -> Result<Self, Error> {
        let set = Set { plan: plan.sha256.clone(), times };
        // It always has a JSON form.
        let mut bytes = serde_json::to_vec(&set).unwrap_or_default();
        bytes.push(b'\n');
        if store.create(SET, &bytes).await? == Creation::Taken {
            let found = store.get(SET).await?.and_then(|bytes| serde_json::from_slice::<Set>(&bytes).ok());
            let place = store.place();
            return Err(match found {
                Some(found) if found.plan == set.plan => UserError::input(format!(
                    "the workers of the set in {place} use a different interval between beats"
                ))
                .with_hint("all workers of a set need the same version of the program")
                .into(),
                _ => SegmentError::OtherSet { place }.into(),
            });
        }
        let budget = match plan.plan.budget {
            Some(budget) => Some(budget::Chain::open(Arc::clone(&store), budget).await?),
            None => None,
        };
        let name = format!("{}-{:016x}", std::process::id(), rand::random::<u64>()).into();
        let services = Services::new(machine.environment.clone()).sharing_models();
        let directory = Directory::at(directory);
        Ok(Self(Arc::new(Inner { store, budget, machine, services, times, name, directory, stop, news })))
    }

    /// Checks a debate of each variant, before anything is paid.
    ///
    /// # Errors
    /// An unfinished debate cannot run on this machine.
    pub async fn check(&self, debates: &[PlannedDebate]) -> Result<(), Error> {
        let runner = Runner::new(self.0.directory.clone(), self.0.services.clone());
        let mut checked: Vec<&str> = Vec::new();
        for debate in debates {
            let variant = debate.variant.name.as_str();
            if checked.contains(&variant) {
                continue;
            }
            let prepared = runner.prepare(debate.spec(&self.0.machine));
            match prepared.and_then(|prepared| prepared.check_limit()) {
                Ok(()) => checked.push(variant),
                // The debate is finished, so it need not run here.
                Err(_) if is_finished(&*self.0.store, &debate.id).await? => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Inner {
    fn tell(&self, news: News) {
        // The receiver may be gone.
        drop(self.news.send(news));
    }
}
