//! The running and queued debates.
//!
//! Debates run on their own thread, so that requests and watchers do not slow them down.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use dialectic_engine::engine::RunEnding;
use dialectic_engine::runner::{After, Controls, Failed, Finished, HOOK_LIMIT, Ready, Run};
use dialectic_record::ids::DebateId;
use dialectic_record::live::Signals;

use super::problem::ProblemDetails;
use super::settings::Admission;

const MOST_WAITING: usize = 20;
/// The maximum number of debates to remember in `lost`; the oldest are forgotten first.
const MOST_LOST: usize = 50;
/// How long a shutdown waits for running debates to be saved.
const TO_SAVE: Duration = Duration::from_secs(10);
/// How long a shutdown waits for aborted hooks and indexing to end.
const TO_GO: Duration = Duration::from_secs(1);

pub struct RunRegistry {
    state: Mutex<RegistryState>,
    max_running: usize,
    /// A counter that is incremented to wake the tasks that wait for a change of `state`.
    changes: watch::Sender<u64>,
    /// The runtime on which the debates run.
    engine: Handle,
    notices: mpsc::UnboundedSender<String>,
    /// Cancelled to abort the indexing and hooks of ended debates.
    given_up: CancellationToken,
}

#[derive(Default)]
struct RegistryState {
    running: BTreeMap<DebateId, (Signals, Controls)>,
    waiting: VecDeque<Admission>,
    /// Debates that left no record, each with the reason.
    lost: VecDeque<(DebateId, ProblemDetails)>,
    /// The number of ended debates that are still being indexed or running hooks.
    finishing: usize,
    is_closed: bool,
}

/// A debate that runs in this process but was not started by the server. Dropping this value removes the debate from
/// the server.
pub struct Watched {
    runs: Arc<RunRegistry>,
    id: DebateId,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.runs.state().running.remove(&self.id);
        self.runs.changed();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Running,
    /// Queued on this server, with this number of debates ahead.
    Waiting(usize),
    /// Neither running nor queued on this server; another process may be running it.
    Elsewhere,
}

impl RunRegistry {
    pub(super) fn open(max_running: usize, notices: mpsc::UnboundedSender<String>) -> io::Result<Arc<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let engine = runtime.handle().clone();
        thread::Builder::new()
            .name("debates".to_owned())
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        let (state, (changes, _), given_up) = (Mutex::default(), watch::channel(0), CancellationToken::new());
        Ok(Arc::new(Self { state, max_running, changes, engine, notices, given_up }))
    }

    /// Runs the debate, or queues it if no slot is free. Does not limit the length of the queue; callers check it first
    /// with [`Self::check_room`]. Fails if the server is shutting down.
    pub(super) fn admit(self: &Arc<Self>, admission: Admission) -> Result<(), ProblemDetails> {
        let mut state = self.state();
        if state.is_closed {
            return Err(ProblemDetails::busy("the server is shutting down"));
        }
        if state.running.len() < self.max_running {
            self.run(&mut state, admission);
        } else {
            state.waiting.push_back(admission);
        }
        drop(state);
        self.changed();
        Ok(())
    }

    pub(super) fn check_room(&self) -> Result<(), ProblemDetails> {
        let state = self.state();
        let is_full = state.running.len() >= self.max_running && state.waiting.len() >= MOST_WAITING;
        if is_full {
            return Err(ProblemDetails::busy(format!("{MOST_WAITING} debates are already waiting")));
        }
        Ok(())
    }

    /// Lets clients watch and control a debate that this process runs outside the server, until the result is dropped.
    pub fn show(self: &Arc<Self>, run: &Run, signals: Signals) -> Watched {
        self.state().running.insert(run.id().clone(), (signals, run.controls()));
        self.changed();
        Watched { runs: Arc::clone(self), id: run.id().clone() }
    }

    fn run(self: &Arc<Self>, state: &mut RegistryState, Admission { ready, after, .. }: Admission) {
        let (id, signals) = (ready.debate().id.clone(), ready.signals().clone());
        let saved_to = ready.state_path().to_owned();
        // The run spawns tasks, which belong on the debates' runtime.
        let entered = self.engine.enter();
        let run = ready.run();
        drop(entered);
        state.running.insert(id, (signals, run.controls()));
        let runs = Arc::clone(self);
        self.engine.spawn(async move {
            let id = run.id().clone();
            let ended = run.wait().await;
            if runs.ended(&id, ended) {
                runs.run_after_hooks(after, saved_to).await;
            }
        });
    }

    /// Removes a debate that stopped running, and starts the next queued one. Returns whether the debate is over; if
    /// so, `finishing` counts it until [`Self::run_after_hooks`] has run.
    fn ended(self: &Arc<Self>, id: &DebateId, ended: Result<Finished, Failed>) -> bool {
        let is_over =
            matches!(&ended, Ok(Finished { ending: RunEnding::Completed | RunEnding::Failed, is_kept: true, .. }));
        let mut state = self.state();
        state.running.remove(id);
        state.finishing += usize::from(is_over);
        match ended {
            Ok(Finished { debate, is_kept: false, .. }) => {
                let problem = ProblemDetails::of_debate(&debate);
                let problem =
                    problem.unwrap_or_else(|| ProblemDetails::internal("the debate failed for an unknown reason"));
                let hint = "the debate was not recorded: no model was reached and nothing was billed";
                state.lost.push_back((id.clone(), problem.hint(hint)));
                let surplus = state.lost.len().saturating_sub(MOST_LOST);
                state.lost.drain(..surplus);
            }
            Ok(_) => {}
            Err(failed) => drop(self.notices.send(format!("{failed}: {}", failed.source))),
        }
        if !state.is_closed
            && let Some(next) = state.waiting.pop_front()
        {
            self.run(&mut state, next);
        }
        drop(state);
        self.changed();
        is_over
    }

    /// Indexes an ended debate and runs its hooks. Only the server's shutdown waits for this, and may abort it.
    async fn run_after_hooks(&self, after: After, saved_to: PathBuf) {
        let warnings = tokio::select! {
            warnings = after.run(&saved_to) => warnings,
            () = self.given_up.cancelled() => {
                vec![format!("the server shut down and aborted the hooks for {}", saved_to.display())]
            }
        };
        for warning in warnings {
            drop(self.notices.send(warning));
        }
        self.state().finishing -= 1;
        self.changed();
    }

    pub(super) fn whereabouts(&self, id: &DebateId) -> Whereabouts {
        let state = self.state();
        if state.running.contains_key(id) {
            return Whereabouts::Running;
        }
        let before = state.waiting.iter().position(|waiting| waiting.ready.debate().id == *id);
        before.map_or(Whereabouts::Elsewhere, Whereabouts::Waiting)
    }

    /// The signals of a running or queued debate. Do not store the handle: a run lives as long as any handle to it.
    pub(super) fn signals(&self, id: &DebateId) -> Option<Signals> {
        let state = self.state();
        let waiting = || state.waiting.iter().map(|waiting| &waiting.ready).find(|ready| ready.debate().id == *id);
        state.running.get(id).map(|(signals, _)| signals).or_else(|| waiting().map(Ready::signals)).cloned()
    }

    pub(super) fn is_asking(&self, id: &DebateId) -> bool {
        self.state().running.get(id).is_some_and(|(signals, _)| !signals.is_running())
    }

    pub(super) fn tell(&self, id: &DebateId, what: impl FnOnce(&Controls)) -> Result<(), ProblemDetails> {
        let state = self.state();
        let (_, controls) = state.running.get(id).ok_or_else(|| {
            ProblemDetails::conflict("the debate is not running on this server")
                .hint("resume the debate first, or control it from the process that runs it")
        })?;
        what(controls);
        Ok(())
    }

    /// Makes a queued debate end with an answer from its current texts as soon as it gets a slot. Returns false if the
    /// debate is not queued or has no texts.
    pub(super) fn close_waiting(&self, id: &DebateId) -> bool {
        let mut state = self.state();
        let is_meant = |waiting: &Admission| {
            let debate = waiting.ready.debate();
            debate.id == *id && debate.final_round().is_some()
        };
        let Some(place) = state.waiting.iter().position(is_meant) else { return false };
        state.waiting[place].ready.closes = true;
        true
    }

    /// Removes a debate from the queue; its record stays. Returns whether the debate was queued.
    pub(super) fn withdraw(&self, id: &DebateId) -> bool {
        let mut state = self.state();
        let place = state.waiting.iter().position(|waiting| waiting.ready.debate().id == *id);
        let withdrawn = place.and_then(|place| state.waiting.remove(place)).is_some();
        drop(state);
        if withdrawn {
            self.changed();
        }
        withdrawn
    }

    /// The reason why a debate has no record; `None` unless it is one of the last [`MOST_LOST`] debates without one.
    pub(super) fn lost(&self, id: &DebateId) -> Option<ProblemDetails> {
        self.state().lost.iter().find(|(lost, _)| lost == id).map(|(_, problem)| problem.clone())
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Pauses the running debates, empties the queue and accepts no more debates. Waits until the debates are saved and
    /// all hooks have ended, but only for a limited time, or until `hurry` resolves. Returns the ids of the debates
    /// that were running.
    pub(super) async fn close(&self, hurry: impl Future<Output = ()>) -> Vec<DebateId> {
        let ids = {
            let mut state = self.state();
            state.is_closed = true;
            state.waiting.clear();
            for (_, controls) in state.running.values() {
                controls.interrupt();
            }
            state.running.keys().cloned().collect()
        };
        let in_time = async {
            self.comes_to(TO_SAVE, |state| state.running.is_empty()).await;
            self.comes_to(HOOK_LIMIT, |state| state.finishing == 0).await;
        };
        tokio::select! {
            () = in_time => {}
            () = hurry => {}
        }
        self.given_up.cancel();
        self.comes_to(TO_GO, |state| state.finishing == 0).await;
        ids
    }

    async fn comes_to(&self, most: Duration, is_so: impl Fn(&RegistryState) -> bool) {
        let mut changes = self.changes();
        let waited = async { while !is_so(&self.state()) && changes.changed().await.is_ok() {} };
        drop(tokio::time::timeout(most, waited).await);
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
