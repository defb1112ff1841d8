//! The copy of a running debate's journal in the store, and the worker's lease of the debate.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use dialectic_base::diagnostic::Diagnostic;
use dialectic_record::debate::DebateId;
use dialectic_record::store::{Replica, ReplicaError, StoreError};

use super::budget::{Claim, Claims};
use super::lease::{Lease, Moment};
use super::segment::{Header, beat_name, segment_bytes, segment_name};
use super::store::{Creation, SharedStore};

/// The first pause after an error of the store; each further one doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The time limit for the last segments of a debate that this worker leaves.
const TO_STORE: Duration = Duration::from_secs(4);

/// Writes the lines that a run appends to its journal into segments, one at a time; lines that nobody waits for yet, and
/// lines appended in the meantime, go into the next one together. Sends beats until it is closed.
#[derive(Debug)]
pub(super) struct Copy {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    beats: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    store: SharedStore,
    id: DebateId,
    epoch: u32,
    worker: Arc<str>,
    lease: Arc<Lease>,
    pending: Mutex<Pending>,
    /// Notifies the writer of new lines.
    news: Notify,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Default)]
struct Pending {
    /// Lines that no segment has yet.
    lines: Vec<u8>,
    /// The number of the last event among them.
    last: u64,
    /// Whether they should be stored now: somebody waits for them, or one of them was paid for.
    is_due: bool,
    /// The entry that the worker is about to create in the set's budget.
    claim: Option<Claim>,
    /// Whether the next segment is the last, so that another worker may continue at once.
    is_released: bool,
    /// The reason, if it is left because it has failed for good.
    failed: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    /// The number of the last event that is in the store.
    stored: u64,
    /// The number of the next segment.
    next: u64,
    /// The number of claims in the store.
    claims: u64,
    /// Why nothing more is stored.
    over: Option<Over>,
    /// The store's last error.
    fault: Option<String>,
}

/// Why nothing more of a debate is stored.
#[derive(Debug, Clone)]
enum Over {
    /// Another worker has taken over.
    Lost(ReplicaError),
    /// The store takes beats, but not the next segment.
    Refused(ReplicaError),
}

impl Over {
    fn error(&self) -> &ReplicaError {
        match self {
            Self::Lost(error) | Self::Refused(error) => error,
        }
    }
}

impl Copy {
    /// Holds a debate; `next` is the number of its next segment. Needs a runtime.
    pub(super) fn start(
        store: &SharedStore,
        id: &DebateId,
        (epoch, next): (u32, u64),
        worker: &Arc<str>,
        lease: Arc<Lease>,
    ) -> Self {
        let shared = Arc::new(Shared {
            store: Arc::clone(store),
            id: id.clone(),
            epoch,
            worker: Arc::clone(worker),
            lease,
            pending: Mutex::default(),
            news: Notify::new(),
            progress: watch::Sender::new(Progress { next, ..Progress::default() }),
        });
        let (writing, beating) = (Arc::clone(&shared), Arc::clone(&shared));
        Self {
            writer: Mutex::new(Some(tokio::spawn(async move { writing.write_all().await }))),
            beats: tokio::spawn(async move { beating.beat().await }),
            shared,
        }
    }

    /// Notes how many events of the debate the store had before.
    pub(super) fn has_before(&self, events: u64) {
        self.shared.progress.send_modify(|progress| progress.stored = progress.stored.max(events));
    }

    /// Resolves when nothing more is stored.
    pub(super) async fn over(&self) {
        let mut progress = self.shared.progress.subscribe();
        // The sender lives as long as this value.
        drop(progress.wait_for(|progress| progress.over.is_some()).await);
    }

    /// Whether another worker has taken over.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.shared.progress.borrow().over, Some(Over::Lost(_)))
    }

    /// Why the store takes no more segments, although it takes beats.
    pub(super) fn refusal(&self) -> Option<ReplicaError> {
        match &self.shared.progress.borrow().over {
            Some(Over::Refused(error)) => Some(error.clone()),
            Some(Over::Lost(_)) | None => None,
        }
    }

    /// The store's last error, unless a later attempt succeeded.
    pub(super) fn fault(&self) -> Option<String> {
        self.shared.progress.borrow().fault.clone()
    }

    /// The number of the next segment.
    pub(super) fn next_segment(&self) -> u64 {
        self.shared.progress.borrow().next
    }

    /// Writes what is left and leaves the debate to others, or to nobody if it has `failed` for good. A store that does
    /// not take it in time has to wait until the lease is over.
    pub(super) async fn release(&self, failed: Option<String>) {
        self.shared.leave(failed);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut writer) = writer
            && timeout(TO_STORE, &mut writer).await.is_err()
        {
            writer.abort();
        }
        self.beats.abort();
        self.shared.lease.end();
    }
}

impl Pending {
    fn needs_segment(&self) -> bool {
        self.is_due || self.claim.is_some() || self.is_released
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.beats.abort();
        if let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            writer.abort();
        }
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the pending lines stored now.
    fn want(&self) {
        let mut pending = self.pending();
        pending.is_due = !pending.lines.is_empty();
        drop(pending);
        self.news.notify_one();
    }

    /// Makes the next segment the last one.
    fn leave(&self, failed: Option<String>) {
        let mut pending = self.pending();
        (pending.is_released, pending.failed) = (true, failed);
        drop(pending);
        self.news.notify_one();
    }

    fn lose(&self) {
        let reason = format!("another worker has taken over the debate {}", self.id);
        self.end(Over::Lost(ReplicaError { reason }));
    }

    fn end(&self, over: Over) {
        self.lease.end();
        self.progress.send_modify(|progress| progress.over = Some(over));
    }

    async fn write_all(&self) {
        loop {
            let due = {
                let mut pending = self.pending();
                pending.needs_segment().then(|| std::mem::take(&mut *pending))
            };
            let Some(pending) = due else {
                self.news.notified().await;
                continue;
            };
            let segment = self.progress.borrow().next;
            let header = Header {
                segment,
                epoch: self.epoch,
                worker: self.worker.to_string(),
                released: pending.is_released,
                failed: pending.failed,
                claim: pending.claim,
            };
            // The bytes stay the same until the store's answer is known.
            let bytes = segment_bytes(&header, &pending.lines);
            if !self.create(&segment_name(&self.id, segment), &bytes).await {
                return;
            }
            self.progress.send_modify(|progress| {
                progress.stored = progress.stored.max(pending.last);
                progress.next = segment + 1;
                progress.claims += u64::from(pending.claim.is_some());
            });
            if pending.is_released {
                return;
            }
        }
    }

    /// Creates a segment, however often the store fails. Returns whether it is there: otherwise the debate is no longer
    /// this worker's, or the store takes beats but not the segment, which may be too large for it.
    async fn create(&self, name: &str, bytes: &[u8]) -> bool {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.store.create(name, bytes).await {
                Ok(Creation::Acknowledged) => {
                    if self.progress.borrow().fault.is_some() {
                        self.progress.send_modify(|progress| progress.fault = None);
                    }
                    return true;
                }
                Ok(Creation::Taken) => {
                    self.lose();
                    return false;
                }
                Err(fault) => {
                    let fault = format!("{fault}: {}", fault.source);
                    if begun.elapsed() >= self.lease.times().takeover() && self.lease.is_held() {
                        let size = bytes.len();
                        let reason = format!("{fault}; it has {size} bytes, and smaller objects can be created");
                        self.end(Over::Refused(ReplicaError { reason }));
                        return false;
                    }
                    self.progress.send_modify(|progress| progress.fault = Some(fault));
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(self.lease.times().beat());
        }
    }

    async fn beat(&self) {
        let bytes = format!("{{\"worker\":\"{}\"}}\n", self.worker);
        let mut next = Moment::now();
        for beat in 1.. {
            sleep(self.lease.times().beat().saturating_sub(Moment::now().since(next))).await;
            loop {
                let begun = Moment::now();
                next = begun;
                match self.store.create(&beat_name(&self.id, self.epoch, beat), bytes.as_bytes()).await {
                    Ok(Creation::Acknowledged) if self.lease.renew(begun) => break,
                    // It was too late: this worker sends nothing more.
                    Ok(Creation::Acknowledged) => return,
                    Ok(Creation::Taken) => return self.lose(),
                    Err(_) if !self.lease.is_held() => return,
                    Err(_) => sleep(FIRST_PAUSE.min(self.lease.times().beat())).await,
                }
            }
        }
    }
}

impl Replica for Copy {
    fn take(&self, seq: u64, line: &[u8], is_paid: bool) {
        let mut pending = self.shared.pending();
        pending.lines.extend_from_slice(line);
        pending.last = seq;
        drop(pending);
        if is_paid {
            self.shared.want();
        }
    }

    fn holds(&self, seq: u64) -> Pin<Box<dyn Future<Output = Result<(), ReplicaError>> + Send + '_>> {
        self.shared.want();
        Box::pin(self.has(move |progress| progress.stored >= seq))
    }

    fn may_send(&self) -> Result<(), ReplicaError> {
        if let Some(over) = &self.shared.progress.borrow().over {
            return Err(over.error().clone());
        }
        if self.shared.lease.is_held() { Ok(()) } else { Err(self.too_old()) }
    }
}

/// Writes a debate's claims on the set's budget into its next segment.
#[derive(Debug)]
pub(super) struct Notes(pub(super) Arc<Copy>);

impl Claims for Notes {
    fn note<'a>(&'a mut self, claim: &'a Claim) -> BoxFuture<'a, Result<(), Box<dyn Diagnostic>>> {
        Box::pin(async move {
            let Self(copy) = self;
            let before = copy.shared.progress.borrow().claims;
            copy.shared.pending().claim = Some(*claim);
            copy.shared.news.notify_one();
            let noted = copy.has(|progress| progress.claims > before).await;
            noted.map_err(|error| Box::new(StoreError::from(error)) as Box<dyn Diagnostic>)
        })
    }
}

impl Copy {
    /// Waits until the store has something, as long as the lease lasts. Late writes count too.
    async fn has(&self, is_there: impl Fn(&Progress) -> bool) -> Result<(), ReplicaError> {
        let mut progress = self.shared.progress.subscribe();
        loop {
            let left = self.shared.lease.left();
            let known = progress.wait_for(|progress| is_there(progress) || progress.over.is_some());
            match timeout(left, known).await {
                Ok(Ok(progress)) => match &progress.over {
                    Some(over) if !is_there(&progress) => return Err(over.error().clone()),
                    _ => return Ok(()),
                },
                Err(_) if self.shared.lease.is_held() => {}
                // The sender lives as long as this value.
                Ok(Err(_)) | Err(_) => return Err(self.too_old()),
            }
        }
    }

    /// No beat was acknowledged for too long.
    fn too_old(&self) -> ReplicaError {
        let (id, place) = (&self.shared.id, self.shared.store.place());
        let fault = self.fault().map(|fault| format!(": {fault}")).unwrap_or_default();
        ReplicaError {
            reason: format!(
                "this worker could not reach the store {place} for too long and may have lost the debate {id}{fault}"
            ),
        }
    }
}
