//! Verifies the files of a debate: the hashes of the journal, and whether the state file matches the journal.

use std::path::Path;

use serde_json::Value;

use crate::debate::{Debate, DebateFile};
use crate::event::{Event, FoldError, Recorded};
use dialectic_base::key_path::KeyPath;

use super::directory::{parse_state, read_bytes, read_state};
use super::journal::{open_journal, scan};
use super::lock::is_locked;
use super::{Entry, JournalError, JournalMark, StateFileError, StoreError};

#[derive(Debug)]
pub struct VerifiedRecord {
    /// The SHA-256 of the last intact line, in hexadecimal. Covers all intact lines, because each line contains the
    /// hash of the previous one.
    pub head: Option<String>,
    /// The number of events before the first flaw in the journal.
    pub events: usize,
    /// Set if another process is running the debate, whose state file may then be older than the journal.
    pub running: bool,
    /// Set if a crash cut off the last line, which is not part of the record.
    pub cut_short: bool,
    /// Set if the journal starts with a state file from the TypeScript version, so earlier events are unknown.
    pub imported: bool,
    pub state: StateFileStatus,
    /// Empty for a valid record.
    pub flaws: Vec<Flaw>,
}

/// How a state file relates to its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFileStatus {
    /// The state file is the fold of all events.
    Current,
    /// The state file is the fold of the first events only, which is normal while a debate runs and after a crash.
    Behind {
        events: usize,
    },
    Missing,
    /// The state file is not the fold of any part of the journal.
    Differs,
    /// Unknown: the state or the journal cannot be read.
    Unknown,
}

#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    #[error("{}", with_causes(.0))]
    Journal(JournalError),
    #[error("the events do not form a valid debate: {0}")]
    Events(FoldError),
    #[error("there is no state file")]
    NoState,
    #[error("{}", with_causes(.0))]
    State(StateFileError),
    #[error(
        "the end of the journal is missing: the state file was saved after event {saved}, but the journal ends at event {last}"
    )]
    EndMissing { saved: u64, last: usize },
    #[error("the state file does not belong to this journal: it records a different hash for line {0}")]
    OtherJournal(u64),
    #[error("the state file does not match the journal: they first differ at {0}")]
    StateDiffers(KeyPath),
}

fn with_causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl VerifiedRecord {
    pub fn is_whole(&self) -> bool {
        self.flaws.is_empty()
    }
}

struct ReadState {
    debate: Debate,
    /// The content without the mark.
    value: Value,
    mark: Option<JournalMark>,
}

/// Verifies the files of a debate that has a journal, without changing them.
///
/// # Errors
///
/// Returns an error if the journal cannot be read. All other problems are reported as flaws.
pub fn verify(entry: &Entry, journal: &Path) -> Result<VerifiedRecord, StoreError> {
    // Reads the state first: the journal of a running debate can then only be ahead of it.
    let saved = read_saved(&entry.state);
    let file = open_journal(journal)?;
    let running = is_locked(&file, journal);
    let (contents, damage) = scan(&file, journal)?;
    let mut found = VerifiedRecord {
        head: contents.hashes.last().cloned(),
        events: contents.events.len(),
        running,
        cut_short: contents.cut_short,
        imported: contents.events.first().is_some_and(|first| matches!(first.event, Event::Imported { .. })),
        state: StateFileStatus::Unknown,
        flaws: Vec::new(),
    };
    let journal_is_whole = damage.is_none();
    found.flaws.extend(damage.map(Flaw::Journal));
    let saved = match saved {
        Ok(saved) => Some(saved),
        Err(error) if error.is_missing() => {
            found.state = StateFileStatus::Missing;
            // A debate that was killed before its first save has no state file; one that ended must have one.
            let of_run =
                contents.events.iter().map(|recorded| &recorded.event).rfind(|event| !event.is_about_the_record());
            let ended = matches!(
                of_run,
                Some(Event::Completed { .. } | Event::Failed { .. } | Event::Paused | Event::Suspended { .. })
            );
            if ended && !running {
                found.flaws.push(Flaw::NoState);
            }
            None
        }
        Err(error) => {
            found.flaws.push(Flaw::State(error));
            None
        }
    };
    let folded = folds(&contents.events, saved.as_ref());
    match (folded, saved) {
        (Err(error), _) if journal_is_whole => found.flaws.push(Flaw::Events(error)),
        (Ok(folded), Some(saved)) if journal_is_whole => {
            found.state = compare(&saved, &folded, &contents.hashes, &mut found.flaws);
        }
        _ => {}
    }
    Ok(found)
}

fn read_saved(path: &Path) -> Result<ReadState, StateFileError> {
    let bytes = read_bytes(path)?;
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|source| StateFileError::Invalid {
        path: path.to_owned(),
        key: None,
        source,
    })?;
    let mark = value.as_object_mut().and_then(|fields| fields.remove("journal"));
    // An unreadable mark becomes the default mark, which matches no journal.
    let mark = mark.map(|mark| serde_json::from_value(mark).unwrap_or_default());
    // The journal of an imported debate begins with the repaired state.
    if mark.is_none() && value.get("formatVersion").is_none() {
        let debate = read_state(path)?;
        return Ok(ReadState {
            value: serde_json::to_value(DebateFile::of(&debate)).unwrap_or_default(),
            debate,
            mark,
        });
    }
    let debate = parse_state(path, &bytes)?;
    fill(&mut value, &serde_json::to_value(DebateFile::of(&debate)).unwrap_or_default());
    Ok(ReadState { debate, value, mark })
}

/// Folds the events that the state covers, and returns the fold and the number of these events. A state with a mark
/// covers the events up to the mark; a state without a mark, the events up to the last one after which the fold equals
/// the state. If there is no such event, folds all events.
fn folds(events: &[Recorded], saved: Option<&ReadState>) -> Result<(Debate, usize), FoldError> {
    let marked = saved.and_then(|saved| saved.mark.as_ref()).map(|mark| mark.events);
    let mut known: Option<(Debate, usize)> = None;
    let mut debate: Option<Debate> = None;
    for (recorded, number) in events.iter().zip(1_usize..) {
        if recorded.seq != number as u64 {
            return Err(FoldError::Gap { expected: number as u64, found: recorded.seq });
        }
        match &mut debate {
            Some(debate) => debate.apply(recorded)?,
            None => debate = Some(Debate::create(recorded)?),
        }
        let is_known = match (marked, saved, &debate) {
            (Some(marked), _, _) => marked == number as u64,
            (None, Some(saved), Some(debate)) => {
                saved.debate.updated_at == debate.updated_at && saved.debate == *debate
            }
            _ => false,
        };
        if is_known {
            known = debate.clone().map(|debate| (debate, number));
        }
    }
    known.or_else(|| debate.map(|debate| (debate, events.len()))).ok_or(FoldError::Empty)
}

fn compare(
    saved: &ReadState,
    (folded, events): &(Debate, usize),
    hashes: &[String],
    flaws: &mut Vec<Flaw>,
) -> StateFileStatus {
    let events = *events;
    if let Some(mark) = &saved.mark {
        if mark.events > hashes.len() as u64 {
            flaws.push(Flaw::EndMissing { saved: mark.events, last: hashes.len() });
            return StateFileStatus::Differs;
        }
        let line = events.checked_sub(1).and_then(|index| hashes.get(index));
        if mark.events != events as u64 || line != Some(&mark.sha256) {
            flaws.push(Flaw::OtherJournal(mark.events));
        }
    }
    let fold = serde_json::to_value(DebateFile::of(folded)).unwrap_or_default();
    match first_difference(&saved.value, &fold, &KeyPath::root()) {
        Some(key) => {
            flaws.push(Flaw::StateDiffers(key));
            StateFileStatus::Differs
        }
        None if events == hashes.len() => StateFileStatus::Current,
        None => StateFileStatus::Behind { events },
    }
}

/// Adds the keys that `value` lacks because they did not exist when it was written, with the values from `read`.
fn fill(value: &mut Value, read: &Value) {
    match (value, read) {
        (Value::Object(value), Value::Object(read)) => {
            for (key, read) in read {
                match value.get_mut(key) {
                    Some(value) => fill(value, read),
                    None => drop(value.insert(key.clone(), read.clone())),
                }
            }
        }
        (Value::Array(value), Value::Array(read)) => {
            value.iter_mut().zip(read).for_each(|(value, read)| fill(value, read));
        }
        _ => {}
    }
}

fn first_difference(one: &Value, other: &Value, at: &KeyPath) -> Option<KeyPath> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| match (one.get(key), other.get(key)) {
                (Some(one), Some(other)) => first_difference(one, other, &at.key(key)),
                _ => Some(at.key(key)),
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            let within = one.iter().zip(other).enumerate();
            let within = within.map(|(index, (one, other))| first_difference(one, other, &at.index(index)));
            let shorter = one.len().min(other.len());
            within.flatten().next().or_else(|| (one.len() != other.len()).then(|| at.index(shorter)))
        }
        _ => (one != other).then(|| at.clone()),
    }
}
