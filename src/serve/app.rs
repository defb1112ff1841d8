//! The state shared by request handlers, and functions that find saved debates and admit debates to the server.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use dialectic_base::money::Usd;
use dialectic_engine::runner::{SpendingLock, spent_today};
use dialectic_record::ids::DebateId;
use dialectic_record::store::Entry;

use super::access::Access;
use super::catalogue::{Catalogue, DebateStanding, Started, entry_of};
use super::problem::ProblemDetails;
use super::registry::{RunRegistry, Whereabouts};
use super::settings::{Admission, DebateInputs};

/// The maximum number of event streams. A browser shares one stream among its tabs.
const MOST_CLIENTS: usize = 100;

pub(super) struct App {
    pub(super) access: Arc<Access>,
    pub(super) runs: Arc<RunRegistry>,
    pub(super) catalogue: Catalogue,
    pub(super) inputs: DebateInputs,
    pub(super) closing: CancellationToken,
    /// Held while admitting a debate, so that two debates cannot both be granted the rest of the daily limit.
    pub(super) admission_lock: Mutex<()>,
    clients: Arc<Semaphore>,
}

impl App {
    pub(super) fn new(access: Access, runs: Arc<RunRegistry>, inputs: DebateInputs) -> Self {
        Self {
            access: Arc::new(access),
            runs,
            catalogue: Catalogue::of(inputs.directory.clone()),
            inputs,
            closing: CancellationToken::new(),
            admission_lock: Mutex::new(()),
            clients: Arc::new(Semaphore::new(MOST_CLIENTS)),
        }
    }

    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ProblemDetails> {
        let app = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&app)).await;
        done.map_err(|_| ProblemDetails::internal("internal error; please report it"))
    }

    /// Reserves an event stream until the permit is dropped.
    pub(super) fn client(&self) -> Result<OwnedSemaphorePermit, ProblemDetails> {
        let place = Arc::clone(&self.clients).try_acquire_owned();
        place.map_err(|_| ProblemDetails::busy(format!("{MOST_CLIENTS} clients are already watching")))
    }

    /// The rest of today's cost limit; `None` without a daily limit.
    pub(super) fn left_today(&self) -> Result<Option<Usd>, ProblemDetails> {
        let Some(limit) = self.inputs.max_cost_per_day else { return Ok(None) };
        Ok(Some(limit.saturating_sub(spent_today(&self.inputs.directory)?)))
    }
}

/// Finds a saved debate. If the debate failed without leaving a record, the error says why it failed.
pub(super) fn found(app: &App, id: &str) -> Result<Entry, ProblemDetails> {
    entry_of(&app.inputs.directory, id).map_err(|missing| {
        let lost = app.runs.lost(&DebateId::new(id));
        lost.map_or(missing, |lost| ProblemDetails { status: StatusCode::GONE.as_u16(), ..lost })
    })
}

/// Admits one debate at a time, even across servers that share the directory, so that two debates cannot both be
/// granted the rest of the daily limit.
pub(super) async fn admit(
    app: &Arc<App>,
    make: impl FnOnce(&App, &SpendingLock) -> Result<Admission, ProblemDetails> + Send + 'static,
) -> Result<Started, ProblemDetails> {
    let _admission = app.admission_lock.lock().await;
    app.runs.check_room()?;
    app.blocking(move |app| {
        let lock = SpendingLock::take(&app.inputs.directory)?;
        let mut admission: Admission = make(app, &lock)?;
        let (id, warnings) = (admission.ready.debate().id.clone(), std::mem::take(&mut admission.warnings));
        app.runs.admit(admission)?;
        let is_waiting = matches!(app.runs.whereabouts(&id), Whereabouts::Waiting(_));
        let status = if is_waiting { DebateStanding::Waiting } else { DebateStanding::Running };
        Ok(Started { id: id.to_string(), status, warnings })
    })
    .await?
}
