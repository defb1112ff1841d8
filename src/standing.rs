//! Where a saved debate stands, in the words of lists and reports.

use crate::status::{Presence, Standing};
use dialectic_record::debate::Debate;
use dialectic_record::store::Entry;

/// One word for where a debate stands. One that asks something is paused, as its state file says.
pub(crate) fn standing(entry: &Entry, debate: &Debate) -> &'static str {
    match Standing::of(entry, debate, Presence::default()) {
        Standing::Asking => Standing::Paused.name(),
        standing => standing.name(),
    }
}
