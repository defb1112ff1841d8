//! The journal of a debate in a store: segments of whole lines, numbered without gaps, each created once.

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::DebateId;

use super::budget::Claim;
use super::store::{AT_ONCE, Store, StoreFault};

/// The first line of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The number, from 1.
    pub segment: u64,
    /// The number of times a worker has taken the debate. The first segment of an epoch has no lines.
    pub epoch: u32,
    /// The worker that wrote it.
    pub worker: String,
    /// Whether the worker released the debate: another may continue at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The reason, if the debate has failed for good and holds nothing of the set's budget: it is resumed on request only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The entry that the worker is about to create in the set's budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// Why a debate in a store cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// A segment is missing, or was changed.
    #[error("the debate {id} in the store {place} is damaged: {fault}")]
    Damaged {
        /// The debate.
        id: DebateId,
        /// The store.
        place: String,
        /// The fault, as a clause.
        fault: String,
    },
    /// The store belongs to another set.
    #[error("the store {place} belongs to another plan")]
    OtherSet {
        /// The store.
        place: String,
    },
}

impl Diagnostic for SegmentError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Store(error) => error.blame(),
            Self::Damaged { .. } | Self::OtherSet { .. } => ErrorCategory::Arguments,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Damaged { .. } => Some("restore it, or plan the set again with another store".to_owned()),
            Self::OtherSet { .. } => {
                Some("name the plan that started the store, or another store with --store".to_owned())
            }
        }
    }
}

impl SegmentError {
    pub(super) fn damaged(store: &dyn Store, id: &DebateId, fault: impl Into<String>) -> Self {
        Self::Damaged { id: id.clone(), place: store.place(), fault: fault.into() }
    }
}

/// The place of a debate in the store.
pub(super) fn prefix(id: &DebateId) -> String {
    format!("debates/{id}")
}

/// The name of the object of a finished debate.
pub(super) fn finished_name(id: &DebateId) -> String {
    format!("{}/finished", prefix(id))
}

pub(super) fn segments(id: &DebateId) -> String {
    format!("{}/segments", prefix(id))
}

pub(super) fn beats(id: &DebateId) -> String {
    format!("{}/beats", prefix(id))
}

pub(super) fn segment_name(id: &DebateId, segment: u64) -> String {
    format!("{}/{segment:08}", segments(id))
}

pub(super) fn beat_name(id: &DebateId, epoch: u32, beat: u64) -> String {
    format!("{}/{epoch:08}-{beat:08}", beats(id))
}

/// The bytes of a segment: its header, then whole lines of the journal.
pub(super) fn segment_bytes(header: &Header, lines: &[u8]) -> Vec<u8> {
    // A header always has a JSON form.
    let mut bytes = serde_json::to_vec(header).unwrap_or_default();
    bytes.push(b'\n');
    bytes.extend_from_slice(lines);
    bytes
}

/// The header of a segment and its lines.
fn opened(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let header = serde_json::from_slice(bytes.get(..end)?).ok()?;
    let lines = bytes.get(end + 1..)?;
    (lines.is_empty() || lines.ends_with(b"\n")).then_some((header, lines))
}

/// All segments of a debate.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// Their headers, in order.
    pub headers: Vec<Header>,
    /// The journal.
    pub journal: Vec<u8>,
}

impl Chain {
    /// Reads the segments of a debate that is not finished.
    ///
    /// # Errors
    /// The store cannot be read, or a segment is missing or was changed.
    pub async fn read(store: &dyn Store, id: &DebateId) -> Result<Self, SegmentError> {
        let numbers = numbers_of(store, id).await?;
        let damaged = |fault: String| SegmentError::damaged(store, id, fault);
        let mut chain = Self::default();
        for numbers in numbers.chunks(AT_ONCE) {
            let names: Vec<String> = numbers.iter().map(|number| segment_name(id, *number)).collect();
            let read = join_all(names.iter().map(|name| store.get(name))).await;
            for (number, bytes) in numbers.iter().zip(read) {
                if *number != chain.headers.len() as u64 + 1 {
                    return Err(damaged(format!("the segment {} is missing", chain.headers.len() + 1)));
                }
                let bytes = bytes?.ok_or_else(|| damaged(format!("the segment {number} is missing")))?;
                let opened = opened(&bytes).filter(|(header, _)| header.segment == *number);
                let (header, lines) = opened.ok_or_else(|| damaged(format!("the segment {number} was changed")))?;
                let epoch = chain.headers.last().map_or(0, |last| last.epoch);
                if header.epoch < epoch || header.epoch > epoch + 1 {
                    return Err(damaged(format!("the epoch of the segment {number} is out of order")));
                }
                chain.headers.push(header);
                chain.journal.extend_from_slice(lines);
            }
        }
        Ok(chain)
    }

    /// The last claim on the set's budget.
    pub fn claim(&self) -> Option<Claim> {
        self.headers.iter().rev().find_map(|header| header.claim)
    }

    /// The number of times a worker has taken the debate; 0 if it was not started.
    pub fn epoch(&self) -> u32 {
        self.headers.last().map_or(0, |last| last.epoch)
    }
}

/// The numbers of a debate's segments, in order.
pub(super) async fn numbers_of(store: &dyn Store, id: &DebateId) -> Result<Vec<u64>, SegmentError> {
    let names = store.list(&segments(id)).await?;
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        match name.parse::<u64>() {
            Ok(number) if name == format!("{number:08}") => numbers.push(number),
            _ => return Err(SegmentError::damaged(store, id, format!("`{name}` is not a segment"))),
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The header of one segment; `None` if there is no such segment.
pub(super) async fn header_of(store: &dyn Store, id: &DebateId, segment: u64) -> Result<Option<Header>, SegmentError> {
    let Some(bytes) = store.get(&segment_name(id, segment)).await? else { return Ok(None) };
    let opened = opened(&bytes).map(|(header, _)| header).filter(|header| header.segment == segment);
    opened.map(Some).ok_or_else(|| SegmentError::damaged(store, id, format!("the segment {segment} was changed")))
}
