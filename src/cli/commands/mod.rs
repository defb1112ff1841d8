//! One file a command: parse, resolve, run, render.

pub(super) mod completions;
pub(super) mod config;
pub(super) mod debate;
mod dry_run;
pub(super) mod eval;
pub(super) mod fork;
pub(super) mod list;
pub(super) mod man;
pub(super) mod problem;
pub(super) mod protocols;
pub(super) mod replay;
pub(super) mod report;
pub(super) mod resume;
pub(super) mod verify;

use std::path::Path;

use crate::error::Error;
use crate::store::{Entry, StoreError, read_state};

/// The journal of a saved debate.
fn journal_of(entry: &Entry) -> Result<&Path, Error> {
    if let Some(journal) = &entry.journal {
        return Ok(journal);
    }
    let debate = read_state(&entry.state).map_err(StoreError::from)?;
    Err(match entry.journal_gone() {
        Some(path) => Error::JournalGone { id: debate.id, path },
        None => Error::NoJournal { id: debate.id },
    })
}
