//! The status of a saved debate in lists and reports.

use crate::status::{Presence, Standing};
use dialectic_record::debate::Debate;
use dialectic_record::store::Entry;

/// The status of a debate in one word. A debate with questions is paused, as in its state file.
pub(crate) fn standing(entry: &Entry, debate: &Debate) -> &'static str {
    match Standing::of(entry, debate, Presence::default()) {
        Standing::Asking => Standing::Paused.name(),
        standing => standing.name(),
    }
}
