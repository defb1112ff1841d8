//! Where a saved debate stands, as its files say it.

use dialectic_record::debate::{Debate, Status};
use dialectic_record::store::Entry;

/// One word for where a debate stands. Nothing is `running` for ever: what nobody runs any more is `interrupted` and can
/// be resumed, or is `unfinished` where an older program left no journal to resume it from.
pub(crate) fn standing(entry: &Entry, debate: &Debate) -> &'static str {
    match debate.status {
        Status::Completed | Status::Failed | Status::Paused => debate.status.name(),
        Status::Pending | Status::Running if entry.is_held() => Status::Running.name(),
        Status::Pending | Status::Running if entry.journal.is_some() => "interrupted",
        Status::Pending | Status::Running => "unfinished",
    }
}
