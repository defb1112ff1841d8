//! Stores the journal of a debate as segments of whole lines, numbered without gaps. A segment is never overwritten: if
//! two workers continue the same debate, only one can create the next segment, and the other stops.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use dialectic_record::debate::Debate;
use dialectic_record::event::{Recorded, fold};
use dialectic_record::ids::DebateId;
use dialectic_record::store::{Replica, StoreError};

use super::plan::SavedPlan;
use super::store::{AT_ONCE, Creation, SharedStore, Store, StoreFault};
use crate::error::in_full;

/// The name of the object that contains the hash of the store's plan.
const SET: &str = "set";

#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    #[error(transparent)]
    Store(#[from] StoreFault),
    #[error("the debate {id} in the store {place} is damaged: {fault}")]
    Damaged { id: DebateId, place: String, fault: String },
    #[error("the store {place} belongs to another plan")]
    OtherSet { place: String },
}

impl SegmentError {
    pub(super) fn damaged(store: &dyn Store, id: &DebateId, fault: impl Into<String>) -> Self {
        Self::Damaged { id: id.clone(), place: store.place(), fault: fault.into() }
    }
}

pub(super) async fn claim_set(plan: &SavedPlan, store: &dyn Store) -> Result<(), SegmentError> {
    match store.create(SET, plan.sha256.as_bytes()).await? {
        Creation::Acknowledged => Ok(()),
        Creation::Taken => Err(SegmentError::OtherSet { place: store.place() }),
    }
}

/// Fails if the store belongs to another plan. An empty store does not belong to any plan, and passes.
pub(super) async fn check_set(plan: &SavedPlan, store: &dyn Store) -> Result<(), SegmentError> {
    match store.get(SET).await? {
        Some(of) if of != plan.sha256.as_bytes() => Err(SegmentError::OtherSet { place: store.place() }),
        Some(_) | None => Ok(()),
    }
}

fn segments(id: &DebateId) -> String {
    format!("debates/{id}/segments")
}

fn segment_name(id: &DebateId, segment: u64) -> String {
    format!("{}/{segment:08}", segments(id))
}

/// The name of the object with the whole journal of a completed debate. With this object, readers need one request
/// instead of one per segment.
fn journal_name(id: &DebateId) -> String {
    format!("debates/{id}/journal")
}

/// The part of a debate that is in the store.
#[derive(Debug, Default)]
pub struct Stored {
    /// Empty if the debate was not started.
    pub journal: Vec<u8>,
    /// Whether the journal was read from a single object, which only completed debates have.
    pub is_compact: bool,
    segments: u64,
}

impl Stored {
    /// Reads the stored part of a debate, which may be empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, or a segment is missing or was changed.
    pub async fn read(store: &dyn Store, id: &DebateId) -> Result<Self, SegmentError> {
        if let Some(journal) = store.get(&journal_name(id)).await? {
            return Ok(Self { journal, is_compact: true, segments: 0 });
        }
        let names = store.list(&segments(id)).await?;
        let damaged = |number: u64, fault: &str| SegmentError::damaged(store, id, format!("segment {number} {fault}"));
        let read = (1..).zip(names).map(async |(number, name)| {
            let is_next = name == format!("{number:08}");
            let bytes = if is_next { store.get(&segment_name(id, number)).await? } else { None };
            let bytes = bytes.ok_or_else(|| damaged(number, "is missing"))?;
            match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) if bytes.ends_with(b"\n") => Ok(bytes[end + 1..].to_vec()),
                _ => Err(damaged(number, "was changed")),
            }
        });
        let lines: Vec<Vec<u8>> = stream::iter(read).buffered(AT_ONCE).try_collect().await?;
        Ok(Self { segments: lines.len() as u64, journal: lines.concat(), is_compact: false })
    }

    /// The debate and its events; `None` if the debate was not started.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal is damaged, or records another debate.
    pub fn debate(&self, store: &dyn Store, id: &DebateId) -> Result<Option<(Debate, Vec<Recorded>)>, SegmentError> {
        let damaged = |fault: String| SegmentError::damaged(store, id, fault);
        let lines = self.journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let events: Vec<Recorded> =
            lines.map(serde_json::from_slice).collect::<Result<_, _>>().map_err(|error| damaged(error.to_string()))?;
        if events.is_empty() {
            return Ok(None);
        }
        let debate = fold(&events).map_err(|error| damaged(error.to_string()))?;
        if debate.id != *id {
            return Err(damaged(format!("it contains another debate, {}", debate.id)));
        }
        Ok(Some((debate, events)))
    }
}

/// Stores the whole journal of a completed debate as one object. Ignores errors, because the segments contain the same
/// lines.
pub(super) async fn compact(store: &dyn Store, id: &DebateId, journal: &[u8]) {
    drop(store.create(&journal_name(id), journal).await);
}

/// Writes the journal of a running debate into its next segments, one at a time. Lines that arrive while a segment is
/// created go into the next one together. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct SegmentWriter {
    store: SharedStore,
    id: DebateId,
    /// The first line of each segment, unique to the worker. Without it, the segments of two workers could be
    /// identical, and the store would acknowledge both.
    header: String,
    pending: Arc<Mutex<Vec<u8>>>,
    /// The number of the next segment, locked while that segment is created.
    next: Arc<tokio::sync::Mutex<u64>>,
    end: Arc<OnceLock<WriterEnd>>,
    has_ended: CancellationToken,
}

#[derive(Debug)]
pub(super) enum WriterEnd {
    TakenOver,
    Fault(StoreFault),
}

impl WriterEnd {
    fn error(&self) -> StoreError {
        let reason = match self {
            Self::TakenOver => "another worker has taken over the debate".to_owned(),
            Self::Fault(fault) => in_full(fault),
        };
        StoreError::Replica { reason }
    }
}

impl SegmentWriter {
    pub(super) fn after(stored: &Stored, store: &SharedStore, id: &DebateId, worker: &str) -> Self {
        Self {
            store: Arc::clone(store),
            id: id.clone(),
            header: format!("{{\"worker\":\"{worker}\"}}\n"),
            pending: Arc::default(),
            next: Arc::new((stored.segments + 1).into()),
            end: Arc::default(),
            has_ended: CancellationToken::new(),
        }
    }

    pub(super) fn end(&self) -> Option<&WriterEnd> {
        self.end.get()
    }

    /// Resolves when no more segments can be written.
    pub(super) async fn ended(&self) {
        self.has_ended.cancelled().await;
    }

    /// Stores the pending lines in a separate task, so that aborting the caller cannot leave a segment in an unknown
    /// state.
    fn store_pending(&self) -> JoinHandle<Result<(), StoreError>> {
        let writer = self.clone();
        tokio::spawn(async move { writer.create_next().await })
    }

    async fn create_next(&self) -> Result<(), StoreError> {
        let mut next = self.next.lock().await;
        if let Some(end) = self.end.get() {
            return Err(end.error());
        }
        let lines = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() {
            return Ok(());
        }
        let bytes = [self.header.as_bytes(), &lines].concat();
        let end = match self.store.create(&segment_name(&self.id, *next), &bytes).await {
            Ok(Creation::Acknowledged) => {
                *next += 1;
                return Ok(());
            }
            Ok(Creation::Taken) => WriterEnd::TakenOver,
            Err(fault) => WriterEnd::Fault(fault),
        };
        let error = self.end.get_or_init(|| end).error();
        self.has_ended.cancel();
        Err(error)
    }
}

impl Replica for SegmentWriter {
    fn take(&self, line: &[u8], is_paid: bool) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(line);
        if is_paid {
            drop(self.store_pending());
        }
    }

    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let stored = self.store_pending();
        Box::pin(async { stored.await.unwrap_or_else(|died| Err(StoreError::Replica { reason: died.to_string() })) })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    /// A store that forwards what it receives.
    #[derive(Debug)]
    struct Forwarding(UnboundedSender<Vec<u8>>);

    impl Store for Forwarding {
        fn create<'a>(&'a self, _: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
            drop(self.0.send(bytes.to_owned()));
            async { Ok(Creation::Acknowledged) }.boxed()
        }

        fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
            async { Ok(None) }.boxed()
        }

        fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
            async { Ok(Vec::new()) }.boxed()
        }

        fn place(&self) -> String {
            "here".to_owned()
        }
    }

    #[tokio::test]
    async fn a_paid_result_is_stored_at_once_with_the_lines_before_it() {
        let (sent, mut received) = unbounded_channel();
        let store: SharedStore = Arc::new(Forwarding(sent));
        let writer = SegmentWriter::after(&Stored::default(), &store, &DebateId::new("d"), "w");
        writer.take(b"unpaid\n", false);
        writer.take(b"paid\n", true);
        drop((writer, store));
        assert_eq!(received.recv().await.unwrap(), b"{\"worker\":\"w\"}\nunpaid\npaid\n");
    }
}
