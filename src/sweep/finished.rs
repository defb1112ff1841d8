//! A debate in a store as readers see it, and the single object to which a finished debate is compacted.

use serde::{Deserialize, Serialize};

use dialectic_base::money::Usd;
use dialectic_record::debate::{DebateId, Event, Recorded};

use super::segment::{Chain, SegmentError, beats, finished_name, prefix, segment_name};
use super::store::{Creation, Store, StoreFault};

/// The format of the object of a finished debate.
const FORMAT: u32 = 1;

/// The first line of the object of a finished debate. The journal follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishedHeader {
    /// The object's format.
    pub finished: u32,
    /// The debate.
    pub id: DebateId,
    /// The number of times a worker took the debate.
    pub epochs: u32,
    /// Calls that were in flight when their worker was lost.
    pub lost: Lost,
}

/// Calls in flight when another worker took over. They may have been paid for, and were repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// The number of calls.
    pub calls: u32,
    /// Their maximum cost, as far as prices are known.
    pub usd: Usd,
}

/// A finished debate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The first line.
    pub header: FinishedHeader,
    /// The journal.
    pub journal: Vec<u8>,
}

/// The content of a store about a debate.
#[derive(Debug)]
pub enum Stored {
    /// Nothing.
    Nothing,
    /// It was started.
    Begun(Chain),
    /// It is finished.
    Finished(Finished),
}

impl Lost {
    /// The calls that were lost in these events. At its end a debate has none in flight.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Self {
        let mut open: Vec<(u64, Usd)> = Vec::new();
        let mut lost = Self::default();
        for recorded in events {
            match &recorded.event {
                Event::CostReserved { usd, .. } => open.push((recorded.seq, *usd)),
                Event::Resumed => {
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

impl Finished {
    /// A finished debate with its `journal` and the `events` in it.
    pub(super) fn of(id: &DebateId, epochs: u32, journal: Vec<u8>, events: &[Recorded]) -> Self {
        let header = FinishedHeader { finished: FORMAT, id: id.clone(), epochs, lost: Lost::of(events) };
        Self { header, journal }
    }

    fn bytes(&self) -> Vec<u8> {
        // A header always has a JSON form.
        let mut bytes = serde_json::to_vec(&self.header).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.journal);
        bytes
    }

    fn parsed(store: &dyn Store, id: &DebateId, bytes: &[u8]) -> Result<Self, SegmentError> {
        let changed = || SegmentError::damaged(store, id, "`finished` was changed");
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(changed)?;
        let header: FinishedHeader = serde_json::from_slice(&bytes[..end]).map_err(|_| changed())?;
        if header.finished > FORMAT {
            return Err(SegmentError::damaged(store, id, "a newer version of this program wrote `finished`"));
        }
        if header.id != *id {
            return Err(changed());
        }
        Ok(Self { header, journal: bytes[end + 1..].to_vec() })
    }

    /// Writes it, unless another worker did. Then removes the objects that it replaces.
    pub(super) async fn write(&self, store: &dyn Store) -> Result<(), StoreFault> {
        let id = &self.header.id;
        match store.create(&finished_name(id), &self.bytes()).await? {
            // Another worker's object contains the same journal; only the number of workers can differ.
            Creation::Acknowledged | Creation::Taken => {}
        }
        Ok(())
    }

    /// Removes the segments and beats of a finished debate. `chain` are the segments up to the last takeover; `next`
    /// follows the last one. The first segment of each epoch stays: a worker that has not noticed its loss of the
    /// debate would create a segment with that name, and believe that it still owns the debate.
    pub(super) async fn remove_parts(
        store: &dyn Store,
        id: &DebateId,
        chain: &Chain,
        next: u64,
    ) -> Result<(), StoreFault> {
        let beats_of = store.list(&beats(id)).await?;
        let mut replaced: Vec<String> = beats_of.iter().map(|beat| format!("{}/{beat}", beats(id))).collect();
        let mut epoch = 1;
        for (number, header) in (1..).zip(&chain.headers) {
            if header.epoch == epoch {
                replaced.push(segment_name(id, number));
            }
            epoch = header.epoch;
        }
        replaced.extend((chain.headers.len() as u64 + 1..next).map(|number| segment_name(id, number)));
        store.remove(&replaced).await
    }
}

impl Stored {
    /// Reads a debate.
    ///
    /// # Errors
    /// The store cannot be read, or the debate is damaged.
    pub async fn read(store: &dyn Store, id: &DebateId) -> Result<Self, SegmentError> {
        let finished = || async {
            let bytes = store.get(&finished_name(id)).await?;
            bytes.map(|bytes| Finished::parsed(store, id, &bytes)).transpose()
        };
        let names = store.list(&prefix(id)).await?;
        if names.is_empty() {
            return Ok(Self::Nothing);
        }
        if let Some(finished) = finished().await? {
            return Ok(Self::Finished(finished));
        }
        let read = Chain::read(store, id).await;
        match read {
            Ok(chain) if !chain.headers.is_empty() => Ok(Self::Begun(chain)),
            // A finished debate has no segments any more.
            read => match finished().await? {
                Some(finished) => Ok(Self::Finished(finished)),
                None => read.map(Self::Begun),
            },
        }
    }
}
