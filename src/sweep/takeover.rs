//! How a worker takes a debate: it was not started, its worker left it, or its worker has been silent for too long.

use std::sync::Arc;
use std::time::Instant;

use dialectic_record::debate::DebateId;

use super::copy::Copy;
use super::lease::{Lease, Moment, Times};
use super::segment::{
    Chain, Header, SegmentError, beats, finished_name, header_of, numbers_of, prefix, segment_bytes, segment_name,
};
use super::store::{Creation, SharedStore, Store, StoreFault};

/// A debate that is checked until it is finished or can be taken.
#[derive(Debug)]
pub(super) struct Watch {
    id: DebateId,
    seen: Option<Seen>,
    /// Whether its worker gave a sign since the first check.
    pub(super) is_alive: bool,
}

/// The last sign of another worker.
#[derive(Debug)]
struct Seen {
    last: Header,
    beat: Option<String>,
    /// The time when this worker received it, by its own clock.
    since: Instant,
}

/// The result of checking a debate.
#[derive(Debug)]
pub(super) enum Sight {
    /// It is finished.
    Finished,
    /// It can be taken.
    Free(Vacancy),
    /// Another worker runs it, or has not been silent for long enough.
    Held,
}

/// A debate that a worker may take, in its state at a time.
#[derive(Debug)]
pub(super) struct Vacancy {
    segment: u64,
    epoch: u32,
    /// The reason, if it has failed for good.
    pub(super) failed: Option<String>,
    asked: Instant,
}

/// A debate that this worker holds.
#[derive(Debug)]
pub(super) struct Holding {
    pub(super) epoch: u32,
    pub(super) chain: Chain,
    pub(super) copy: Copy,
}

/// The result of an attempt to take a debate.
#[derive(Debug)]
pub(super) enum Taking {
    /// This worker runs it.
    Mine(Box<Holding>),
    /// Another worker was faster, or the check was too long ago.
    Missed,
    /// It is finished.
    Finished,
}

/// Whether a debate is finished.
pub(super) async fn is_finished(store: &dyn Store, id: &DebateId) -> Result<bool, StoreFault> {
    Ok(store.list(&prefix(id)).await?.iter().any(|name| name == "finished"))
}

impl Watch {
    pub(super) fn of(id: DebateId) -> Self {
        Self { id, seen: None, is_alive: false }
    }

    /// Checks it.
    pub(super) async fn look(&mut self, store: &SharedStore, times: Times) -> Result<Sight, SegmentError> {
        // The answer is not older than the question, but may be long over when this process reads it.
        let asked = Instant::now();
        let names = store.list(&prefix(&self.id)).await?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if has("finished") {
            return Ok(Sight::Finished);
        }
        if !has("segments") {
            return Ok(Sight::Free(Vacancy { segment: 1, epoch: 1, failed: None, asked }));
        }
        let Some(last) = numbers_of(&**store, &self.id).await?.last().copied() else {
            // They were removed in the meantime: the debate is finished.
            return Ok(Sight::Held);
        };
        let before = self.seen.take();
        let was_seen = before.is_some();
        let known = before.filter(|seen| seen.last.segment == last);
        let header = match &known {
            Some(seen) => seen.last.clone(),
            None => match header_of(&**store, &self.id, last).await? {
                Some(header) => header,
                None => return Ok(Sight::Held),
            },
        };
        let vacancy = Vacancy { segment: last + 1, epoch: header.epoch + 1, failed: header.failed.clone(), asked };
        if header.released {
            return Ok(Sight::Free(vacancy));
        }
        // Beats of an earlier epoch do not count: their worker has not noticed that it lost the debate.
        let epoch = format!("{:08}-", header.epoch);
        let beat = store.list(&beats(&self.id)).await?.into_iter().rfind(|name| name.starts_with(&epoch));
        let unchanged = known.filter(|seen| seen.beat == beat);
        let is_news = unchanged.is_none();
        let since = unchanged.map_or_else(Instant::now, |seen| seen.since);
        self.is_alive |= is_news && was_seen;
        self.seen = Some(Seen { last: header, beat, since });
        let is_silent = !is_news && asked.saturating_duration_since(since) >= times.takeover();
        Ok(if is_silent { Sight::Free(vacancy) } else { Sight::Held })
    }
}

impl Vacancy {
    /// Whether no worker has started the debate.
    pub(super) fn is_first(&self) -> bool {
        self.segment == 1
    }

    /// Takes the debate with a segment without lines, and reads the existing ones.
    pub(super) async fn take(
        self,
        store: &SharedStore,
        id: &DebateId,
        worker: &Arc<str>,
        times: Times,
    ) -> Result<Taking, SegmentError> {
        if self.asked.elapsed() >= times.beat() {
            return Ok(Taking::Missed);
        }
        let Self { segment, epoch, .. } = self;
        let header = Header { segment, epoch, worker: worker.to_string(), released: false, failed: None, claim: None };
        let begun = Moment::now();
        match store.create(&segment_name(id, segment), &segment_bytes(&header, &[])).await? {
            Creation::Acknowledged => {}
            Creation::Taken => return Ok(Taking::Missed),
        }
        // Its beats begin before the segments are read: that may take longer than a lease.
        let copy = Copy::start(store, id, (epoch, segment + 1), worker, Arc::new(Lease::begin(times, begun)));
        match read_taken(store, id, &header).await {
            Ok(Read::Mine(chain)) => Ok(Taking::Mine(Box::new(Holding { epoch, chain, copy }))),
            Ok(Read::Missed) => Ok(Taking::Missed),
            Ok(Read::Finished) => Ok(Taking::Finished),
            Err(error) => {
                copy.release(None).await;
                Err(error)
            }
        }
    }
}

/// A debate after its segment with this header was created.
enum Read {
    Mine(Chain),
    Missed,
    Finished,
}

async fn read_taken(store: &SharedStore, id: &DebateId, header: &Header) -> Result<Read, SegmentError> {
    // A name is also free after its segment was removed; the debate was finished before that.
    if store.get(&finished_name(id)).await?.is_some() {
        store.remove(&[segment_name(id, header.segment)]).await?;
        return Ok(Read::Finished);
    }
    let chain = match Chain::read(&**store, id).await {
        Ok(chain) => chain,
        // Somebody took over in the meantime, and has finished it.
        Err(_) if store.get(&finished_name(id)).await?.is_some() => return Ok(Read::Finished),
        Err(error) => return Err(error),
    };
    Ok(if chain.headers.last() == Some(header) { Read::Mine(chain) } else { Read::Missed })
}
